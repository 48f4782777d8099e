"""Everything that can go wrong with a scenario, as one table: the file, and what must come of it.

``outcome`` and ``ending`` are the report's, ``exit_code`` is what a run of this file alone returns, and ``says`` is a
piece of the sentence that helps. All the files are run together, so that each row also shows that the others go on.
"""

from __future__ import annotations

from tests.acceptance.fault_rows import Row
from tests.acceptance.faults_of_ending import ENDING_BADLY
from tests.acceptance.faults_of_manners import ILL_MANNERED
from tests.acceptance.faults_of_writing import WRITTEN_WRONGLY

__all__ = ["BROKEN", "Row"]

BROKEN: tuple[Row, ...] = (*WRITTEN_WRONGLY, *ENDING_BADLY, *ILL_MANNERED)

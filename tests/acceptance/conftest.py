"""What the acceptance tests share."""

from __future__ import annotations

import pytest

from tests.acceptance.bundled import Done, run_all


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """All bundled scenarios once, from an empty folder."""
    return run_all(tmp_path_factory.mktemp("empty"))

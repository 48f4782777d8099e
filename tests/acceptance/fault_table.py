"""Everything that can go wrong with a scenario, as one table: the file, and what must come of it.

``outcome`` and ``ending`` are the report's, ``exit_code`` is what a run of this file alone returns, and ``says`` is a
piece of the sentence that helps. All the files are run together, so that each row also shows that the others go on.
"""

from __future__ import annotations

import msgspec

__all__ = ["BROKEN", "Row"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One file that misbehaves."""

    name: str
    source: str
    outcome: str
    ending: str
    exit_code: int
    says: str = ""
    started: bool = True


BROKEN: tuple[Row, ...] = (
    Row(
        name="syntax_error",
        source="def step(i):\n    return (\n",
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="SyntaxError",
        started=False,
    ),
    Row(
        name="import_error",
        source="raise RuntimeError('no such model')\ndef step(i): pass\n",
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="no such model",
        started=False,
    ),
    Row(
        name="missing_package",
        source="import a_package_nobody_has\ndef step(i): pass\n",
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="pip install a_package_nobody_has",
        started=False,
    ),
    Row(
        name="step_needs_a_missing_package",
        source="def step(i):\n    import a_package_nobody_has\n",
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="pip install a_package_nobody_has",
        started=False,
    ),
    Row(
        name="step_is_a_coroutine",
        source="async def step(i): pass\n",
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="asyncio.run",
        started=False,
    ),
    Row(
        name="step_takes_two_arguments",
        source="def step(i, batch): pass\n",
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="needs more than the number of the step",
        started=False,
    ),
    Row(
        name="step_raises_at_3",
        source="def step(i):\n    if i == 3:\n        raise ValueError('bad batch')\n",
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="bad batch",
    ),
    Row(
        name="setup_raises",
        source="def setup():\n    raise ValueError('no data')\ndef step(i): pass\n",
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="no data",
    ),
    Row(
        name="teardown_raises",
        source="def step(i): pass\ndef teardown():\n    raise ValueError('cannot close')\n",
        outcome="stable",
        ending="raised",
        exit_code=1,
        says="cannot close",
    ),
    Row(
        name="endless_step",
        source="def step(i):\n    while True:\n        pass\n",
        outcome="failed",
        ending="timed_out",
        exit_code=1,
        says="in step 0",
    ),
    Row(
        name="exits_hard",
        source="import os\ndef step(i):\n    if i == 3:\n        os._exit(7)\n",
        outcome="failed",
        ending="exited",
        exit_code=1,
        says="code 7",
    ),
    Row(
        name="exits_softly",
        source="import sys\ndef step(i):\n    if i == 3:\n        sys.exit(0)\n",
        outcome="failed",
        ending="exited",
        exit_code=1,
        says="SystemExit",
    ),
    Row(
        name="segmentation_fault",
        source="import ctypes\ndef step(i):\n    if i == 3:\n        ctypes.string_at(0)\n",
        outcome="failed",
        ending="crashed",
        exit_code=1,
        says="SIGSEGV",
    ),
    Row(
        name="abort",
        source="import os\ndef step(i):\n    if i == 3:\n        os.abort()\n",
        outcome="failed",
        ending="crashed",
        exit_code=1,
        says="SIGABRT",
    ),
    Row(
        name="killed",
        source="import os, signal\ndef step(i):\n    if i == 3:\n        os.kill(os.getpid(), signal.SIGKILL)\n",
        outcome="failed",
        ending="killed",
        exit_code=1,
        says="SIGKILL",
    ),
    Row(
        name="too_much_memory",
        source="import torch\nkept = []\ndef step(i):\n    kept.append(torch.ones(8_000_000))\n",
        outcome="failed",
        ending="out_of_memory",
        exit_code=1,
        says="allocate",
    ),
    Row(
        name="forks_inside_step",
        source="import os\ndef step(i):\n    if i < 20 and os.fork():\n        os.wait()\n",
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="leaves_a_thread_running",
        source=(
            "import threading\ndef setup():\n"
            "    threading.Thread(target=threading.Event().wait, daemon=False).start()\n"
            "def step(i): pass\n"
        ),
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="closes_its_output",
        source="import os\ndef setup():\n    os.close(1)\n    os.close(2)\ndef step(i): pass\n",
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="writes_100_megabytes",
        source="def step(i):\n    if i < 10:\n        print('x' * 10_000_000)\n",
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="changes_directory",
        source="import os\ndef step(i):\n    os.chdir('/')\n",
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="sets_locale_and_dtype",
        source=(
            "import locale, torch\ndef step(i):\n    locale.setlocale(locale.LC_ALL, 'C')\n"
            "    torch.set_default_dtype(torch.float64)\n    torch.ones(3).sum()\n"
        ),
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="installs_signal_handlers",
        source=(
            "import signal\ndef setup():\n"
            "    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD):\n"
            "        signal.signal(s, lambda *a: None)\ndef step(i): pass\n"
        ),
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="déjà vu, mit Ümlaut",
        source="import torch\ndef step(i):\n    torch.ones(3).sum()\n",
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="step_takes_nothing",
        source="def step(): pass\n",
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
)

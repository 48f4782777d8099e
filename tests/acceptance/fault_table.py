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
    Row(
        name="says_what_utf8_cannot_hold",
        source=("def step(i):\n    raise ValueError('a\\ud800b')\n"),
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="ValueError: a\\ud800b",
    ),
    Row(
        name="says_nothing_when_asked",
        source=("class Odd(Exception):\n    def __str__(self): raise SystemExit(0)\ndef step(i): raise Odd\n"),
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="Odd",
    ),
    Row(
        name="cannot_even_be_asked",
        source=(
            "class Odd(Exception):\n    def __getattribute__(self, name): raise ValueError\ndef step(i): raise Odd\n"
        ),
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="Odd",
    ),
    Row(
        name="says_50_megabytes",
        source=("def step(i):\n    raise ValueError('x' * 50_000_000)\n"),
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="characters left out",
    ),
    Row(
        name="exits_with_a_code_beyond_all",
        source=("import sys\ndef step(i):\n    sys.exit(10**30)\n"),
        outcome="failed",
        ending="exited",
        exit_code=1,
        says="SystemExit",
    ),
    Row(
        name="raises_from_a_timer",
        source=(
            "import signal\n"
            "def late(*args): raise TimeoutError('too late')\n"
            "signal.signal(signal.SIGALRM, late)\n"
            "def step(i):\n"
            "    if i == 2:\n"
            "        signal.setitimer(signal.ITIMER_REAL, 0.0003)\n"
        ),
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="too late",
    ),
    Row(
        name="hangs_where_nothing_can_show_it",
        source=(
            "import faulthandler, signal\n"
            "def step(i):\n"
            "    faulthandler.unregister(signal.SIGUSR2)\n"
            "    while True:\n"
            "        pass\n"
        ),
        outcome="failed",
        ending="timed_out",
        exit_code=1,
        says="in step 0",
    ),
    Row(
        name="closes_the_first_descriptors",
        source=("import os\ndef step(i):\n    os.closerange(3, 4096)\n"),
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="closes_all_descriptors",
        source=("import os\ndef step(i):\n    os.closerange(3, 2**30)\n"),
        outcome="failed",
        ending="exited",
        exit_code=1,
        says="close only those that it opened",
    ),
    Row(
        name="puts_a_file_on_all_descriptors",
        source=(
            "import os\n"
            "def step(i):\n"
            "    nothing = os.open('/dev/null', os.O_RDWR)\n"
            "    for fd in os.listdir('/proc/self/fd'):\n"
            "        os.dup2(nothing, int(fd)) if int(fd) not in (1, 2, nothing) else None\n"
        ),
        outcome="failed",
        ending="exited",
        exit_code=1,
        says="close only those that it opened",
    ),
    Row(
        name="writes_to_all_descriptors",
        source=(
            "import os\n"
            "def step(i):\n"
            "    for fd in os.listdir('/proc/self/fd'):\n"
            "        if int(fd) > 2:\n"
            "            try: os.write(int(fd), b'hello hello')\n"
            "            except OSError: pass\n"
        ),
        outcome="failed",
        ending="crashed",
        exit_code=1,
        says="something else wrote to the private pipe",
    ),
    Row(
        name="makes_all_descriptors_impatient",
        source=(
            "import os\n"
            "def step(i):\n"
            "    for fd in os.listdir('/proc/self/fd'):\n"
            "        try: os.set_blocking(int(fd), False)\n"
            "        except OSError: pass\n"
        ),
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="mocks_what_measuring_uses",
        source=(
            "import gc, os, time\n"
            "def step(i):\n"
            "    gc.collect = lambda *args: None\n"
            "    time.perf_counter_ns = lambda: 0.5\n"
            "    os.getpid = lambda: 1\n"
            "    os.read = os.write = os._exit = None\n"
        ),
        outcome="stable",
        ending="ok",
        exit_code=0,
    ),
    Row(
        name="kills_what_started_it",
        source=(
            "import os, signal\n"
            "def step(i):\n"
            "    if i == 3:\n"
            "        signal.alarm(20)\n"
            "        os.kill(os.getppid(), signal.SIGKILL)\n"
            "        signal.pause()\n"
        ),
        outcome="failed",
        ending="killed",
        exit_code=1,
        says="the process that starts the scenarios died",
    ),
    Row(
        name="setup_is_a_coroutine",
        source=("async def setup(): pass\ndef step(i): pass\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="setup is a coroutine function",
        started=False,
    ),
    Row(
        name="setup_needs_an_argument",
        source=("def setup(model): pass\ndef step(i): pass\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="needs arguments",
        started=False,
    ),
    Row(
        name="step_returns_a_coroutine",
        source=("async def work(i): pass\nstep = lambda i: work(i)\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="nothing of that was run",
        started=False,
    ),
    Row(
        name="step_is_an_object_with_a_coroutine",
        source=("class Work:\n    async def __call__(self, i): pass\nstep = Work()\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="asyncio.run",
        started=False,
    ),
    Row(
        name="step_is_an_asynchronous_generator",
        source=("async def step(i):\n    yield i\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="asyncio.run",
        started=False,
    ),
    Row(
        name="scenario_is_zero",
        source=("SCENARIO = 0\ndef step(i): pass\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="not a harness.Scenario",
        started=False,
    ),
    Row(
        name="scenario_has_a_number_for_a_title",
        source=("from harness import Scenario\nSCENARIO = Scenario(title=3)\ndef step(i): pass\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="$.title",
        started=False,
    ),
    Row(
        name="scenario_expects_infinity",
        source=(
            "from harness import Scenario, slower\n"
            "SCENARIO = Scenario(expect=slower(float('inf')))\n"
            "def step(i): pass\n"
        ),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="not a ratio",
        started=False,
    ),
    Row(
        name="has_more_items_than_a_number_holds",
        source=("ITEMS_PER_STEP = 2**70\ndef step(i): pass\n"),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="ITEMS_PER_STEP",
        started=False,
    ),
    Row(
        name="title_is_no_utf8",
        source=(
            "from harness import Scenario\nSCENARIO = Scenario(title='a\\ud800b')\n"
            "raise RuntimeError('no such model')\ndef step(i): pass\n"
        ),
        outcome="failed",
        ending="raised",
        exit_code=4,
        says="no such model",
        started=False,
    ),
)

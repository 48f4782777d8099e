"""Scenarios that end badly: by what they raise, how they exit, what kills them, or never."""

from __future__ import annotations

from tests.acceptance.fault_rows import Row

__all__ = ["ENDING_BADLY"]

ENDING_BADLY: tuple[Row, ...] = (
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
)

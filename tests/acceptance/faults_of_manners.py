"""Scenarios that take from the measurement what it needs: descriptors, signals, modules, processes."""

from __future__ import annotations

from tests.acceptance.fault_rows import Row

__all__ = ["ILL_MANNERED"]

ILL_MANNERED: tuple[Row, ...] = (
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
        name="says_what_utf8_cannot_hold",
        source=("def step(i):\n    raise ValueError('a\\ud800b')\n"),
        outcome="failed",
        ending="raised",
        exit_code=1,
        says="ValueError: a\\ud800b",
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
)

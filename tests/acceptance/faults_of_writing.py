"""Files that are written wrongly, or unusually: some cannot be run at all."""

from __future__ import annotations

from tests.acceptance.fault_rows import Row

__all__ = ["WRITTEN_WRONGLY"]

WRITTEN_WRONGLY: tuple[Row, ...] = (
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

"""Whole reports as they stand in a comment. Whoever changes the picture on purpose changes it here too."""

from __future__ import annotations

from harness.model.expectation import Expectation
from harness.model.report import Problem
from harness.render.markdown import render
from tests.golden.test_terminal_pictures import picture
from tests.report_builder import a_finding, a_leak, a_report, a_run


def test_a_leak_that_nobody_expected_stands_open_and_the_rest_is_folded() -> None:
    leak = Expectation(kind="leak", cause="held_reference")
    report = a_report(
        a_leak(notes=("the dispatch ledger ran: other threads are unseen",)),
        a_run("held", outcome="leak", expected=leak, findings=(a_finding(allocated_at=(), held_by=None),)),
        a_run("tidy", variant="fixed_step"),
        elapsed_s=12.5,
    )

    assert render(report) == picture("""
### ✗ Memory: 2 of 3 as expected, 1 not: train · step, in 12.5 s.

|  | scenario | outcome | expected | growth a step | line |
| --- | --- | --- | --- | --- | --- |
| ✗ | train · step | leak | stable | 16.0 KiB | `work/train.py:12` |

#### ✗ train · step: leak (held_reference), expected stable

- **cause:** held_reference
- **grows:** 16.0 KiB/step, 1 object a step, 896.0 KiB kept in all on cpu
- **allocated:** `work/train.py:12 in step`
  ```text
    x = torch.ones(64, 64)
  called by work/train.py:30 in epoch
  ```
- **held by:** `module train > history: list > [*]; grows at history`
- **why:** Something that outlives the step keeps the tensors allocated at line 12 in step.
- **fix:** Drop them when the step is done, or bound the container.
- **curve:** `▁▁▂▂▃▃▄▄▅▅▆▆▇▇██ leak.bytes 0 B to 960.0 KiB`

<details><summary>More about this run</summary>

- **because:** The storages of one site grow by 16384 bytes a step, to the end.
- The oldest of them is 55 steps old and alive.
- **note:** The dispatch ledger ran: other threads are unseen.
- **next:** `harness run work/train.py --variant step --format json`

</details>

<details><summary>2 as expected</summary>

|  | scenario | outcome | expected | growth a step | found |
| --- | --- | --- | --- | --- | --- |
| ✓ | held · step | leak | leak (held_reference) | 16.0 KiB | held_reference 16.0 KiB/step |
| ✓ | tidy · fixed_step | stable | stable | - | - |

</details>

<sub>torch-leak-harness 0.1.0 · Python 3.11.7 · torch 2.13.0 · Linux-6.8-x86_64 · 2 CPUs · seed 0</sub>
""")


def test_what_could_not_be_measured_is_told_before_all_else() -> None:
    report = a_report(
        a_run("unclear", outcome="inconclusive", as_expected=False, reasons=("too few steps",)),
        problems=(Problem(target="gone.py", message="gone.py: not there", help="Is it spelt right?"),),
        errors=(Problem(target="lost.py::step", message="measuring failed:\nKeyError: 1", help="Report it."),),
        interrupted=True,
    )

    assert render(report) == picture("""
### ✗ Memory: Interrupted: what follows is missing. 0 of 1 as expected; 1 inconclusive; \
1 asked for and not found; measuring failed once.

|  | scenario | outcome | expected | growth a step | line |
| --- | --- | --- | --- | --- | --- |
| ? | unclear · step | inconclusive | stable | - | `work/unclear.py` |

#### ✗ lost.py::step: measuring failed:

```text
KeyError: 1
Report it.
```

#### ✗ gone.py: gone.py: not there

```text
Is it spelt right?
```

#### ? unclear · step: inconclusive, expected stable

- **because:** Too few steps.
- **next:** `harness run work/unclear.py --variant step --steps 128`

<sub>torch-leak-harness 0.1.0 · Python 3.11.7 · torch 2.13.0 · Linux-6.8-x86_64 · 2 CPUs · seed 0</sub>
""")

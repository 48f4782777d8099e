"""Whole reports as they stand on a terminal. Whoever changes the picture on purpose changes it here too."""

from __future__ import annotations

from harness.model.allocation import Frame
from harness.model.expectation import Expectation
from harness.model.peak import PeakPart
from harness.model.recording import Ending
from harness.model.report import Comparison, Conservation, Problem, Throughput
from harness.render.terminal import render
from tests.report_builder import a_finding, a_leak, a_report, a_run


def picture(text: str) -> str:
    """The text between the quotes of a test, without the line breaks that stand there for looks."""
    return text.strip("\n") + "\n"


def test_a_leak_that_nobody_expected_is_told_in_full() -> None:
    peak = PeakPart(
        role="activation",
        bytes=917504,
        storages=56,
        allocated_at=(Frame(path="/home/me/work/train.py", line=12, function="step", source="x = torch.ones(64, 64)"),),
    )
    report = a_report(
        a_leak(
            notes=("the dispatch ledger ran: other threads are unseen",),
            peak_step=63,
            peak_by_role={"activation": 917504, "parameter": 65536, "other": 24},
            peak_parts=(peak,),
            conservation=Conservation(
                rss_growth_bytes=1003520,
                parts={
                    "tensors": 917504,
                    "native_heap": 73728,
                    "mapped": 4096,
                    "allocator_free": 12288,
                    "untouched": -16384,
                },
                unexplained_bytes=12288,
                children_bytes=0,
            ),
        )
    )

    assert render(report) == picture("""
torch-leak-harness 0.1.0 · Python 3.11.7 · torch 2.13.0 · Linux-6.8-x86_64 · 2 CPUs · seed 0

   scenario      variant  outcome  expected  growth/step  steps         speed
─────────────────────────────────────────────────────────────────────────────
✗  train         step     leak     stable       16.0 KiB     64  51.0 steps/s

✗ train · step: leak (held_reference), expected stable
  cause       held_reference
  grows       16.0 KiB/step, 1 object a step, 896.0 KiB kept in all on cpu
  allocated   work/train.py:12 in step
                x = torch.ones(64, 64)
              called by work/train.py:30 in epoch
  held by     module train > history: list > [*]; grows at history
  why         Something that outlives the step keeps the tensors allocated at line 12 in step.
  fix         Drop them when the step is done, or bound the container.

  curve       ▁▁▂▂▃▃▄▄▅▅▆▆▇▇██ leak.bytes 0 B to 960.0 KiB
  because     The storages of one site grow by 16384 bytes a step, to the end.
              The oldest of them is 55 steps old and alive.
  peak        960.0 KiB on the CPU in step 63: activation 93 %, parameter 7 %, other under 1 %
              largest part: activation, 896.0 KiB, work/train.py:12 in step
                x = torch.ones(64, 64)
  memory      Resident memory grew by 980.0 KiB: tensors 896.0 KiB, native heap 72.0 KiB, untouched
              -16.0 KiB, allocator free 12.0 KiB, unexplained 12.0 KiB.
  note        The dispatch ledger ran: other threads are unseen.
  next        harness run work/train.py --variant step --format json

0 of 1 as expected, 1 not: train · step.
""")


def test_what_was_expected_is_told_in_brief() -> None:
    leak = Expectation(kind="leak", cause="held_reference")
    path = "scenarios/held_reference.py"
    comparison = Comparison(throughput_ratio=12.2, throughput_low=11.0, throughput_high=13.5, peak_ratio=1.0)
    report = a_report(
        a_run("held_reference", path=path, outcome="leak", expected=leak, findings=(a_finding(),)),
        a_run("held_reference", path=path, variant="fixed_step"),
        a_run(
            "batches",
            throughput=Throughput(
                steps_per_s=51.0, items_per_s=1632.0, bytes_per_item=2048.0, allocations_per_item=2.0
            ),
            expected=Expectation(kind="slower", at_least=4.0),
            comparison=comparison,
        ),
        a_run(
            "batches",
            variant="fixed_step",
            throughput=Throughput(
                steps_per_s=622.2, items_per_s=19910.4, bytes_per_item=1536.0, allocations_per_item=0.0625
            ),
            comparison=comparison,
        ),
        a_run(
            "layers",
            expected=Expectation(kind="higher_peak", at_least=2.0),
            comparison=Comparison(peak_ratio=3.0),
            peak_step=47,
            peak_by_role={"activation": 8388608, "input": 1048576},
        ),
    )

    assert render(report) == picture("""
torch-leak-harness 0.1.0 · Python 3.11.7 · torch 2.13.0 · Linux-6.8-x86_64 · 2 CPUs · seed 0

   scenario        variant     outcome  expected     growth/step  steps           speed
───────────────────────────────────────────────────────────────────────────────────────
✓  held_reference  step        leak     leak            16.0 KiB     64    51.0 steps/s
✓                  fixed_step  stable   stable                 -     64    51.0 steps/s
✓  batches         step        stable   slower                 -     64   1,632 items/s
✓                  fixed_step  stable   stable                 -     64  19,910 items/s
✓  layers          step        stable   higher peak            -     64    51.0 steps/s

Found, as expected
  held_reference · step  held_reference 16.0 KiB/step at /home/me/work/train.py:12 in step, held by
                         module train > history: list > [*]
  batches · step         fixed_step is 12.2x (11.0x to 13.5x) as fast; step peaks at 1.00x its bytes
  layers · step          step peaks at 3.0x its bytes
                         peak 9.0 MiB on the CPU in step 47: activation 89 %, input 11 %

Throughput
  scenario  variant     items/s          ratio (spread)  bytes/item  allocations/item
  batches   step          1,632                             2.0 KiB                 2
            fixed_step   19,910  12.2x (11.0x to 13.5x)     1.5 KiB            0.0625

All 5 runs ended as expected.
""")


def test_a_scenario_that_failed_shows_its_traceback_and_what_could_not_be_found_shows_help() -> None:
    traceback = """Traceback (most recent call last):
  File "work/broken.py", line 4, in step
    return a @ b
RuntimeError: inconsistent tensor size
"""
    report = a_report(
        a_run(
            "broken",
            outcome="failed",
            as_expected=False,
            steps=3,
            throughput=None,
            ending=Ending(status="raised", detail=traceback),
            reasons=("the scenario raised RuntimeError in step 3",),
            stderr="one warning\n",
        ),
        problems=(
            Problem(
                target="held_referense",
                message="'held_referense': no such file, folder or bundled scenario",
                help="Did you mean held_reference?",
            ),
        ),
    )

    assert render(report) == picture("""
torch-leak-harness 0.1.0 · Python 3.11.7 · torch 2.13.0 · Linux-6.8-x86_64 · 2 CPUs · seed 0

   scenario      variant  outcome  expected  growth/step  steps  speed
──────────────────────────────────────────────────────────────────────
✗  broken        step     failed   stable              -      3      -

✗ broken · step: failed, expected stable
  because     The scenario raised RuntimeError in step 3.
  ended       raised after 3 steps
              Traceback (most recent call last):
                File "work/broken.py", line 4, in step
                  return a @ b
              RuntimeError: inconsistent tensor size
  stderr      its last lines
              one warning
  next        harness run work/broken.py --variant step

✗ 'held_referense': no such file, folder or bundled scenario
  Did you mean held_reference?

0 of 1 as expected, 1 not: broken · step; 1 asked for and not found.
""")


def test_a_native_stack_is_one_line_of_names() -> None:
    stack = (
        "malloc",
        "operator new(unsigned long)",
        "lib::take(int)",
        "lib::open(char const*)",
        "ctypes",
        "more",
        "most",
    )
    shown = render(a_report(a_leak(findings=(a_finding(cause="native_heap", native_stack=stack),))))

    assert "  natively    malloc < operator new < lib::take < lib::open < ctypes < 2 more\n" in shown


def test_the_line_that_keeps_and_what_cutting_showed_stand_with_the_holder() -> None:
    kept = Frame(path="/home/me/work/train.py", line=14, function="step", source="history.append(x)")
    finding = a_finding(retained_at=(kept,), confirmed_by_cutting=True)

    shown = render(a_report(a_leak(findings=(finding,))))

    assert (
        """
  cause       held_reference; cutting the reference stopped it
"""
        in shown
    )
    assert (
        """
              called by work/train.py:30 in epoch
  kept at     work/train.py:14 in step
                history.append(x)
  held by     module train > history: list > [*]; grows at history
"""
        in shown
    )

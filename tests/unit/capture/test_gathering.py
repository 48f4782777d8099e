"""A subject's record can be had at any moment, whatever became of the subject."""

from __future__ import annotations

import signal

from harness.capture import wire
from harness.capture.gathering import Gathering, ending_of_exit, without_our_frames
from harness.ledger.protocol import SiteState
from harness.model.allocation import Frame
from harness.model.environment import Environment
from harness.model.peak import PeakComposition
from harness.model.recording import ScenarioFacts

FACTS = wire.Facts(
    scenario=ScenarioFacts(name="demo", path="demo.py", variant="step"),
    environment=Environment(
        python="3.11", torch="2.13", platform="here", cpu_count=2, torch_threads=1, memory_bytes=1, seed=0
    ),
    absent=(),
    ledger_source="dispatch",
    ledger_blind_to="other threads",
)


def gathering(*messages: wire.Message) -> Gathering:
    gathered = Gathering(role="ledger", warmup=0)
    for message in messages:
        gathered.take(message)
    return gathered


def sample(step: int, *, heap: int, sites: tuple[SiteState, ...] = ()) -> wire.Sample:
    return wire.Sample(step=step, step_ns=10, values={"heap.used": heap}, sites=sites)


def test_a_subject_that_was_killed_keeps_every_sample_before() -> None:
    record = gathering(FACTS, sample(-1, heap=5), sample(0, heap=6), sample(1, heap=7)).record()

    heap = record.find("heap.used")
    assert heap is not None
    assert heap.steps == (-1, 0, 1)
    assert list(heap.values) == [5.0, 6.0, 7.0]
    assert record.steps == 2
    assert record.started


def test_a_subject_that_never_spoke_did_not_start() -> None:
    record = gathering().record(ending_of_exit(1, None))

    assert not record.started
    assert record.ending.status == "exited"
    assert record.ending.code == 1


def test_a_sites_state_holds_until_it_changes() -> None:
    frame = Frame(path="demo.py", line=3, function="step")
    site = wire.SiteDefinition(site=4, device="cpu", operator="aten::ones", frames=(frame,))

    record = gathering(
        FACTS,
        sample(-1, heap=0),
        site,
        sample(0, heap=0, sites=(SiteState(4, 1, 100, 0),)),
        sample(1, heap=0),
        sample(2, heap=0, sites=(SiteState(4, 3, 300, 0),)),
        sample(3, heap=0, sites=(SiteState(4, 0, 0, None),)),
    ).record()

    assert record.ledger is not None
    (told,) = record.ledger.sites
    assert told.steps == (-1, 0, 1, 2, 3)
    assert told.storages == (0, 1, 1, 3, 0)
    assert told.bytes == (0, 100, 100, 300, 0)
    assert told.oldest_birth == (None, 0, 0, 0, None)


def test_a_segmentation_fault_is_a_crash_and_sigkill_is_not() -> None:
    assert ending_of_exit(None, signal.SIGSEGV).status == "crashed"
    assert ending_of_exit(None, signal.SIGSEGV).signal == "SIGSEGV"
    assert ending_of_exit(None, signal.SIGKILL).status == "killed"


def test_the_stack_of_a_crash_shows_the_scenarios_frames_and_not_ours() -> None:
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        'Current thread 0x1 (most recent call first):\n  File "/home/me/train.py", line 4 in step\n'
        '  File "/venv/site-packages/harness/capture/recorder.py", line 83 in run\n'
        '  File "<frozen runpy>", line 88 in _run_code\n\nExtension modules: numpy (total: 1)\n'
    )

    shown = without_our_frames(text)

    assert "train.py" in shown
    assert "recorder.py" not in shown
    assert "runpy" not in shown
    assert "Extension modules" not in shown


def test_the_composition_kept_is_that_of_the_highest_peak_and_of_equal_ones_the_latest() -> None:
    def told(step: int, size: int) -> wire.LedgerState:
        peak = PeakComposition(step=step, bytes=size, by_role={"other": size}, parts=())
        return wire.LedgerState(peak_bytes={"cpu": 9}, dropped=0, in_graph={}, peak=peak)

    unknown = wire.LedgerState(peak_bytes={"cpu": 9}, dropped=0, in_graph={})

    record = gathering(FACTS, told(7, 5), told(40, 9), told(56, 9), told(128, 6), unknown).record()

    assert record.ledger is not None
    assert record.ledger.peak is not None
    assert record.ledger.peak.step == 56

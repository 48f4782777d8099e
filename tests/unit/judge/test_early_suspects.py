"""Too few steps for a verdict are enough to name a suspect, where survivors are counted exactly."""

from __future__ import annotations

from harness.judge.curiosity import holders_wanted
from harness.judge.detector import judge
from harness.model.recording import SubjectRecord
from tests.builders import flat, ledger, line, recording, site, subject


def followed(steps: int, per_step: float) -> SubjectRecord:
    values = line(steps, per_step, 0) if per_step else flat(steps, 4096)
    kept = site(values, storages=[v // 1024 for v in values])
    return subject("ledger", {"leak.bytes": values, "leak.tensors": [v // 1024 for v in values]}, ledger=ledger(kept))


def plain(steps: int, per_step: float) -> SubjectRecord:
    return subject("plain", {"heap.used": line(steps, per_step)})


def test_thirty_steps_name_the_line_and_give_no_verdict() -> None:
    verdict = judge(recording(plain(30, 1024), followed(30, 1024)))

    assert verdict.outcome == "inconclusive"
    (suspect,) = verdict.suspects
    assert suspect.site is not None
    assert suspect.site.frames[0].line == 12
    assert any(reason.startswith("a suspect already: ") for reason in verdict.reasons)


def test_twenty_steps_name_nobody() -> None:
    assert judge(recording(plain(20, 1024), followed(20, 1024))).suspects == ()


def test_what_does_not_grow_is_no_suspect_after_thirty_steps() -> None:
    assert judge(recording(plain(30, 0), followed(30, 0))).suspects == ()


def test_holders_are_asked_for_after_thirty_steps_too() -> None:
    assert holders_wanted([plain(30, 1024), followed(30, 1024)]) == (1,)


def test_nobody_is_asked_where_nothing_grows() -> None:
    assert holders_wanted([plain(208, 0), followed(208, 0)]) is None

"""A report in which every text from outside is hostile: what a renderer must show as text, whatever its format."""

from __future__ import annotations

from typing import Any

from harness.model.allocation import Frame
from harness.model.metric import METRICS
from harness.model.recording import Ending
from harness.model.report import Comparison, HeldBy, Problem, Report, Throughput
from harness.model.series import Growth
from harness.model.verdict import LookAlike
from tests.report_builder import a_finding, a_leak, a_report, a_run

__all__ = ["HOSTILE", "a_hostile_report", "a_report_of_everything"]

HOSTILE = (
    "\x1b[2J\x00\ud800\ufffe\u202e\r\n::error::owned\n]]><x a='1'>&amp;|`a``b```c|[l](https://evil.example)(1) "
    '![i](x) @joe #12 <img src=x onerror=y> $`x`$ "q" {0} 100% \\ __b__ *c* ~~d~~ :smile: a,b'
)


def a_hostile_report(text: str = HOSTILE) -> Report:
    """*text* in every place that takes any."""
    held = HeldBy(text=text, root=text, links=(text,), suspect=text)
    frames = (Frame(path=text, line=-1, function=text, source=text),) * 2
    finding = a_finding(
        explanation=text,
        fix=text,
        device=text,
        native_stack=(text,),
        allocated_at=frames,
        retained_at=frames,
        held_by=held,
        fingerprint=text,
    )
    hostile: dict[str, Any] = {
        "path": text,
        "title": text,
        "reasons": (text,),
        "notes": (text,),
        "look_alikes": (LookAlike(look_alike=text, bytes=1, evidence=text),),
        "peak_bytes": {text: 3},
        "growth": {text: Growth(per_step=1.0, low=1.0, high=1.0, unit=text, trend="growing")},
        "stderr": text,
        "ending": Ending(status="raised", detail=text),
    }
    known = a_finding(known={"what": text, text: text})
    odd = a_finding(cause=text, held_by=None, bytes_per_step=float("nan"), tensor_bytes_per_step=float("inf"))
    return a_report(
        a_leak(text, findings=(finding, odd), **hostile),
        a_leak(text, findings=(known,), **hostile),
        a_run(text, outcome="failed", as_expected=False, **hostile),
        a_run(text, outcome="inconclusive", as_expected=False, **hostile),
        a_run(text, findings=(finding,), **hostile),
        problems=(Problem(target=text, message=text, help=text),),
        errors=(Problem(target=text, message=f"{text}\n{text}", help=text),),
    )


def a_report_of_everything() -> Report:
    """Every standing, every kind of figure, two runs of one name, and two processes of one run."""
    growth = {m.name: Growth(per_step=2.5, low=2.0, high=3.0, unit=m.unit, trend="growing") for m in METRICS}
    speed = Throughput(steps_per_s=50.0, items_per_s=1600.0, low=0.9, high=1.1)
    ratio = Comparison(throughput_ratio=6.0, throughput_low=5.0, throughput_high=7.0)
    return a_report(
        a_leak(growth=growth),
        a_leak("known", findings=(a_finding(known={"what": "guards", "link": "https://example.org/1"}),)),
        a_run("unclear", outcome="inconclusive", as_expected=False, reasons=("too few steps",)),
        a_run("broken", outcome="failed", as_expected=False, ending=Ending(status="raised", detail="KeyError: 'x'")),
        a_run("tidy", throughput=speed, comparison=ratio),
        a_run("tidy", variant="fixed_step", throughput=speed, comparison=ratio, peak_bytes={"cpu": 8, "cuda:0": 16}),
        a_run("tidy", path="other/tidy.py"),
        errors=(Problem(target="lost.py::step", message="measuring failed:\nKeyError: 1", help="Report it."),),
        problems=(Problem(target="gone.py", message="gone.py: not there", help="Is it spelt right?"),),
        interrupted=True,
    )

"""Figures for GitLab, github-action-benchmark and Bencher: exact, named apart, and a number each."""

from __future__ import annotations

import json
import math
import re

import jsonschema
import pytest

from harness.model.report import Comparison, Report, SubjectId, Throughput
from harness.model.series import Growth
from harness.render import render
from tests.hostile import a_hostile_report, a_report_of_everything
from tests.report_builder import a_leak, a_report, a_run

SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\]|\\["\\n])*",?)+)\} (\S+)')
BENCHER = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[a-z0-9-]{1,64}$"},
        "additionalProperties": {
            "type": "object",
            "required": ["value"],
            "additionalProperties": False,
            "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
        },
    },
}
BENCHMARK_ACTION = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "unit", "value"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "unit": {"type": "string", "minLength": 1},
            "value": {"type": "number"},
            "range": {"type": "string"},
            "extra": {"type": "string"},
        },
    },
}
REPORTS = pytest.mark.parametrize(
    "report",
    [a_report(), a_report(a_leak(), a_run()), a_report_of_everything(), a_hostile_report()],
    ids=["empty", "plain", "everything", "hostile"],
)


def samples(report: Report) -> dict[str, str]:
    """OpenMetrics text, read as strictly as the specification is written."""
    text = render(report, "gitlab")
    assert text.endswith("# EOF\n")
    found: dict[str, str] = {}
    family = ""
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert line == f"# TYPE {family} gauge"
        elif line.startswith("# HELP "):
            assert line.split()[2] == family
        else:
            matched = SAMPLE.fullmatch(line)
            assert matched, line
            assert matched[1] == family
            assert math.isfinite(float(matched[3]))
            assert f"{matched[1]}{{{matched[2]}}}" not in found, "two samples of one name"
            found[f"{matched[1]}{{{matched[2]}}}"] = matched[3]
    return found


@REPORTS
def test_whatever_a_report_holds_the_metrics_are_valid_and_each_is_named_once(report: Report) -> None:
    assert samples(report)


@REPORTS
def test_whatever_a_report_holds_the_benchmark_files_are_valid_and_each_name_is_there_once(report: Report) -> None:
    entries = json.loads(render(report, "benchmark-action"))
    jsonschema.validate(entries, BENCHMARK_ACTION)
    jsonschema.validate(json.loads(render(report, "bencher")), BENCHER)

    assert len({entry["name"] for entry in entries}) == len(entries)


def test_gitlab_gets_the_exact_figures_by_scenario_and_variant() -> None:
    found = samples(a_report(a_leak()))

    assert found == {
        'harness_allocations_step{scenario="train",variant="step"}': "2",
        'harness_leak_bytes_per_step{scenario="train",variant="step"}': "16384",
        'harness_peak_tensors{scenario="train",variant="step",device="cpu"}': "32768",
        'harness_runs{standing="expected"}': "0",
        'harness_runs{standing="unexpected"}': "1",
        'harness_runs{standing="inconclusive"}': "0",
        'harness_runs{standing="known"}': "0",
        'harness_missing{because="not_found"}': "0",
        'harness_missing{because="errors"}': "0",
        'harness_missing{because="interrupted"}': "0",
    }


def test_gitlab_gets_no_figure_that_differs_from_run_to_run() -> None:
    noisy = a_run(
        growth={"rss.anon": Growth(per_step=3.1, low=1.0, high=5.0, unit="bytes", trend="noisy")},
        throughput=Throughput(steps_per_s=51.0, items_per_s=99.0),
    )

    assert not any("rss" in name or "throughput" in name for name in samples(a_report(noisy)))


def test_runs_of_one_name_are_told_apart_by_what_differs() -> None:
    runs = (
        a_run("a", subject=SubjectId(rank=0, pid=1)),
        a_run("a", subject=SubjectId(rank=1, pid=2)),
        a_run("b"),
        a_run("b", path="other/b.py"),
    )

    named = [name for name in samples(a_report(*runs)) if name.startswith("harness_allocations_step")]

    assert named == [
        'harness_allocations_step{scenario="a",variant="step",rank="0"}',
        'harness_allocations_step{scenario="a",variant="step",rank="1"}',
        'harness_allocations_step{scenario="b",variant="step",path="work/b.py"}',
        'harness_allocations_step{scenario="b",variant="step",path="other/b.py"}',
    ]


def test_the_benchmark_action_gets_what_is_better_when_it_is_smaller() -> None:
    run = a_run("b", throughput=Throughput(steps_per_s=50.0, items_per_s=1600.0, low=0.8, high=1.25))

    entries = json.loads(render(a_report(run), "benchmark-action"))

    assert entries == [
        {"name": "runs not as expected", "unit": "runs", "value": 0},
        {"name": "asked for and not measured", "unit": "count", "value": 0},
        {"name": "b · step: peak.tensors (cpu)", "unit": "bytes", "value": 32768, "extra": "32.0 KiB"},
        {"name": "b · step: allocations.step", "unit": "count", "value": 2},
        {"name": "b · step: time a step", "unit": "ms", "value": 20.0, "range": "16 to 25"},
    ]


def test_bencher_gets_a_measure_a_metric_with_its_bounds() -> None:
    speed = Throughput(steps_per_s=50.0, items_per_s=1600.0, low=0.75, high=1.25)
    ratio = Comparison(throughput_ratio=6.0, throughput_low=5.0, throughput_high=7.0)
    run = a_run("b", variant="fixed_step", throughput=speed, comparison=ratio, peak_bytes={"cuda:0": 8})

    assert json.loads(render(a_report(run), "bencher")) == {
        "b · fixed_step": {
            "peak-tensors-cuda-0": {"value": 8},
            "allocations-step": {"value": 2.0},
            "throughput-items": {"value": 1600.0, "lower_value": 1200.0, "upper_value": 2000.0},
            "throughput-ratio": {"value": 6.0, "lower_value": 5.0, "upper_value": 7.0},
        }
    }


def test_a_figure_that_is_no_number_is_left_out() -> None:
    run = a_run(
        allocations_per_step=math.nan,
        throughput=Throughput(steps_per_s=math.inf),
        growth={"fds": Growth(per_step=math.nan, low=0.0, high=0.0, unit="count", trend="noisy")},
    )

    report = a_report(run)

    assert json.loads(render(report, "bencher")) == {"tidy · step": {"peak-tensors-cpu": {"value": 32768}}}
    assert [name for name in samples(report) if "tidy" in name] == [
        'harness_peak_tensors{scenario="tidy",variant="step",device="cpu"}'
    ]


def test_the_ratio_of_the_halves_stands_with_fixed_step_alone() -> None:
    ratio = Comparison(throughput_ratio=6.0, throughput_low=5.0, throughput_high=7.0)
    runs = (a_run("b", comparison=ratio), a_run("b", variant="fixed_step", comparison=ratio))

    found = json.loads(render(a_report(*runs), "bencher"))

    assert [name for name, measures in found.items() if "throughput-ratio" in measures] == ["b · fixed_step"]


def test_a_run_without_a_figure_is_no_benchmark_and_has_no_time() -> None:
    bare = a_run(peak_bytes={}, allocations_per_step=None, throughput=Throughput(steps_per_s=0.0))

    assert json.loads(render(a_report(bare), "bencher")) == {}
    assert len(json.loads(render(a_report(bare), "benchmark-action"))) == 2

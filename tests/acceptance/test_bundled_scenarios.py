"""The main job: every bundled scenario, run as a user runs it, comes out as its file says."""

from __future__ import annotations

import jsonschema
import msgspec
import pytest

from harness.capture.scenario_source import look
from harness.model.codec import report_schema
from harness.model.expectation import FAULTS, Expectation
from tests.acceptance.bundled import Done
from tests.repo.source_tree import scenario_files

EXPECTED: dict[str, Expectation] = {path.stem: look(path.read_bytes()).expected for path in scenario_files()}

every_half = pytest.mark.parametrize(
    ("scenario", "variant"), [(name, variant) for name in EXPECTED for variant in ("step", "fixed_step")]
)


def outcome_of(expected: Expectation) -> str:
    if expected.kind == "gradient_wrong":
        return "fault"
    return expected.kind if expected.kind in ("leak", "fault") else "stable"


def test_running_all_of_them_exits_0(done: Done) -> None:
    assert done.code == 0, done.stderr


def test_the_report_is_valid_by_the_published_schema(done: Done) -> None:
    published = jsonschema.Draft202012Validator(msgspec.json.decode(report_schema()))

    assert [error.message for error in published.iter_errors(msgspec.json.decode(done.stdout))] == []


def test_each_half_of_each_scenario_is_run_once(done: Done) -> None:
    ran = sorted((run.scenario, run.variant) for run in done.report.runs)

    assert ran == sorted((name, variant) for name in EXPECTED for variant in ("fixed_step", "step"))
    assert done.report.problems == ()


@every_half
def test_a_half_comes_out_as_its_file_says(done: Done, scenario: str, variant: str) -> None:
    run = done.run(scenario, variant)
    expected = EXPECTED[scenario] if variant == "step" else Expectation(kind="stable")

    assert run.outcome == outcome_of(expected), run.reasons
    assert run.as_expected, run.findings
    assert run.expected == expected
    assert run.ending.status == "ok" or (run.ending.status in ("raised", "crashed") and run.outcome == "fault")


@pytest.mark.parametrize("scenario", EXPECTED)
def test_a_fixed_half_shows_no_trace_of_a_fault(done: Done, scenario: str) -> None:
    # A fault that raises nothing is only a note where it is not expected, so the outcome alone would not show it.
    traces = [note for note in done.run(scenario, "fixed_step").notes if note.startswith(FAULTS)]

    assert traces == []


@every_half
def test_a_verdict_has_reasons_with_numbers(done: Done, scenario: str, variant: str) -> None:
    reasons = done.run(scenario, variant).reasons

    assert reasons
    assert any(character.isdigit() for reason in reasons for character in reason)


@pytest.mark.parametrize(
    ("scenario", "function"),
    [("held_reference", "features"), ("unclosed_manager", "answer"), ("graph_accumulated", "loss_of")],
)
def test_a_tensor_leak_is_traced_to_the_function_that_allocates(done: Done, scenario: str, function: str) -> None:
    findings = done.run(scenario, "step").findings

    functions = {frame.function for finding in findings for frame in finding.allocated_at}
    assert function in functions


def test_a_leak_of_known_size_is_measured_to_the_byte(done: Done) -> None:
    (finding,) = done.run("held_reference", "step").findings

    assert finding.tensor_bytes_per_step == 64 * 64 * 4
    assert finding.objects_per_step == 1


def test_graph_nodes_that_no_storage_shows_are_found_all_the_same(done: Done) -> None:
    (finding,) = done.run("graph_kept_after_backward", "step").findings

    assert finding.cause == "autograd_graph_retained"
    assert finding.tensor_bytes_per_step == 0
    assert finding.bytes_per_step > 1000


def test_the_device_mismatch_is_traced_to_its_line(done: Done) -> None:
    (finding,) = done.run("device_mismatch", "step").findings

    assert [frame.source for frame in finding.allocated_at[:1]] == ["linear(batch, WEIGHT)"]


def test_batches_are_compared_with_single_samples(done: Done) -> None:
    single = done.run("batch_against_single", "step")
    batch = done.run("batch_against_single", "fixed_step")

    assert single.throughput is not None
    assert batch.throughput is not None
    assert single.throughput.items_per_s is not None
    assert single.throughput.items_per_s == pytest.approx(128 * single.throughput.steps_per_s)
    for run in (single, batch):
        assert run.comparison is not None
        assert run.comparison.throughput_ratio is not None
        assert run.comparison.throughput_ratio >= 4

"""Places: from the root of the repository, or not at all."""

from __future__ import annotations

import pytest

from harness.model.allocation import Frame
from harness.render.places import Place, main_place, places_of, run_place
from tests.report_builder import a_finding, a_leak, a_run


def frame(path: str, line: int = 5) -> Frame:
    return Frame(path=path, line=line, function="f")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/me/work/train.py", "work/train.py"),
        ("/home/me/work/parts/log.py", "work/parts/log.py"),
        ("/home/me/models/net.py", "models/net.py"),
        ("work/train.py", "work/train.py"),
        ("./work/train.py", "work/train.py"),
        ("/home/you/net.py", None),
        ("/home/me/.venv/lib/python3.11/site-packages/torch/nn/linear.py", None),
        ("../net.py", None),
        ("/home/me/../you/net.py", None),
        ("<string>", None),
        ("", None),
    ],
)
def test_a_frame_is_named_from_the_folder_that_the_tool_ran_in(path: str, shown: str | None) -> None:
    # That folder is /home/me: the finding's own frame is /home/me/work/train.py, and the scenario is work/train.py.
    found = places_of([frame(path)], a_leak("train"))

    assert [place.path for place in found] == ([] if shown is None else [shown])


def test_the_main_place_is_the_innermost_line_of_the_repository() -> None:
    finding = a_finding(allocated_at=(frame("/usr/lib/x.py"), frame("work/a.py", 7), frame("work/b.py", 9)))

    assert main_place(finding, a_leak(findings=(finding,))) == Place(path="work/a.py", line=7, function="f")


def test_where_no_allocating_line_is_ours_it_is_the_line_that_keeps() -> None:
    finding = a_finding(allocated_at=(frame("/usr/lib/x.py"),), retained_at=(frame("work/a.py", 7),))

    assert main_place(finding, a_leak(findings=(finding,))).path == "work/a.py"


def test_where_no_line_is_known_it_is_the_scenarios_file() -> None:
    finding = a_finding(allocated_at=())

    assert main_place(finding, a_leak(findings=(finding,))) == Place(path="work/train.py")


def test_a_line_below_one_is_none() -> None:
    finding = a_finding(allocated_at=(frame("work/a.py", 0),))

    assert main_place(finding, a_leak(findings=(finding,))).line is None


@pytest.mark.parametrize(
    ("path", "shown"), [("/elsewhere/x/y.py", "y.py"), ("../y.py", "y.py"), ("", "unknown"), ("a" * 9999, "a" * 255)]
)
def test_a_scenario_from_elsewhere_is_named_by_its_file_alone(path: str, shown: str) -> None:
    assert run_place(a_run(path=path)).path == shown


def test_from_the_root_of_the_machine_not_everything_is_the_repository() -> None:
    finding = a_finding(allocated_at=(frame("/usr/lib/x.py"), frame("/app/train.py", 3)))
    run = a_leak(path="app/train.py", findings=(finding,))

    assert [place.path for place in places_of(finding.allocated_at, run)] == ["app/train.py"]

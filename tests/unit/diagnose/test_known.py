"""Growth that libraries are known for is told as theirs; a user's own leak never is, whatever lies on its stack."""

from __future__ import annotations

from typing import Any

import pytest

from harness.diagnose.known import KNOWN, with_known
from harness.model.allocation import Frame
from harness.model.environment import Environment
from harness.model.expectation import CAUSES
from harness.model.report import Finding
from tests.report_builder import a_finding, a_recording

SCRIPTED = ("malloc", "operator new(unsigned long)", "torch::jit::Node::allocNewInstance(torch::jit::Graph*)")
PROFILED = ("malloc", "torch::profiler::impl::ThreadLocalSubqueue::begin_op(at::RecordFunction const&)")
CONVOLVED = ("malloc", "dnnl::impl::cpu::x64::jit_generator::create_kernel()", "at::native::mkldnn_convolution")


def here(torch: str = "2.13.0") -> Environment:
    import msgspec

    return msgspec.structs.replace(a_recording().environment, torch=torch)


def grown(source: str, *, stack: tuple[str, ...] = (), cause: str = "native_heap", **more: Any) -> Finding:
    at = (Frame(path="train.py", line=12, function="step", source=source),)
    return a_finding(cause=cause, allocated_at=at, native_stack=stack, held_by=None, **more)


def test_scripting_in_each_step_is_the_compilation_units_growth() -> None:
    found = with_known(grown("torch.jit.script(make(i))", stack=SCRIPTED), here())

    assert found.known is not None
    assert found.known["id"] == "torch-jit-compilation-unit"
    assert found.known["link"] == "https://github.com/pytorch/pytorch/issues/35600"
    assert found.fix == "Script or trace once, outside the step."


def test_a_primitive_for_each_shape_is_onednns_growth() -> None:
    found = with_known(grown("conv(x)", stack=CONVOLVED), here())

    assert found.known is not None
    assert found.known["id"] == "onednn-primitive-cache"


@pytest.mark.parametrize(
    "finding",
    [
        pytest.param(grown("p = libc.malloc(60)", stack=("malloc", "ctypes")), id="ctypes"),
        pytest.param(grown("torch.ops.my.op(x)", stack=("malloc", "my_op", "torch::jit::run")), id="an extension"),
        pytest.param(grown("model(x)", stack=SCRIPTED), id="a scripted model that is only called"),
        pytest.param(grown("model(x)", stack=PROFILED), id="a profiler that nobody stopped"),
        pytest.param(grown("torch.jit.script(make(i))", stack=("malloc", "ctypes")), id="the line alone"),
        pytest.param(grown("kept.append(torch.jit.script(f))", cause="held_reference"), id="a list of one's own"),
        pytest.param(grown("losses.append(loss)", cause="autograd_graph_retained"), id="a kept loss"),
    ],
)
def test_a_leak_of_ones_own_is_not_the_librarys(finding: Finding) -> None:
    assert with_known(finding, here()) == finding


def test_a_version_before_the_first_report_is_not_known() -> None:
    finding = grown("torch.jit.script(make(i))", stack=SCRIPTED)

    assert with_known(finding, here("1.7.0+cpu")).known is None


def test_every_entry_is_told_apart_by_more_than_its_cause() -> None:
    assert all(entry.owner or entry.source or entry.holder for entry in KNOWN)
    assert all(set(entry.causes) <= set(CAUSES) for entry in KNOWN)
    assert len({entry.id for entry in KNOWN}) == len(KNOWN) >= 10


def test_every_entry_has_a_report_to_read() -> None:
    assert all(link.startswith("https://github.com/") for entry in KNOWN for link in (entry.link, *entry.also))

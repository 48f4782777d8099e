"""Causes that only the holder tells: each rule asks what the suspect edge keeps, and names it in cause and cure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.diagnose import cut_orders, diagnose
from harness.model.allocation import Frame, SiteRecord
from harness.model.holding import Cut, GrownContainer, HeldRecord, HolderPath, Link, Trait
from harness.model.recording import Recording
from harness.model.report import Finding
from harness.model.series import Growth
from harness.model.verdict import Suspect, Verdict
from tests.report_builder import a_recording

ALLOCATED = Frame(path="train.py", line=12, function="step", source="x = torch.ones(64)")
KEPT = Frame(path="train.py", line=14, function="step", source="history.append(x)")


def growing(per_step: float, unit: str = "bytes") -> Growth:
    return Growth(per_step=per_step, low=per_step, high=per_step, unit=unit, trend="growing")


def a_link(text: str, *, trait: Trait = "", kind: str = "list") -> Link:
    """``history: list`` is a link called history; its cut is the attribute or key of that name."""
    name = text.partition(":")[0]
    cut = None if name.startswith("[*]") else Cut(kind="attribute", name=name)
    return Link(text=text, name=name, kind=kind, trait=trait, cut=cut)


def a_path(*links: Link, suspect: int | None = 0, **said: Any) -> HolderPath:
    said.setdefault("root", "module train")
    said.setdefault("root_kind", "module")
    said.setdefault("grew", (8, 408))
    return HolderPath(links=links, suspect=suspect, storages=4, bytes=1024, **said)


def a_container(path: HolderPath, **said: Any) -> GrownContainer:
    last = 0 if path.suspect is None else path.suspect
    own = msgspec.structs.replace(path, links=path.links[: last + 1])
    said.setdefault("grown_at", (KEPT,))
    said.setdefault("element_bytes", 256)
    return GrownContainer(path=own, size_then=8, size_now=408, steps=400, **said)


def a_tensor_suspect(*, in_graph: int = 0) -> Suspect:
    site = SiteRecord(
        site=1, device="cpu", operator="aten::ones", frames=(ALLOCATED,), steps=(0, 1, 2, 3), storages=(1, 2, 3, 4),
        bytes=(256, 512, 768, 1024), oldest_birth=(0, 0, 0, 0), in_graph=in_graph,
    )  # fmt: skip
    return Suspect(metric="leak.bytes", growth=growing(256), site=site, site_growth=growing(256))


def a_suspect(metric: str, per_step: float = 256.0) -> Suspect:
    unit = "count" if metric in ("threads", "fds", "children.count") else "bytes"
    return Suspect(metric=metric, growth=growing(per_step, unit))


def looked_at(held: HeldRecord) -> Recording:
    recording = a_recording()
    plain = recording.subjects[0]
    ledger = msgspec.structs.replace(plain, role="ledger", held=held)
    return msgspec.structs.replace(recording, subjects=(plain, ledger))


def a_verdict(*suspects: Suspect, **grows: float) -> Verdict:
    growth = {name.replace("_", ".", 1): growing(per_step) for name, per_step in grows.items()}
    return Verdict(outcome="leak", final=True, reasons=(), warmup_steps=8, growth=growth, suspects=suspects)


def found(suspect: Suspect, *, path: HolderPath | None = None, **said: Any) -> Finding:
    grows = {name: said.pop(name) for name in list(said) if name.startswith(("graph_", "heap_", "python_", "threads"))}
    if path is not None and path.grew is not None:
        said.setdefault("containers", (a_container(path),))
    sites: dict[int, tuple[HolderPath, ...]] = {1: (path,)} if path is not None and suspect.site is not None else {}
    held = HeldRecord(steps=400, objects=1000, sites=sites, **said)
    (finding,) = diagnose(looked_at(held), a_verdict(suspect, **grows))
    return finding


HISTORY = a_path(a_link("history: list"), a_link("[*]", trait="tensor", kind="torch.Tensor"))

BY_PATH: dict[str, tuple[HolderPath, str]] = {
    "tensors in a list": (HISTORY, "held_reference"),
    "exceptions in a list": (
        a_path(a_link("failures: list"), a_link("[*]: ValueError"), a_link("__traceback__", trait="traceback"),
               a_link("frame of run() at line 3, local batch")),
        "exception_traceback",
    ),
    "generators in a list": (
        a_path(a_link("open_streams: list"), a_link("[*]: generator", trait="generator"), a_link("local clip of f()")),
        "suspended_frame",
    ),
    "coroutines in a set": (
        a_path(a_link("waiting: set"), a_link("[*]: coroutine", trait="coroutine"), a_link("local x of f()")),
        "suspended_frame",
    ),
    "a list inside one generator": (
        a_path(a_link("stream: generator", trait="generator"), a_link("local kept: list"), a_link("[*]"), suspect=1),
        "held_reference",
    ),
    "hooks on a module": (
        a_path(a_link("model: Linear"), a_link("_forward_hooks: OrderedDict", trait="hooks"), a_link("[*]: function f"),
               a_link("closure cell noise of f"), suspect=1),
        "hook_accumulation",
    ),
    "an optimizer's groups": (
        a_path(a_link("opt: Adam", trait="optimizer"), a_link("param_groups: list", trait="optimizer"), a_link("[*]"),
               suspect=1),
        "optimizer_state_growth",
    ),
    "a module's children": (
        a_path(a_link("model: Model"), a_link("adapters: ModuleDict"), a_link("_modules: dict", trait="module_table"),
               a_link("[*]: Linear"), suspect=2),
        "module_growth",
    ),
    "models in a list": (
        a_path(a_link("pool: list"), a_link("[*]: Linear"), a_link("weight", trait="tensor")),
        "held_reference",
    ),
    "a graph behind a name": (
        a_path(a_link("hidden", trait="tensor"), a_link("grad_fn: AddBackward0", trait="node"),
               a_link("MulBackward0.saved self", trait="node"), grew=None),
        "autograd_graph_retained",
    ),
    "small views": (msgspec.structs.replace(HISTORY, visible_bytes=64), "view_keeps_storage"),
    "views of most of it": (msgspec.structs.replace(HISTORY, visible_bytes=900), "held_reference"),
    "nothing that accounts for it": (
        a_path(a_link("Tensor", trait="tensor", kind="torch.Tensor"), root="a reference that nothing accounts for",
               root_kind="surplus", grew=None),
        "lost_reference",
    ),
    "a cache": (
        a_path(a_link("f: _lru_cache_wrapper", trait="cache"), a_link("lru_cache of f: dict", trait="cache"),
               a_link("[*]"), suspect=1),
        "held_reference",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "cause"), BY_PATH.values(), ids=BY_PATH.keys())
def test_the_cause_is_what_the_suspect_edge_keeps(path: HolderPath, cause: str) -> None:
    finding = found(a_tensor_suspect(), path=path)

    assert finding.cause == cause
    assert finding.held_by is not None
    assert finding.held_by.text == path.text


def test_a_finding_names_its_holder_its_line_and_both_in_the_fix() -> None:
    finding = found(a_tensor_suspect(), path=HISTORY)

    assert finding.explanation == (
        "history keeps the tensors allocated at line 12 in step (it went from 8 to 408 elements, at line 14 "
        "`history.append(x)`)"
    )
    assert finding.fix.startswith("Empty history when its elements are used up (line 14)")
    assert finding.retained_at == (KEPT,)
    assert finding.held_by is not None
    assert finding.held_by.suspect == "history"


def test_tensors_that_autograd_made_are_a_graph_also_where_a_list_keeps_them() -> None:
    finding = found(a_tensor_suspect(in_graph=4), path=HISTORY)

    assert finding.cause == "autograd_graph_retained"
    assert finding.fix.startswith("At line 14, keep loss.item() for a total")


def test_a_hook_that_holds_its_own_tensor_is_told_as_the_cycle_that_it_is() -> None:
    cycle = a_path(
        a_link("function hook"), a_link("closure cell y of step.<locals>.hook"), a_link("y", trait="tensor"),
        root="a cycle that no collection frees", root_kind="cycle", grew=None,
    )  # fmt: skip

    finding = found(a_tensor_suspect(in_graph=4), path=cycle)

    assert finding.cause == "hook_accumulation"
    assert "closure cell y" in finding.explanation


def test_compiled_functions_that_pile_up_are_told_by_the_compilers_own_count() -> None:
    finding = found(
        a_suspect("heap.used"),
        registries={"TorchScript functions": (8, 408)},
        bound_at={"TorchScript functions": (KEPT,)},
    )

    assert finding.cause == "compile_cache_growth"
    assert finding.explanation.startswith("1 new TorchScript functions a step at line 14 in step")


def test_traced_graphs_that_the_program_keeps_are_its_own() -> None:
    graphs = a_path(a_link("graphs: list"))
    container = a_container(graphs, element="torch.fx.graph_module.GraphModule")

    finding = found(
        a_suspect("python.bytes"), containers=(container,), registries={"dynamo graphs": (8, 408)}, python_bytes=256.0
    )

    assert finding.cause == "python_objects"
    assert finding.explanation.startswith("graphs went from 8 to 408")


def test_a_growing_list_of_objects_is_named_with_its_line() -> None:
    container = a_container(a_path(a_link("writer: Writer"), a_link("tags: dict"), suspect=1), element="dict")

    finding = found(a_suspect("python.bytes"), containers=(container,), python_bytes=256.0)

    assert finding.cause == "python_objects"
    assert finding.explanation == (
        "writer.tags went from 8 to 408 elements of type dict, at line 14 `history.append(x)`: 1 a step"
    )


def test_a_list_of_files_is_named_as_their_holder() -> None:
    finding = found(a_suspect("fds", 1.0), containers=(a_container(a_path(a_link("archives: dict"))),))

    assert finding.cause == "fd_growth"
    assert finding.held_by is not None
    assert finding.held_by.suspect == "archives"


def test_tensors_on_foreign_memory_that_outgrows_them_are_views_of_it() -> None:
    container = a_container(
        a_path(a_link("headers: list")), element="torch.Tensor", element_bytes=64, element_tensors=1
    )

    finding = found(a_suspect("heap.used", 1_000_000.0), containers=(container,), heap_used=1_000_000.0)

    assert finding.cause == "view_keeps_storage"


def test_nodes_that_grow_are_told_by_what_their_graph_hangs_on() -> None:
    graph = a_path(a_link("running_loss", trait="tensor"), a_link("grad_fn: 4,798 nodes", trait="node"), grew=None)

    finding = found(
        a_suspect("heap.used"), graphs=(graph,), bound_at={"running_loss": (KEPT,)}, graph_nodes=12.0, heap_used=256.0
    )

    assert finding.cause == "autograd_graph_retained"
    assert finding.retained_at == (KEPT,)
    assert "12 autograd nodes a step stay alive: running_loss" in finding.explanation


def test_a_profiler_that_is_running_is_named_for_native_growth() -> None:
    finding = found(
        a_suspect("heap.used"), profilers=(a_path(a_link("prof"), grew=None),), registries={"running profilers": (1, 1)}
    )

    assert finding.cause == "native_heap"
    assert "the profiler prof is running" in finding.explanation


def test_what_a_thread_local_keeps_for_each_new_thread_belongs_to_the_threads() -> None:
    of_each = a_path(
        a_link("LOCAL: _local", kind="_local"), a_link("(_local): dict", kind="dict"), a_link("[*]"), suspect=1
    )  # fmt: skip
    verdict = a_verdict(a_suspect("threads", 2.0), a_tensor_suspect(), threads=2.0)
    containers = (a_container(of_each, element="dict"),)
    held = HeldRecord(steps=400, objects=1000, sites={1: (of_each,)}, containers=containers)

    (finding,) = diagnose(looked_at(held), verdict)

    assert finding.cause == "thread_growth"
    assert finding.tensor_bytes_per_step == 256
    assert "keeps 128 B for each new thread, which no further call in the same thread adds to" in finding.explanation


def test_what_a_pools_thread_gains_with_each_call_is_held() -> None:
    of_one = a_path(
        a_link("LOCAL: _local", kind="_local"), a_link("(_local): dict", kind="dict"), a_link("[*]", kind="dict"),
        a_link("spaces: dict", kind="dict"), suspect=3,
    )  # fmt: skip
    held = HeldRecord(steps=400, objects=1000, sites={1: (of_one,)}, containers=(a_container(of_one),))

    (finding,) = diagnose(looked_at(held), a_verdict(a_tensor_suspect(), threads=2.0))

    assert finding.cause == "held_reference"


def test_threads_that_wait_are_one_finding_with_what_their_frames_hold() -> None:
    path = a_path(
        a_link("local batch", trait="tensor"), root="thread 'Thread-* (work)': work() at line 9", root_kind="local",
        suspect=None, grew=None,
    )  # fmt: skip
    held = HeldRecord(steps=400, objects=1000, sites={1: (path,)})
    verdict = a_verdict(a_suspect("threads", 1.0), a_tensor_suspect(), threads=1.0)

    (finding,) = diagnose(looked_at(held), verdict)

    assert finding.cause == "thread_growth"
    assert finding.allocated_at == (ALLOCATED,)
    assert "they wait in thread 'Thread-* (work)'" in finding.explanation


def test_two_sites_that_one_list_keeps_are_one_finding() -> None:
    one = a_tensor_suspect()
    assert one.site is not None
    two = msgspec.structs.replace(one, site=msgspec.structs.replace(one.site, site=2, frames=(KEPT,)))
    held = HeldRecord(steps=400, objects=1000, sites={1: (HISTORY,), 2: (HISTORY,)}, containers=(a_container(HISTORY),))

    (finding,) = diagnose(looked_at(held), a_verdict(one, two))

    assert finding.tensor_bytes_per_step == 512


def test_the_fingerprint_is_that_of_the_suspect_whatever_line_allocates() -> None:
    one = a_tensor_suspect()
    assert one.site is not None
    moved = msgspec.structs.replace(ALLOCATED, line=90, function="other", source="y = torch.zeros(64)")
    two = msgspec.structs.replace(one, site=msgspec.structs.replace(one.site, frames=(moved,)))

    assert found(one, path=HISTORY).fingerprint == found(two, path=HISTORY).fingerprint


def test_a_container_that_can_be_found_again_can_be_cut() -> None:
    held = HeldRecord(steps=400, objects=1000, sites={1: (HISTORY,)}, containers=(a_container(HISTORY),))

    (order,) = cut_orders(looked_at(held), a_verdict(a_tensor_suspect()))

    assert (order.module, [step.name for step in order.way], order.is_binding) == ("train", ["history"], False)


@pytest.mark.parametrize("root_kind", ["local", "thread", "library", "native", "cycle", "surplus"])
def test_what_another_process_cannot_find_is_not_cut(root_kind: str) -> None:
    path = msgspec.structs.replace(HISTORY, root_kind=root_kind)
    held = HeldRecord(steps=400, objects=1000, sites={1: (path,)})

    assert cut_orders(looked_at(held), a_verdict(a_tensor_suspect())) == ()

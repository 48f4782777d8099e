"""Growth that libraries are known for: a table. Such growth is reported as the library's, and never hidden.

An entry matches strictly. That torch is on the stack says nothing: the innermost function that has a name, allocators
left out, must be the library's own (``owner``); ``source`` must be in the user's line that entered it, ``holder`` in
the path of references. All that an entry gives must match. ``since`` is the oldest version that a report names,
``until`` the first without the growth; None where no report says.
"""

from __future__ import annotations

import re

import msgspec

from harness.diagnose.native import caller_of
from harness.model.environment import Environment
from harness.model.report import Finding

__all__ = ["KNOWN", "KnownGrowth", "with_known"]

_NATIVE = ("native_heap", "compile_cache_growth", "lost_reference")


class KnownGrowth(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: what it is, where it is reported, and how it is recognised. Patterns are regular expressions."""

    id: str
    title: str
    link: str
    also: tuple[str, ...] = ()
    remedy: str
    package: str = "torch"
    since: str | None = None
    until: str | None = None
    causes: tuple[str, ...] = _NATIVE
    owner: str | None = None
    source: str | None = None
    holder: str | None = None


_PYTORCH = "https://github.com/pytorch/pytorch/issues/"

KNOWN: tuple[KnownGrowth, ...] = (
    KnownGrowth(
        id="torch-onnx-export",
        title="torch.onnx.export leaves memory behind at each export of a traced or scripted model",
        link=f"{_PYTORCH}82532",
        also=(f"{_PYTORCH}130115", f"{_PYTORCH}86518"),
        remedy="Export in a process of its own.",
        since="1.10",
        owner=r"torch::(jit|onnx)::",
        source=r"\bonnx\.export\(",
    ),
    KnownGrowth(
        id="torch-jit-compilation-unit",
        title="what torch.jit.script and torch.jit.trace compile stays in a global compilation unit",
        link=f"{_PYTORCH}35600",
        also=(f"{_PYTORCH}96726", f"{_PYTORCH}43119", f"{_PYTORCH}86537"),
        remedy="Script or trace once, outside the step.",
        since="1.8.1",
        owner=r"torch::jit::",
        source=r"\bjit\.(script|trace|trace_module|freeze)\(",
    ),
    KnownGrowth(
        id="onednn-primitive-cache",
        title="oneDNN keeps a compiled primitive for each input shape, up to 1024",
        link=f"{_PYTORCH}27971",
        also=(f"{_PYTORCH}32037", f"{_PYTORCH}29893", f"{_PYTORCH}98688"),
        remedy="Make shapes repeat, or set ONEDNN_PRIMITIVE_CACHE_CAPACITY and LRU_CACHE_CAPACITY.",
        since="1.2",
        owner=r"(dnnl|ideep|mkldnn)::",
    ),
    KnownGrowth(
        id="cudnn-v8-plan-cache",
        title="cuDNN's execution plans are kept for each shape and thread, up to 10000",
        link=f"{_PYTORCH}104701",
        also=(f"{_PYTORCH}98688", f"{_PYTORCH}101921", f"{_PYTORCH}108334"),
        remedy="Make shapes repeat, or set TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT.",
        since="2.0",
        owner=r"(cudnn_frontend::|cudnn[A-Z_]|cudnn::)",
    ),
    KnownGrowth(
        id="cublas-workspace",
        title="cuBLAS workspaces are kept for each handle and stream",
        link=f"{_PYTORCH}95668",
        also=(f"{_PYTORCH}184084",),
        remedy="torch._C._cuda_clearCublasWorkspaces() frees them.",
        since="2.0",
        owner=r"(at::cuda::(getCurrentCUDABlasHandle|getCUDABlasLtWorkspace|getNewWorkspace)|cublas[A-Z])",
    ),
    KnownGrowth(
        id="cufft-plan-cache",
        title="cuFFT plans are kept for each size, up to 4096",
        link=f"{_PYTORCH}94893",
        remedy="Set torch.backends.cuda.cufft_plan_cache.max_size, or clear() it.",
        owner=r"(at::native::detail::CuFFT|cufft[A-Z])",
    ),
    KnownGrowth(
        id="libgomp-thread-churn",
        title="libgomp ends and starts threads where the number of OpenMP threads changes, and loses memory each time",
        link=f"{_PYTORCH}41486",
        also=(f"{_PYTORCH}32008", "https://github.com/pytorch/pytorch/pull/52815"),
        remedy="torch.set_num_threads(1), or OMP_NUM_THREADS=1.",
        since="1.4",
        owner=r"(gomp_|GOMP_)",
    ),
    KnownGrowth(
        id="torch-compile-call",
        title="calls of a compiled function leave objects behind",
        link=f"{_PYTORCH}174468",
        also=(f"{_PYTORCH}149834",),
        remedy="Call torch.compiler.reset() from time to time.",
        since="2.6",
        causes=("compile_cache_growth", "python_objects", "held_reference"),
        holder=r"^(module )?torch\._(dynamo|inductor|functorch)\b",
        source=r"\btorch\.compile\(",
    ),
    KnownGrowth(
        id="fx-data-parallel",
        title="replicas of a torch.fx.GraphModule under DataParallel are not let go",
        link=f"{_PYTORCH}70892",
        remedy="Use DistributedDataParallel, or do not trace the module.",
        causes=("held_reference", "python_objects", "compile_cache_growth"),
        holder=r"^(module )?torch\.fx\.graph_module\b",
        source=r"\b(DataParallel|data_parallel|replicate)\(",
    ),
    KnownGrowth(
        id="c10d-new-group",
        title="process groups made by new_group are not let go with their last reference",
        link=f"{_PYTORCH}40400",
        also=(f"{_PYTORCH}107298",),
        remedy="Make groups once, and end them with destroy_process_group(group).",
        owner=r"(c10d::|gloo::|nccl[A-Z])",
        source=r"\b(new_group|new_subgroups)\(",
    ),
    KnownGrowth(
        id="autograd-create-graph",
        title="backward(create_graph=True) makes a cycle of a parameter and its gradient that runs through C++",
        link=f"{_PYTORCH}7343",
        also=(f"{_PYTORCH}4661", f"{_PYTORCH}78622"),
        remedy="Use torch.autograd.grad, or set .grad to None afterwards.",
        causes=("autograd_graph_retained",),
        source=r"\.backward\(.*\bcreate_graph\s*=\s*True",
    ),
    KnownGrowth(
        id="autograd-profiler-cuda",
        title="the autograd profiler keeps memory after each use with use_cuda=True",
        link=f"{_PYTORCH}22597",
        also=(f"{_PYTORCH}193348",),
        remedy="Use torch.profiler, seldom, and call gc.collect() afterwards.",
        since="1.1",
        owner=r"(torch::autograd::profiler::|torch::profiler::|libkineto::)",
        source=r"\bprofile\(.*\buse_cuda\s*=\s*True",
    ),
)


def with_known(finding: Finding, environment: Environment) -> Finding:
    """*finding* with the entry that it matches, if any."""
    if finding.cause is None:
        return finding
    entry = next((e for e in KNOWN if _matches(e, finding) and _has_version(e, environment)), None)
    if entry is None:
        return finding
    known = {
        "id": entry.id,
        "title": entry.title,
        "versions": f"{entry.package} {entry.since or 'any'} to {entry.until or 'now'}",
        "link": entry.link,
    }
    if entry.also:
        known["also"] = ", ".join(entry.also)
    return msgspec.structs.replace(finding, known=known, fix=entry.remedy)


def _matches(entry: KnownGrowth, finding: Finding) -> bool:
    if finding.cause not in entry.causes:
        return False
    source = finding.allocated_at[0].source if finding.allocated_at else None
    holder = finding.held_by.text if finding.held_by is not None else None
    return (
        (entry.owner is None or re.match(entry.owner, caller_of(finding.native_stack) or "") is not None)
        and (entry.source is None or re.search(entry.source, source or "") is not None)
        and (entry.holder is None or re.search(entry.holder, holder or "") is not None)
    )


def _has_version(entry: KnownGrowth, environment: Environment) -> bool:
    if environment.torch is None:
        return False
    version = _numbers(environment.torch)
    return (entry.since is None or version >= _numbers(entry.since)) and (
        entry.until is None or version < _numbers(entry.until)
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])

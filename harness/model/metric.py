"""The table of everything that is measured: one name for JSON, baselines, exporters and the gate's grammar."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["METRICS", "Metric", "Unit", "metric"]

Unit = Literal["bytes", "count", "number", "ratio", "items/s"]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be read at a step boundary.

    ``exact`` readings carry no noise: the same program gives the same number. ``blind_to`` says in words
    what the number cannot see, so that a flat curve is never taken for more than it is.
    """

    name: str
    unit: Unit
    exact: bool
    title: str
    blind_to: str


def _m(name: str, unit: Unit, exact: bool, title: str, blind_to: str) -> Metric:
    return Metric(name=name, unit=unit, exact=exact, title=title, blind_to=blind_to)


METRICS: tuple[Metric, ...] = (
    _m("leak.bytes", "bytes", True, "live tensor storages", "memory that torch did not allocate"),
    _m("leak.tensors", "count", True, "live tensor storages (number)", "memory that torch did not allocate"),
    _m(
        "peak.tensors", "bytes", True, "highest live tensor bytes in a step", "buffers inside kernels (dispatch ledger)"
    ),
    _m(
        "allocations.step",
        "count",
        True,
        "tensor storages allocated in a step",
        "buffers inside kernels (dispatch ledger)",
    ),
    _m("graph.nodes", "count", True, "autograd nodes held", "nodes that no Python tensor leads to"),
    _m("rss.anon", "bytes", False, "resident anonymous pages", "allocated and never touched; freed and not returned"),
    _m("rss.file", "bytes", False, "resident file-backed pages", "anything that is not a mapped file"),
    _m("rss.shared", "bytes", False, "resident shared pages", "shared memory that this process has not touched"),
    _m("rss.unique", "bytes", False, "pages that only this process has (USS)", "shared pages"),
    _m("mapped.private", "bytes", False, "private writable address space", "whether the pages were ever touched"),
    _m("heap.used", "bytes", False, "C heap in use", "small Python objects (pymalloc); memory mapped directly"),
    _m("heap.free", "bytes", False, "C heap held free", "what other allocators hold"),
    _m("python.blocks", "count", False, "Python memory blocks in use", "sizes"),
    _m("python.bytes", "bytes", False, "small Python objects in use", "objects over 512 bytes (they are C heap)"),
    _m("python.garbage", "count", False, "objects that only the collector freed", "garbage that is frozen"),
    _m("fds", "count", True, "open file descriptors", "descriptors of children"),
    _m("threads", "count", True, "threads, Python and native", "whether they do anything"),
    _m("shm.bytes", "bytes", False, "shared-memory files", "which process made them: /dev/shm is the machine's"),
    _m("children.count", "count", True, "descendant processes", "processes that detached themselves"),
    _m(
        "children.bytes",
        "bytes",
        False,
        "memory that only the descendants have (USS)",
        "pages they share with the subject",
    ),
    _m(
        "children.resident",
        "bytes",
        False,
        "resident anonymous pages of the descendants",
        "which of them are only theirs",
    ),
    _m("device.allocated", "bytes", True, "device bytes in tensors", "device memory outside torch"),
    _m("device.reserved", "bytes", True, "device bytes held by torch's cache", "device memory outside torch"),
    _m("device.outside", "bytes", False, "device bytes outside torch's cache", "which process took them"),
    _m("gradient.norm", "number", True, "norm of all gradients together", "parameters whose gradient is None"),
    _m("throughput.items", "items/s", False, "items a second", "the time that our own readings take (left out)"),
    _m("throughput.ratio", "ratio", False, "fixed_step against step, items a second", "machines other than this one"),
)

_BY_NAME = {m.name: m for m in METRICS}


def metric(name: str) -> Metric:
    """The table's entry for *name*; ``KeyError`` names the unknown one."""
    return _BY_NAME[name]

"""Where the growth of resident memory went: part by part, with what nobody accounts for.

Private memory without a file is where the allocators live. What they have (the heap's blocks in use and free, its large
blocks, Python's arenas) is known by their own figures, and what is mapped and what of it is resident by the kernel's.
So two things are measured apart: **unexplained** is what is mapped beyond all that the allocators say they have, as far
as it became resident; **untouched** is what they have and no page stands behind.
"""

from __future__ import annotations

from harness.model.memory_map import MemoryMap, MemoryReading
from harness.model.recording import Recording, SubjectRecord
from harness.model.report import Conservation
from harness.model.series import Series

__all__ = ["account_for"]


def account_for(recording: Recording) -> Conservation | None:
    """The account of the plain subject, from the end of its warm-up to its last step; None where it was not read."""
    plain = recording.subject("plain")
    if plain is None or plain.memory_map is None:
        return None
    memory, ledger = plain.memory_map, recording.subject("ledger")
    first, last = memory.first, memory.last
    tensors = _tensor_growth(ledger, first.step, last.step) if ledger is not None else 0
    objects = _grown(memory, "python_in_use_bytes")
    unexplained = _unexplained(memory)
    known = _known(last) - _known(first)
    return Conservation(
        rss_growth_bytes=last.resident_bytes - first.resident_bytes,
        parts={
            "tensors": tensors,
            "python_objects": objects,
            "native_heap": _grown(memory, "heap_in_use_bytes") + _grown(memory, "heap_large_blocks_bytes") - tensors,
            "allocator_free": _grown(memory, "heap_free_bytes") + _grown(memory, "python_arenas_bytes") - objects,
            "mapped": _grown(memory, "file_resident_bytes"),
            "shared": _grown(memory, "shared_resident_bytes"),
            "thread_stacks": _grown(memory, "stacks_resident_bytes") + _grown(memory, "python_stacks_bytes"),
            "untouched": _grown(memory, "anonymous_resident_bytes") - known - unexplained,
        },
        unexplained_bytes=unexplained,
        children_bytes=round(_rise(plain.find("children.bytes"), first.step, last.step)),
        devices=_devices(plain, ledger, first.step, last.step),
    )


def _known(reading: MemoryReading) -> int:
    """All that the allocators say they have, in use or free."""
    return (
        reading.heap_in_use_bytes
        + reading.heap_free_bytes
        + reading.heap_large_blocks_bytes
        + reading.python_arenas_bytes
        + reading.python_stacks_bytes
    )


def _unexplained(memory: MemoryMap) -> int:
    """Mapped beyond what the allocators know of, as far as it can have become (or ceased to be) resident."""
    mapped, resident = _grown(memory, "anonymous_mapped_bytes"), _grown(memory, "anonymous_resident_bytes")
    unknown = mapped - (_known(memory.last) - _known(memory.first))
    absent = mapped - resident
    if unknown > 0 and absent > 0:
        return min(unknown, max(resident, 0))
    if unknown < 0 and absent < 0:
        return max(unknown, min(resident, 0))
    return unknown


def _grown(memory: MemoryMap, field: str) -> int:
    grown: int = getattr(memory.last, field) - getattr(memory.first, field)
    return grown


def _tensor_growth(ledger: SubjectRecord, start: int, end: int) -> int:
    """Tensors on the CPU, as the ledger's subject had them in the same steps: the same program with the same seed."""
    live = ledger.find("leak.bytes")
    elsewhere = [site for site in ledger.ledger.sites if site.device != "cpu"] if ledger.ledger is not None else []
    growth = _rise(live, start, end)
    for site in elsewhere:
        growth -= _rise(Series(metric="", steps=site.steps, values=site.bytes), start, end)
    return round(growth)


def _rise(series: Series | None, start: int, end: int) -> float:
    """How much *series* rose between two steps. Where it ends before, what it shows is taken to have gone on evenly."""
    kept = series.since(start) if series is not None else None
    if kept is None or len(kept.steps) < 2:
        return 0.0
    if kept.steps[-1] <= end:
        seen, wanted = kept.steps[-1] - kept.steps[0], end - start
        return (kept.values[-1] - kept.values[0]) * (wanted / seen)
    return _at(kept, end) - kept.values[0]


def _at(series: Series, step: int) -> float:
    """The value at *step*, on the straight line between the readings around it."""
    after = next(k for k, s in enumerate(series.steps) if s >= step)
    if series.steps[after] == step or after == 0:
        return series.values[after]
    left, right = series.steps[after - 1], series.steps[after]
    share = (step - left) / (right - left)
    return series.values[after - 1] + share * (series.values[after] - series.values[after - 1])


def _devices(plain: SubjectRecord, ledger: SubjectRecord | None, start: int, end: int) -> dict[str, dict[str, int]]:
    """The accelerator's part, summed over its devices as it was read; empty where there is none."""
    if plain.find("device.reserved") is None:
        return {}
    allocated, reserved, outside = (
        round(_rise(plain.find(f"device.{what}"), start, end)) for what in ("allocated", "reserved", "outside")
    )
    sites = ledger.ledger.sites if ledger is not None and ledger.ledger is not None else ()
    name = next((s.device.partition(":")[0] for s in sites if s.device not in ("cpu", "meta")), "accelerator")
    return {name: {"allocated": allocated, "cached": reserved - allocated, "outside": outside}}

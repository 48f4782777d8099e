"""The account of resident memory: every part measured, what nobody accounts for left over."""

from __future__ import annotations

import msgspec

from harness.diagnose.conservation import account_for
from harness.model.memory_map import MemoryMap, MemoryReading
from harness.model.recording import Recording
from harness.model.report import Conservation
from tests.builders import MIB, ledger, line, recording, site, subject

BEFORE = MemoryReading(
    step=7,
    anonymous_mapped_bytes=200 * MIB,
    anonymous_resident_bytes=150 * MIB,
    file_mapped_bytes=400 * MIB,
    file_resident_bytes=20 * MIB,
    shared_mapped_bytes=0,
    shared_resident_bytes=0,
    stacks_mapped_bytes=8 * MIB,
    stacks_resident_bytes=MIB,
    heap_in_use_bytes=80 * MIB,
    heap_free_bytes=10 * MIB,
    heap_large_blocks_bytes=30 * MIB,
    python_arenas_bytes=50 * MIB,
    python_in_use_bytes=45 * MIB,
    threads=1,
)


def after(**grown_mib: int) -> MemoryMap:
    """``BEFORE``, and 100 steps later the same with these fields larger by so many MiB."""
    changed = {f"{name}_bytes": getattr(BEFORE, f"{name}_bytes") + mib * MIB for name, mib in grown_mib.items()}
    return MemoryMap(first=BEFORE, last=msgspec.structs.replace(BEFORE, step=107, **changed))


def told(memory_map: MemoryMap, **series: list[float]) -> Recording:
    plain = subject(readings={"heap.used": line(108), **{k.replace("_", "."): v for k, v in series.items()}})
    return recording(msgspec.structs.replace(plain, memory_map=memory_map))


def with_tensors(memory_map: MemoryMap, per_step: float, *, steps: int = 108) -> Recording:
    followed = subject("ledger", {"leak.bytes": line(steps, per_step)}, ledger=ledger())
    return recording(*told(memory_map).subjects, followed)


def account(of: Recording) -> Conservation:
    found = account_for(of)
    assert found is not None
    assert sum(found.parts.values()) + found.unexplained_bytes == found.rss_growth_bytes
    return found


def parts_of(found: Conservation) -> dict[str, float]:
    return {name: size / MIB for name, size in found.parts.items() if size}


def test_tensors_are_not_native_heap_as_well() -> None:
    grown = after(heap_in_use=30, heap_large_blocks=20, anonymous_mapped=50, anonymous_resident=50)

    found = account(with_tensors(grown, 0.4 * MIB))

    assert parts_of(found) == {"tensors": 40, "native_heap": 10}
    assert found.unexplained_bytes == 0


def test_memory_that_nobody_accounts_for_is_unexplained() -> None:
    found = account(told(after(heap_in_use=10, anonymous_mapped=42, anonymous_resident=42)))

    assert parts_of(found) == {"native_heap": 10}
    assert found.unexplained_bytes == 32 * MIB


def test_address_space_that_nobody_touched_is_no_growth_at_all() -> None:
    found = account(told(after(anonymous_mapped=1024)))

    assert parts_of(found) == {}
    assert found.unexplained_bytes == 0


def test_blocks_that_were_never_touched_are_told_apart_from_those_that_were() -> None:
    grown = after(heap_large_blocks=458, anonymous_mapped=458, anonymous_resident=2)

    found = account(with_tensors(grown, 4.5 * MIB))

    assert parts_of(found) == {"tensors": 450, "native_heap": 8, "untouched": -456}


def test_what_was_mapped_by_nobody_and_is_gone_is_unexplained_too() -> None:
    found = account(told(after(heap_in_use=10, anonymous_mapped=-20, anonymous_resident=-20)))

    assert found.unexplained_bytes == -30 * MIB


def test_memory_that_is_freed_and_kept_is_the_allocators() -> None:
    grown = after(
        heap_in_use=-5, heap_free=25, python_arenas=8, python_in_use=3, anonymous_mapped=28, anonymous_resident=28
    )

    found = account(told(grown))

    assert parts_of(found) == {"native_heap": -5, "python_objects": 3, "allocator_free": 30}


def test_files_shared_memory_and_stacks_are_parts_of_their_own() -> None:
    found = account(told(after(file_resident=7, shared_resident=5, stacks_resident=3, stacks_mapped=80)))

    assert parts_of(found) == {"mapped": 7, "shared": 5, "thread_stacks": 3}


def test_the_interpreters_own_stacks_are_thread_stacks() -> None:
    found = account(told(after(python_stacks=2, anonymous_mapped=2, anonymous_resident=1)))

    assert parts_of(found) == {"thread_stacks": 2, "untouched": -1}


def test_a_ledger_that_followed_half_of_the_steps_is_taken_to_go_on_evenly() -> None:
    grown = after(heap_in_use=50, anonymous_mapped=50, anonymous_resident=50)

    found = account(with_tensors(grown, 0.4 * MIB, steps=58))

    assert parts_of(found) == {"tensors": 40, "native_heap": 10}


def test_a_ledger_that_followed_more_steps_counts_for_the_same_ones() -> None:
    found = account(
        with_tensors(after(heap_in_use=50, anonymous_mapped=50, anonymous_resident=50), 0.4 * MIB, steps=300)
    )

    assert found.parts["tensors"] == 40 * MIB


def test_tensors_on_a_device_are_no_resident_memory() -> None:
    on_device = msgspec.structs.replace(site(line(108, MIB, start=0)), device="cuda:0")
    followed = subject("ledger", {"leak.bytes": line(108, 1.5 * MIB)}, ledger=ledger(on_device))
    grown = after(heap_in_use=60, anonymous_mapped=60, anonymous_resident=60)

    found = account(recording(*told(grown).subjects, followed))

    assert parts_of(found) == {"tensors": 50, "native_heap": 10}


def test_device_memory_stands_beside_the_sum() -> None:
    readings = {
        "device_allocated": line(108, 2048),
        "device_reserved": line(108, 4096),
        "device_outside": line(108, 0),
    }

    found = account(told(after(), **readings))

    assert found.devices == {"accelerator": {"allocated": 204800, "cached": 204800, "outside": 0}}


def test_children_stand_beside_the_sum() -> None:
    assert account(told(after(), children_bytes=line(108, 100))).children_bytes == 10_000


def test_without_both_readings_there_is_no_account() -> None:
    assert account_for(recording(subject(readings={"heap.used": line(50)}))) is None

"""The kernel's list of mappings, by kind."""

from __future__ import annotations

import ctypes
import mmap
import sys

import pytest

from harness.instruments.mappings import Mappings, sum_up

MIB = 1 << 20
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def mapping(start: int, size: int, rss: int, *, rights: str = "rw-p", name: str = "") -> bytes:
    """One entry of smaps(5), as the kernel writes it, *rss* in bytes."""
    head = f"{start:x}-{start + size:x} {rights} 00000000 00:00 0 {name and f'                 {name}'}\n"
    return f"{head}Size: {size // 1024:>15} kB\nRss: {rss // 1024:>15} kB\nVmFlags: rd wr mr mw me ac sd\n".encode()


def of(*entries: bytes, resident: int = 0) -> dict[str, int]:
    sizes = sum_up(b"".join(entries), stack_bytes=8 * MIB, resident=lambda start, end: resident)
    return {name.removesuffix("_bytes"): size for name, size in sizes.items() if size}


def test_the_heap_and_memory_without_a_name_are_anonymous() -> None:
    told = of(mapping(MIB, 2 * MIB, MIB, name="[heap]"), mapping(64 * MIB, MIB, 4096))

    assert told == {"anonymous_mapped": 3 * MIB, "anonymous_resident": MIB + 4096}


def test_files_and_shared_memory_are_told_apart() -> None:
    told = of(
        mapping(MIB, MIB, 8192, rights="r-xp", name="/usr/lib/libc.so.6"),
        mapping(4 * MIB, MIB, MIB, rights="rw-s", name="/dev/shm/torch_1_2 (deleted)"),
        mapping(8 * MIB, MIB, 4096, rights="rw-s", name="/dev/zero (deleted)"),
        mapping(16 * MIB, MIB, 4096, rights="rw-s", name="/memfd:x (deleted)"),
    )

    assert told == {
        "file_mapped": MIB,
        "file_resident": 8192,
        "shared_mapped": 3 * MIB,
        "shared_resident": MIB + 8192,
    }


def test_reserved_address_space_counts_for_nothing() -> None:
    assert of(mapping(MIB, 64 * MIB, 0, rights="---p")) == {}


def test_what_lies_above_a_guard_is_a_threads_stack() -> None:
    told = of(mapping(MIB, 4096, 0, rights="---p"), mapping(MIB + 4096, 8 * MIB, 12288))

    assert told == {"stacks_mapped": 8 * MIB, "stacks_resident": 12288}


def test_what_the_kernel_merged_with_a_stack_is_none() -> None:
    told = of(mapping(MIB, 4096, 0, rights="---p"), mapping(MIB + 4096, 11 * MIB, 3 * MIB + 8192), resident=8192)

    assert told == {
        "stacks_mapped": 8 * MIB,
        "stacks_resident": 8192,
        "anonymous_mapped": 3 * MIB,
        "anonymous_resident": 3 * MIB,
    }


def test_a_text_that_was_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        of(mapping(MIB, MIB, 0), mapping(4 * MIB, MIB, 0).partition(b"Size")[0])


def test_a_mapping_that_is_touched_becomes_resident_and_belongs_to_no_allocator() -> None:
    mappings = Mappings()
    reason = mappings.absence()
    if reason is not None:
        pytest.skip(reason)
    mappings.read(0)
    before = mappings.read(0)

    held = mmap.mmap(-1, 32 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapped = mappings.read(1)
    held.write(b"x" * len(held))
    touched = mappings.read(2)

    assert mapped.anonymous_mapped_bytes - before.anonymous_mapped_bytes == pytest.approx(32 * MIB, abs=MIB)
    assert mapped.anonymous_resident_bytes - before.anonymous_resident_bytes < MIB
    assert touched.anonymous_resident_bytes - mapped.anonymous_resident_bytes == pytest.approx(32 * MIB, abs=MIB)
    assert touched.heap_large_blocks_bytes - before.heap_large_blocks_bytes < MIB


def test_a_large_block_is_the_heaps_before_it_is_touched() -> None:
    mappings = Mappings()
    reason = mappings.absence()
    if reason is not None:
        pytest.skip(reason)
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    before = mappings.read(0)

    block = libc.malloc(ctypes.c_size_t(256 * MIB))
    after = mappings.read(1)
    libc.free(ctypes.c_void_p(block))

    assert after.heap_large_blocks_bytes - before.heap_large_blocks_bytes == pytest.approx(256 * MIB, abs=MIB)
    assert after.resident_bytes - before.resident_bytes < 8 * MIB

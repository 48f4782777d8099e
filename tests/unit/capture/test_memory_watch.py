"""The subject's two looks at its mappings, and the trim behind the last."""

from __future__ import annotations

import ctypes
import sys

import pytest

from harness.capture import wire
from harness.capture.gathering import Gathering
from harness.capture.memory_watch import MemoryWatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def a_watch() -> MemoryWatch:
    watch = MemoryWatch.where_possible()
    if watch is None:
        pytest.skip("the allocators do not tell what they hold here")
    return watch


def test_both_readings_carry_their_steps_and_reach_the_record() -> None:
    watch = a_watch()
    watch.begin(7)

    memory_map = watch.finish(99)

    assert memory_map is not None
    assert (memory_map.first.step, memory_map.last.step) == (7, 99)
    gathering = Gathering(role="plain", warmup=8)
    gathering.take(wire.Mapped(memory_map=memory_map))
    assert gathering.record().memory_map == memory_map


def test_without_a_beginning_there_is_nothing_to_tell() -> None:
    assert a_watch().finish(3) is None


def test_a_trim_is_tried_only_where_memory_is_kept() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    libc.malloc_trim(0)  # what earlier tests have left free would be used again, and nothing would grow
    quiet, watch = a_watch(), a_watch()
    quiet.begin(0)
    quiet.finish(1)

    blocks = [libc.malloc(60_000) for _ in range(500)]
    for block in blocks:
        ctypes.memset(block, 1, 60_000)
    pin = libc.malloc(60_000)  # keeps the top of the heap from falling back by itself
    for block in blocks:
        libc.free(block)
    watch.finish(1)
    libc.free(pin)

    assert quiet.trimmed_bytes is None
    assert watch.trimmed_bytes is not None
    assert watch.trimmed_bytes > 10_000_000

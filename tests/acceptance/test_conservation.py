"""Where resident memory went, in real processes; the bound is that of ``tests.quality.conservation``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.model.report import Conservation
from tests.quality.conservation import within_bound

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the mappings in /proc")

MIB = 1 << 20

NEVER_TOUCHED = """
import torch

torch.set_num_threads(1)
kept = []

def step(i):
    kept.append(torch.empty(300_000))
"""

MAPPED_BY_NOBODY = """
import mmap

kept = []

def step(i):
    kept.append(mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    kept[-1].write(b"x" * 65536)
"""

THREADS = """
import threading

ended = threading.Event()

def step(i):
    threading.Thread(target=ended.wait, daemon=True).start()
"""

FREED_AND_KEPT = """
import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
pins = []

def step(i):
    if i != 20:
        return
    blocks = [libc.malloc(60_000) for _ in range(200)]
    for block in blocks:
        ctypes.memset(block, 1, 60_000)
    pins.append(libc.malloc(60_000))
    for block in blocks:
        libc.free(block)
"""


OPTIONS = ("--variant", "step", "--no-native", "--quiet", "--out", "out")


def run(folder: Path, source: str, *, steps: int) -> tuple[Conservation, dict[str, Any]]:
    """The account, and the subject that was counted as its recording has it."""
    (folder / "case.py").write_text(source, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "harness.cli.main", "run", "case.py", "--steps", str(steps), *OPTIONS],
        cwd=folder,
        capture_output=True,
        timeout=280,
        check=False,
    )
    (told,) = json.loads((folder / "out" / "report.json").read_bytes())["runs"]
    account = msgspec.convert(told["conservation"], Conservation)
    assert sum(account.parts.values()) + account.unexplained_bytes == account.rss_growth_bytes
    return account, told


def test_tensors_that_nobody_ever_touched_are_accounted_for(tmp_path: Path) -> None:
    account, _ = run(tmp_path, NEVER_TOUCHED, steps=100)

    assert account.parts["tensors"] == 100 * 1_200_000
    assert account.parts["untouched"] == pytest.approx(-100 * 1_200_000, rel=0.02)
    assert account.rss_growth_bytes < 4 * MIB
    assert within_bound(account)


@pytest.mark.slow
def test_memory_that_is_mapped_past_every_allocator_is_unexplained(tmp_path: Path) -> None:
    account, _ = run(tmp_path, MAPPED_BY_NOBODY, steps=100)

    assert account.unexplained_bytes == pytest.approx(100 * 65_536, abs=MIB / 2)
    assert not within_bound(account)


@pytest.mark.slow
def test_the_stacks_of_threads_are_a_part(tmp_path: Path) -> None:
    account, _ = run(tmp_path, THREADS, steps=100)

    assert account.parts["thread_stacks"] >= 100 * 4096
    assert within_bound(account)


def test_memory_that_was_freed_and_kept_is_the_allocators_and_a_trim_gives_it_back(tmp_path: Path) -> None:
    account, told = run(tmp_path, FREED_AND_KEPT, steps=100)

    (kept,) = (found for found in told["look_alikes"] if found["class"] == "allocator_retention")
    assert account.parts["allocator_free"] == pytest.approx(200 * 60_000, abs=2 * MIB)  # some was free before
    assert within_bound(account)
    assert re.search(r"a trim gave \d+\.\d MiB back", kept["evidence"])

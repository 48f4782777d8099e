"""The accelerator ledger reads what is there, keeps the figures apart, and never makes a device ready for use."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.errors import UsageError
from harness.ledger.accelerator import AcceleratorLedger, AcceleratorMemory, PinnedMemory, blocks_in
from harness.ledger.recorded_snapshot import read_snapshot
from harness.ledger.torch_backend import torch_backend

GIB = 2**30


class ScriptedBackend:
    """Stands in for torch.cuda. Before the program has used a device, every question but one is an error."""

    kind = "cuda"

    def __init__(self, *, initialized: bool = True, tells_device: bool = True) -> None:
        self.initialized = initialized
        self.tells_device = tells_device
        self.history: list[int | None] = []

    def is_initialized(self) -> bool:
        return self.initialized

    def device_count(self) -> int:
        assert self.initialized, "this would have initialised the device"
        return 2

    def statistics(self, index: int) -> Mapping[str, int]:
        assert self.initialized, "this would have initialised the device"
        return {
            "allocated_bytes.all.current": 100 + index,
            "allocated_bytes.all.peak": 900,
            "reserved_bytes.all.current": 2000,
            "inactive_split_bytes.all.current": 50,
        }

    def free_and_total(self, index: int) -> tuple[int, int] | None:
        assert self.initialized, "this would have initialised the device"
        return (10 * GIB - 5000, 10 * GIB) if self.tells_device else None

    def pinned_statistics(self) -> Mapping[str, int]:
        assert self.initialized, "this would have initialised the device"
        return {"active_bytes.current": 4096, "allocated_bytes.current": 8192}

    def keep_history(self, most_entries: int | None) -> None:
        assert self.initialized, "this would have initialised the device"
        self.history.append(most_entries)

    def snapshot(self) -> Mapping[str, Any] | None:
        assert self.initialized, "this would have initialised the device"
        return SNAPSHOT


FRAMES = [
    {"filename": torch.__file__, "line": 3, "name": "linear"},
    {"filename": "/project/train.py", "line": 12, "name": "step"},
    {"filename": "/project/main.py", "line": 40, "name": "<module>"},
    {"filename": "??", "line": 0, "name": "at::native::empty"},
]

SNAPSHOT: dict[str, Any] = {
    "segments": [
        {
            "device": 1,
            "address": 4096,
            "total_size": 2048,
            "blocks": [
                {"size": 512, "requested_size": 500, "state": "active_allocated", "frames": FRAMES},
                {"size": 512, "state": "inactive"},
                {"address": 5120, "size": 512, "state": "active_pending_free"},
                {"address": 5632, "size": 512, "state": "active_allocated", "history": [{"frames": FRAMES[1:2]}]},
            ],
        }
    ]
}


def test_a_device_that_the_program_has_not_used_is_left_alone() -> None:
    backend = ScriptedBackend(initialized=False)
    ledger = AcceleratorLedger(backend, keep_history=True)

    assert ledger.read() == ()
    assert ledger.blocks() == ()
    assert ledger.read_pinned() is None
    ledger.stop()
    assert backend.history == []


def test_allocated_reserved_inactive_and_the_whole_device_stay_apart() -> None:
    first, second = AcceleratorLedger(ScriptedBackend()).read()

    assert first == AcceleratorMemory(
        device="cuda:0",
        allocated_bytes=100,
        allocated_peak_bytes=900,
        reserved_bytes=2000,
        inactive_bytes=50,
        device_used_bytes=5000,
        device_total_bytes=10 * GIB,
    )
    assert first.outside_bytes == 3000
    assert second.device == "cuda:1"
    assert second.allocated_bytes == 101


def test_a_driver_that_does_not_tell_gives_none_and_not_nothing() -> None:
    first, _ = AcceleratorLedger(ScriptedBackend(tells_device=False)).read()

    assert first.device_used_bytes is None
    assert first.outside_bytes is None


def test_pinned_host_memory_is_counted_apart() -> None:
    assert AcceleratorLedger(ScriptedBackend()).read_pinned() == PinnedMemory(active_bytes=4096, held_bytes=8192)


def test_history_begins_when_the_program_uses_a_device_is_bounded_and_ends_with_the_ledger() -> None:
    backend = ScriptedBackend(initialized=False)
    ledger = AcceleratorLedger(backend, keep_history=True)
    ledger.read()
    backend.initialized = True
    ledger.read()
    ledger.read()
    ledger.stop()
    ledger.stop()

    assert backend.history == [100_000, None]


def test_only_allocated_blocks_are_told_with_the_users_frames() -> None:
    one, other = AcceleratorLedger(ScriptedBackend()).blocks()

    assert (one.device, one.address, one.bytes) == ("cuda:1", 4096, 500)
    assert [(frame.path, frame.line, frame.function) for frame in one.frames] == [
        ("/project/train.py", 12, "step"),
        ("/project/main.py", 40, "<module>"),
    ]
    assert (other.address, other.bytes) == (5632, 512)
    assert [frame.line for frame in other.frames] == [12]


def test_depth_counts_the_users_frames() -> None:
    (one, _) = blocks_in(SNAPSHOT, kind="cuda", depth=1)

    assert [frame.line for frame in one.frames] == [12]


@pytest.mark.parametrize("broken", [{}, {"segments": None}, {"segments": [{"blocks": [{}, 3]}, "x"]}])
def test_a_snapshot_with_parts_missing_has_no_blocks_and_is_no_error(broken: dict[str, Any]) -> None:
    assert blocks_in(broken, kind="cuda") == ()


@pytest.mark.parametrize("encode", [pickle.dumps, lambda snapshot: json.dumps(snapshot).encode()])
def test_a_recorded_snapshot_is_read_from_a_pickle_and_from_json(tmp_path: Path, encode: Any) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(encode(SNAPSHOT))

    assert blocks_in(read_snapshot(path), kind="cuda") == blocks_in(SNAPSHOT, kind="cuda")


class _Evil:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("evil",)


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [_Evil()]}))

    with pytest.raises(UsageError, match=r"would load posix\.mkdir"):
        read_snapshot(path)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("data", [b"", b"nonsense", b"{", b"[1]", pickle.dumps([1]), b"{}"])
def test_a_file_that_is_no_snapshot_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(data)

    with pytest.raises(UsageError, match="is no snapshot"):
        read_snapshot(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_snapshot(tmp_path / "nowhere")


def test_a_build_without_an_accelerator_has_no_backend_or_an_idle_one() -> None:
    backend = torch_backend()

    assert backend is None or AcceleratorLedger(backend).read() == () or backend.is_initialized()


@pytest.mark.gpu
def test_a_real_device_counts_a_tensor_to_the_block() -> None:
    backend = torch_backend()
    if backend is None or not torch.cuda.is_available():
        pytest.skip("no CUDA or ROCm device")
    torch.cuda.init()
    ledger = AcceleratorLedger(backend, keep_history=True)
    before = ledger.read()[0].allocated_bytes
    kept = torch.empty(1 << 20, device="cuda:0")

    assert ledger.read()[0].allocated_bytes - before == kept.numel() * 4
    assert [block.frames[0].path for block in ledger.blocks() if block.bytes == 4 << 20] == [__file__]
    ledger.stop()

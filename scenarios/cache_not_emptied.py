"""A16: the memory of the device is full, although the tensors on it are small: torch's cache has the rest.

Symptom: the driver shows ever more device memory in use. ``empty_cache()`` seems not to help, and a leak is suspected.

Why: *allocated* memory is in tensors; *reserved* is that and the cache's free blocks. Requests of ever new sizes fit
    none of them, and leave one more. ``empty_cache()`` gives free blocks back, and no live byte: ``setup`` asserts it.

How it shows: leak, cause device_cache_growth: reserved bytes grow and allocated bytes do not. (Where tensors are kept,
    allocated bytes grow.) Without a GPU, an allocator in place of ``torch.xpu`` counts as torch's does.

Fix: drop the reference, then empty the cache. Better: make shapes repeat, by padding, so that blocks fit again.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from harness import Scenario, leak

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="Requests of ever new sizes fill the device's cache",
    pitfall="Reserved is not allocated, and emptying the cache frees no live byte.",
    fix="Drop the reference, then empty the cache; or pad, so that shapes repeat and blocks fit.",
    tags=("memory", "device"),
    expect=leak("device_cache_growth"),
)


class CountingDevice:
    def __init__(self) -> None:  # a block stays when its tensor has died, and serves a request that is not larger
        self.__dict__.update({**vars(torch.xpu), "empty_cache": self.empty_cache})
        self.blocks: list[tuple[int, weakref.ref[torch.Tensor]]] = []
        self.is_available = self.is_initialized = self.device_count = lambda: 1
        self.memory_reserved: Any = lambda device=0: sum(size for size, _ in self.blocks)
        self.memory_allocated = lambda device=0: sum(size for size, tensor in self.blocks if tensor() is not None)
        self.mem_get_info = lambda device: (2**36 - self.memory_reserved(), 2**36)

    def empty_cache(self) -> None:
        self.blocks = [(size, tensor) for size, tensor in self.blocks if tensor() is not None]

    def empty(self, size: int) -> torch.Tensor:
        made = torch.empty(size, dtype=torch.uint8, device="meta")
        fitting = [block for block in self.blocks if block[1]() is None and block[0] >= size]
        self.blocks = [block for block in self.blocks if block not in fitting[:1]]
        self.blocks.append((fitting[0][0] if fitting else size, weakref.ref(made)))
        return made


DEVICE: Any = torch.cuda if torch.cuda.is_available() else CountingDevice()
torch.xpu = torch.xpu if DEVICE is torch.cuda else DEVICE


def request(mib: int) -> Any:
    size = mib << 20
    return torch.empty(size, dtype=torch.uint8, device="cuda") if DEVICE is torch.cuda else DEVICE.empty(size)


def setup() -> None:
    kept = request(16)
    DEVICE.empty_cache()
    assert DEVICE.memory_allocated() == 16 << 20  # no live byte was freed
    del kept
    assert (DEVICE.memory_allocated(), DEVICE.memory_reserved()) == (0, 16 << 20)  # reserved is not allocated
    DEVICE.empty_cache()
    assert DEVICE.memory_reserved() == 0


def step(i: int) -> None:
    request(10 + i // 8 * 2)  # ten blocks for 80 steps


def fixed_step(i: int) -> None:
    request(10 + i // 8 * 2)
    DEVICE.empty_cache()

"""What following allocations costs a training step: ``python -m tests.benchmarks.overhead [--pairs N] [NAME ...]``.

Blocks of steps with and without a tool take turns in one process, each pair in the other order than the last, and the
median of the pairs' ratios is printed: a busy machine disturbs both halves alike. Time is this process's own on the
processor, so what other processes do to the clock does not count; starting and stopping a tool is not timed. Two
models, Linear and ReLU four times with Adam: 64 wide, where a step is nothing but overhead, and 512 wide.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import memray
import torch

from harness.ledger.dispatch import DispatchLedger
from harness.ledger.native_ledger import NativeLedger

__all__ = ["TOOLS", "main", "training_step"]

_SCRATCH = tempfile.TemporaryDirectory()
_SIZES = {"64 wide": (64, 120), "512 wide": (512, 30)}
"""Width, and steps in a block: some 15 ms each."""


def training_step(width: int) -> Callable[[], None]:
    """One step of a small training run, ready to be repeated."""
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters())
    batch, target = torch.randn(32, width), torch.randn(32, width)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(batch), target).backward()
        optimizer.step()

    return step


def _native(depth: int) -> Callable[[], AbstractContextManager[object]]:
    return lambda: NativeLedger(depth=depth).start()


@contextlib.contextmanager
def _memray(*, native: bool) -> Iterator[None]:
    path = Path(_SCRATCH.name) / "memray.bin"
    path.unlink(missing_ok=True)
    with memray.Tracker(path, native_traces=native):
        yield


@contextlib.contextmanager
def _profiler() -> Iterator[None]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True):
        yield


TOOLS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "nothing (noise)": contextlib.nullcontext,
    "native, counts only": _native(0),
    "native, one frame": _native(1),
    "native, four frames": _native(4),
    "native, eight frames": _native(8),
    "dispatch": lambda: DispatchLedger().start(),
    "memray": lambda: _memray(native=False),
    "memray native": lambda: _memray(native=True),
    "torch profiler": _profiler,
}
"""What is compared. The profiler runs with ``profile_memory``."""


def _block(step: Callable[[], None], steps: int, tool: Callable[[], AbstractContextManager[object]]) -> int:
    with tool():
        step()  # a tool's first sight of each line is not what it costs to leave it on
        step()
        began = time.process_time_ns()
        for _ in range(steps):
            step()
        return time.process_time_ns() - began


def _ratios(
    step: Callable[[], None], steps: int, tool: Callable[[], AbstractContextManager[object]], pairs: int
) -> list[float]:
    ratios = []
    for pair in range(pairs):
        order = (contextlib.nullcontext, tool) if pair % 2 else (tool, contextlib.nullcontext)
        times = [_block(step, steps, one) for one in order]
        ratios.append(times[0] / times[1] if order[0] is tool else times[1] / times[0])
    return ratios


def main() -> None:
    """Print a line a tool and model: the median ratio, and the quartiles of the pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the tools whose names contain it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for size, (width, steps) in _SIZES.items():
        step = training_step(width)
        _block(step, 3 * steps, contextlib.nullcontext)
        for name, tool in TOOLS.items():
            if options.names and not any(wanted in name for wanted in options.names):
                continue
            pairs = options.pairs if name.startswith(("nothing", "native")) else max(4, options.pairs // 6)
            ratios = _ratios(step, steps, tool, pairs)
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"{size:9} {name:22} {middle:6.3f}  ({low:.3f} to {high:.3f}, {len(ratios)} pairs)", flush=True)


if __name__ == "__main__":
    main()

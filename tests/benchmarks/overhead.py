"""What following allocations costs a training step: ``python -m tests.benchmarks.overhead [--pairs N] [NAME ...]``.

Blocks of steps with and without a tool take turns in one process, each pair in the other order than the last. A block
counts as its median step, after a warm-up in which the tool sees each line for the first time; the median of the pairs'
ratios is printed: a busy machine disturbs both halves alike. "nothing" against nothing shows the noise. Two models,
Linear and ReLU four times with Adam: 64 wide, where a step is nothing but overhead, and 512 wide.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import memray
import torch

from harness.ledger.dispatch import DispatchLedger
from harness.ledger.native_ledger import NativeLedger

__all__ = ["TOOLS", "main", "training_step"]

_SCRATCH = tempfile.TemporaryDirectory()
_SIZES = {"64 wide": (64, 30, 60), "512 wide": (512, 4, 8)}
"""Width, steps of a block before it counts, steps that count."""
_FEWER = 5
"""A tool that costs tens of per cent needs no more than a fifth of the pairs."""


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


def _median_step(
    step: Callable[[], None], warm_up: int, steps: int, tool: Callable[[], AbstractContextManager[object]]
) -> float:
    times = []
    with tool():
        for _ in range(warm_up):
            step()
        for _ in range(steps):
            began = time.perf_counter_ns()
            step()
            times.append(time.perf_counter_ns() - began)
    return statistics.median(times)


def _ratio(one_block: Callable[[Callable[[], AbstractContextManager[object]]], float], name: str, pair: int) -> float:
    if pair % 2:
        base = one_block(contextlib.nullcontext)
        return one_block(TOOLS[name]) / base
    with_tool = one_block(TOOLS[name])
    return with_tool / one_block(contextlib.nullcontext)


def main() -> None:
    """Print a line a tool and model: the median ratio, and the quartiles of the pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the tools whose names begin with it")
    options = parser.parse_args()
    os.environ["KINETO_LOG_LEVEL"] = "99"  # the profiler tells each start and stop otherwise
    torch.set_num_threads(1)
    for size, (width, warm_up, steps) in _SIZES.items():
        one_block = partial(_median_step, training_step(width), warm_up, steps)
        one_block(contextlib.nullcontext)
        for name in TOOLS:
            if options.names and not name.startswith(tuple(options.names)):
                continue
            pairs = options.pairs if name.startswith(("nothing", "native")) else max(4, options.pairs // _FEWER)
            ratios = [_ratio(one_block, name, pair) for pair in range(pairs)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"{size:9} {name:22} {middle:6.3f}  ({low:.3f} to {high:.3f}, {pairs} pairs)", flush=True)


if __name__ == "__main__":
    main()

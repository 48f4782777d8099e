"""What a scope costs in which nothing escaped: ``python -m tests.benchmarks.scope_cost``. Nothing is asserted."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Literal

import torch

from harness.ledger import start_ledger, why_not_native
from harness.scope import NullScope, ResourceScope

ROUNDS = 31
REPEATS = 2000
SOURCES: tuple[Literal["native", "dispatch"], ...] = ("native", "dispatch")


def per_call_us(work: Callable[[], None]) -> tuple[float, float]:
    """Median and least of the rounds, in microseconds of processor time: a shared machine's clock measures its load."""
    found = []
    for _ in range(ROUNDS):
        began = time.thread_time_ns()
        for _ in range(REPEATS):
            work()
        found.append((time.thread_time_ns() - began) / REPEATS / 1000)
    return statistics.median(found), min(found)


def idle() -> None:
    with ResourceScope("idle"):
        pass


def null() -> None:
    with NullScope("idle"):
        pass


def allocating() -> None:
    with ResourceScope("idle"):
        torch.empty(16)


def bare_allocation() -> None:
    torch.empty(16)


def enter_and_leave(rounds: int = ROUNDS, repeats: int = 400) -> tuple[float, float]:
    """Entering and leaving only: the scopes are made beforehand."""
    found = []
    for _ in range(rounds):
        scopes = [ResourceScope("idle") for _ in range(repeats)]
        began = time.thread_time_ns()
        for scope in scopes:
            with scope:
                pass
        found.append((time.thread_time_ns() - began) / repeats / 1000)
    return statistics.median(found), min(found)


def main() -> None:
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    print("microseconds of processor time a scope, median (least) of", ROUNDS, "rounds")
    for source in SOURCES:
        if source == "native" and why_not_native() is not None:
            print(f"{source:9} not here: {why_not_native()}")
            continue
        with start_ledger(source=source):
            for title, (median, least) in (
                ("entered and left", enter_and_leave()),
                ("made, entered and left", per_call_us(idle)),
                ("the same, and an allocation", per_call_us(allocating)),
                ("an allocation alone", per_call_us(bare_allocation)),
                ("a NullScope", per_call_us(null)),
            ):
                print(f"{source:9} {title:28} {median:6.2f} ({least:.2f})")


if __name__ == "__main__":
    main()

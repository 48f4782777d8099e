"""How long it takes to find who holds 50 survivors among a million objects: ``python -m tests.benchmarks.retainers``.

Ours names all 50 ways in one walk. Against it, in the same run: objgraph, which searches backwards from each object
(asked for a few, and multiplied), and one hop of gc.get_referrers, which any search by hand is made of. The best
of several is printed, and the ratio to ours; nothing is asserted.
"""

from __future__ import annotations

import gc
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import torch

from harness.retainers import heap_walk
from harness.retainers.look import Look
from harness.retainers.survivors import Wanted

OBJECTS = 1_000_000
SURVIVORS = 50
ASKED_OF_PEERS = 3
ROUNDS = 5


def key_of(tensor: Any) -> int:
    address: int = torch._C._data_address(tensor)  # type: ignore[attr-defined]
    return address


def a_large_program() -> Any:
    """A module with a million objects, and 50 tensors deep inside it."""
    program: Any = types.ModuleType("train")
    program.__file__ = "/train.py"
    program.table = [{"row": [k], "tag": (k, str(k))} for k in range(OBJECTS // 4)]
    program.history = [{"loss": [torch.ones(4)]} for _ in range(SURVIVORS)]
    sys.modules["train"] = program
    return program


def best_of(work: Callable[[], None], rounds: int = ROUNDS) -> float:
    """Seconds."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def main() -> None:
    """Print one line a way of looking."""
    torch.set_num_threads(1)
    program = a_large_program()
    survivors = [entry["loss"][0] for entry in program.history]
    wanted = [Wanted(site=0, key=key_of(tensor), bytes=16) for tensor in survivors]
    look = Look(is_users=lambda path: path == "/train.py", key_of=key_of)
    gc.collect()
    gc.freeze()  # as in a subject; what is unfrozen is looked at once more, for what nothing leads to
    found: list[int] = []

    def ours() -> None:
        record = look.look(wanted, step=1, run_steps=None)
        found[:] = [sum(path.storages for path in record.sites[0]), record.objects]

    def sizes_only() -> None:
        look.measure(0)

    took = best_of(ours)
    print(f"{found[1]:,} objects, {found[0]} of {SURVIVORS} survivors found; walk in {walk_language()}")
    print(f"ours, all {SURVIVORS} ways named      {took:8.3f} s    1.0")
    print(f"ours, the sizes of all containers {best_of(sizes_only):6.3f} s")
    gc.unfreeze()
    one_hop = best_of(lambda: discard(gc.get_referrers(survivors[0])), 3)
    told = f"x {SURVIVORS} survivors x 4 hops = {one_hop * SURVIVORS * 4:.1f} s"
    print(
        f"gc.get_referrers, one hop       {one_hop:8.3f} s    {told}, {one_hop * SURVIVORS * 4 / took:.0f} times ours"
    )
    compare_with_objgraph(survivors, took)


def walk_language() -> str:
    return "C" if heap_walk.is_native() else "Python"


def discard(result: object) -> None:
    del result


def compare_with_objgraph(survivors: list[torch.Tensor], ours_s: float) -> None:
    """objgraph.find_backref_chain, from each of a few survivors."""
    import objgraph  # type: ignore[import-untyped]

    def ask() -> None:
        for tensor in survivors[:ASKED_OF_PEERS]:
            objgraph.find_backref_chain(tensor, objgraph.is_proper_module, extra_ignore=[id(survivors)])

    each = best_of(ask, 1) / ASKED_OF_PEERS
    print(
        f"objgraph, one chain             {each:8.3f} s    x {SURVIVORS} survivors = {each * SURVIVORS:.1f} s, "
        f"{each * SURVIVORS / ours_s:.0f} times ours"
    )


if __name__ == "__main__":
    main()

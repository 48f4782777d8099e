"""A14: the scope is closed at the end of each round, although the next round needs what it owned.

Symptom: with native memory that is freed by hand, wrong numbers or NaN from the second round on, or a crash, and all of
    it somewhere else than where the mistake is.

Why: the state of a round is made in the round's scope, and ends with it. The variable that the next round reads still
    names it, but not its memory: a name is no owner.

How it shows: fault use_after_close at the line in the second round that uses the state, which says where the state was
    created, where it was closed, and by which scope. Never a silent NaN.

Fix: a child scope for each round is right; hand over to the outer scope what the next round needs: ``keep(state)``.
"""

from __future__ import annotations

import torch

from harness import ResourceScope, Scenario, fault

torch.set_num_threads(1)

SCENARIO = Scenario(
    title="A scope is closed at the end of a round, and the next round needs what it owned",
    pitfall="What a scope owns ends with it; a variable that still names it does not keep it.",
    fix="Keep in the outer scope what the next round needs, and give each round a child scope for the rest.",
    tags=("memory", "scope"),
    expect=fault("use_after_close"),
)

OUTER = ResourceScope("training")
STATE = {"velocity": OUTER.adopt(torch.zeros(64, 64))}


def next_velocity(velocity: torch.Tensor) -> torch.Tensor:
    gradient = torch.ones(64, 64)
    return 0.9 * velocity + gradient


def step(i: int) -> None:
    with OUTER.child("round", on_escape="close"):
        STATE["velocity"] = next_velocity(STATE["velocity"])


def fixed_step(i: int) -> None:
    with OUTER.child("round", on_escape="close") as scope:
        STATE["velocity"] = scope.keep(next_velocity(STATE["velocity"]))


def teardown() -> None:
    OUTER.close()

"""A program that exists only as numbers: what its processes would have shown, and how the runner would stop it.

Each program has a plain and a ledger subject, as in a real run: the second one's noise is its own, or the same where it
is the program's (both are seeded alike), and its heap holds the ledger's entries for survivors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.judge.detector import judge
from harness.judge.policy import DEFAULT, Policy
from harness.judge.sequential import go_on
from harness.model.recording import Role, SubjectRecord
from harness.model.verdict import Verdict
from tests.builders import ledger, recording, site, subject

__all__ = ["LONGEST", "Numbers", "Program", "judged", "program"]

Numbers = NDArray[Any]

LONGEST = DEFAULT.warmup_steps + DEFAULT.checkpoints[-1]
"""Steps of the longest run that the policy allows."""

_ENTRY_BYTES = 300
"""What the ledger's own table takes for one survivor, in the heap."""


@dataclass(frozen=True, kw_only=True)
class Survivors:
    """What one line keeps: number and bytes at each boundary, and the birth step of the oldest."""

    storages: Numbers
    bytes: Numbers
    oldest: Numbers


@dataclass(frozen=True, kw_only=True)
class Program:
    """All readings of the longest run, by subject; ``step_s`` is how long a plain step takes."""

    plain: dict[str, Numbers]
    ledger: dict[str, Numbers]
    sites: tuple[Survivors, ...] = ()
    step_s: float = 0.005
    every: dict[str, int] = field(default_factory=lambda: {"python.bytes": 4, "children.bytes": 4})


def program(
    rng: np.random.Generator,
    *,
    heap: Numbers,
    python: Numbers | None = None,
    survivors: tuple[Survivors, ...] = (),
    noise: Numbers | None = None,
    own_noise: Numbers | None = None,
    **others: Numbers,
) -> Program:
    """A program whose heap is *heap* and the survivors' bytes, with *noise* that belongs to the program (seen by both
    subjects), and *own_noise* (one row a subject). *python* are bytes of small objects; *others* replace readings."""
    shared = noise if noise is not None else np.zeros(LONGEST + 1)
    own = own_noise if own_noise is not None else np.zeros((2, LONGEST + 1))
    objects = python if python is not None else np.zeros(LONGEST + 1)
    tensors = sum((s.bytes for s in survivors), np.zeros(LONGEST + 1))
    count = sum((s.storages for s in survivors), np.zeros(LONGEST + 1))
    replaced = {name.replace("_", ".", 1): values for name, values in others.items()}
    plain = _process(rng, heap + tensors + shared + own[0], objects) | replaced
    second = _process(rng, heap + tensors + shared + own[1] + _ENTRY_BYTES * count, objects) | replaced
    second |= {"leak.bytes": tensors, "leak.tensors": count}
    return Program(plain=plain, ledger=second, sites=survivors, step_s=float(np.exp(rng.uniform(-7, -4))))


def _process(rng: np.random.Generator, heap: Numbers, objects: Numbers) -> dict[str, Numbers]:
    """Heap in use, and what the kernel makes of it: pages stay once they were touched, mappings come in 132 KiB."""
    used = 60e6 + np.maximum(heap, -50e6)
    resident = 200e6 + 4096 * np.ceil(np.maximum.accumulate(used) / 4096)
    mapped = 500e6 + 135168 * np.ceil(np.maximum.accumulate(used) / 135168)
    creep = rng.uniform(0, 16e3) * (1 - np.exp(-np.arange(LONGEST + 1) / rng.uniform(50, 400)))
    small = 30e6 + objects + 16 * np.round(creep / 16)
    return {
        "heap.used": 16 * np.round(used / 16),
        "heap.free": mapped - 440e6 - used,
        "rss.anon": resident,
        "mapped.private": mapped,
        "python.bytes": small,
        "python.blocks": np.round(small / 64),
        "fds": np.full(LONGEST + 1, 12.0),
        "threads": np.full(LONGEST + 1, 2.0),
        "children.count": np.zeros(LONGEST + 1),
    }


def judged(made: Program, policy: Policy = DEFAULT) -> Verdict:
    """Run both subjects as the runner would, checkpoint by checkpoint within the time budget, and judge."""
    plain = _run(made, "plain", made.step_s, policy)
    followed = _run(made, "ledger", 5 * made.step_s, policy)
    return judge(recording(plain, followed), policy)


def _run(made: Program, role: Role, step_s: float, policy: Policy) -> SubjectRecord:
    """As far as the runner would: to the first checkpoint without an open question, or as far as time allows."""
    in_time, at_most = (
        max(policy.least_steps, int(s / step_s)) for s in (policy.time_budget_s, policy.open_time_budget_s)
    )
    record = _cut(made, role, policy.warmup_steps + min(policy.checkpoints[0], in_time), step_s)
    for checkpoint in policy.checkpoints[1:]:
        if go_on(record, policy) is None:
            break
        measured = min(checkpoint, at_most)
        record = _cut(made, role, policy.warmup_steps + measured, step_s)
        if measured == at_most:
            break
    return record


def _cut(made: Program, role: Role, steps: int, step_s: float) -> SubjectRecord:
    readings = made.plain if role == "plain" else made.ledger
    seen = slice(0, steps + 1)
    entries = None
    if role == "ledger":
        entries = ledger(
            *(
                site(
                    s.bytes[seen].tolist(),
                    storages=s.storages[seen].tolist(),
                    oldest=[int(b) if c else None for b, c in zip(s.oldest[seen], s.storages[seen], strict=True)],
                    number=k + 1,
                )
                for k, s in enumerate(made.sites)
            )
        )
    return subject(
        role,
        {metric: values[seen].tolist() for metric, values in readings.items()},
        every=made.every,
        ledger=entries,
        elapsed_s=steps * step_s,
    )

"""Families beyond what is promised: no figure is asserted for them, and the table prints them so that nobody is misled.

Some cannot be decided by anyone from so few steps (a cache of 2,000 random keys after 800 draws, a random walk).
"""

from __future__ import annotations

import numpy as np

from tests.quality.families import KIB, STEPS, Family, in_channel, noise_of, none, size_of, survivors_of
from tests.quality.world import LONGEST, Program, program

__all__ = ["BEYOND_CLEAN", "BEYOND_LEAKING"]


def late_fill(rng: np.random.Generator) -> Program:
    """A buffer that is full only shortly before the horizon of 400 steps."""
    per_step, until = size_of(rng, 300, 1e6), rng.integers(300, 390)
    return in_channel(rng, per_step * np.clip(STEPS + 1, 0, until), noise_of(rng, size_of(rng, 1, per_step)))


def several_jumps(rng: np.random.Generator) -> Program:
    """Two to five allocations that stay, at any time, of any size."""
    rise = none()
    for _ in range(rng.integers(2, 6)):
        rise += size_of(rng, 1e4, 1e8) * (int(rng.integers(1, 390)) <= STEPS)
    return in_channel(rng, rise, noise_of(rng, size_of(rng, 1, 1e4)))


def slow_noise(rng: np.random.Generator) -> Program:
    """Noise that remembers 50 steps (autoregressive, 0.98), the same in both subjects."""
    made = none()
    for k, push in enumerate(rng.normal(0, size_of(rng, 1e4, 1e6), LONGEST + 1)):
        made[k] = 0.98 * made[k - 1] + push if k else push
    return program(rng, heap=none(), noise=made)


def random_walk(rng: np.random.Generator) -> Program:
    """No trend at all, and any excursion."""
    return program(rng, heap=np.cumsum(rng.normal(0, size_of(rng, 1e3, 1e6), LONGEST + 1)))


def many_random_keys(rng: np.random.Generator) -> Program:
    """A cache of 200 to 2,000 random keys: in 800 draws the larger ones are hardly half full."""
    drawn = rng.integers(int(rng.integers(200, 2000)), size=LONGEST + 1)
    first = none()
    first[np.unique(drawn, return_index=True)[1]] = 1
    return program(rng, heap=none(), survivors=(survivors_of(np.cumsum(first), size_of(rng, 1e3, 1e5)),))


def late_start(rng: np.random.Generator) -> Program:
    """A leak that begins at step 10 to 100."""
    signal = size_of(rng, 512, 1e5) * np.maximum(STEPS - int(rng.integers(10, 100)), 0)
    return in_channel(rng, signal, none())


def rare(rng: np.random.Generator) -> Program:
    """A leak on every 40th to 90th step."""
    every = int(rng.integers(40, 90))
    signal = size_of(rng, 5e4, 1e6) * ((STEPS + 1 + rng.integers(every)) // every)
    return in_channel(rng, signal - signal[0], none())


def half_the_effect(rng: np.random.Generator) -> Program:
    """2 KiB a step under noise of 256 KiB, each process's own."""
    return program(rng, heap=2 * KIB * (STEPS + 1), own_noise=rng.normal(0, 256 * KIB, (2, LONGEST + 1)))


def growing_array(rng: np.random.Generator) -> Program:
    """A list of small objects: its table is enlarged by an eighth at a time, ever more rarely."""
    entries = (STEPS + 1) * int(rng.integers(8, 50))
    table, room = none(), 0
    for k, needed in enumerate(entries):
        room = room if needed <= room else int(needed) + (int(needed) >> 3) + 6
        table[k] = 8 * room
    return program(rng, heap=table, python=32.0 * entries)


BEYOND_CLEAN: dict[str, Family] = {
    "late fill (300-390)": late_fill,
    "several jumps": several_jumps,
    "slow noise": slow_noise,
    "random walk": random_walk,
    "200-2,000 random keys": many_random_keys,
}
BEYOND_LEAKING: dict[str, Family] = {
    "late start": late_start,
    "every 40th-90th step": rare,
    "2 KiB, noise 256 KiB": half_the_effect,
    "growing array": growing_array,
}

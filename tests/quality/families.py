"""Families of made-up programs, each member drawn at random: how they move, how much, where, how long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.quality.world import LONGEST, Numbers, Program, Survivors, program

__all__ = ["CLEAN", "LEAKING", "Family"]

Family = Callable[[np.random.Generator], Program]

_STEPS = np.arange(-1, LONGEST)
"""The step of each boundary."""

KIB = 1024.0


def _none() -> Numbers:
    return np.zeros(LONGEST + 1)


def _noise(rng: np.random.Generator, std: float) -> Numbers:
    """Alive at the boundary: normal, heavy-tailed, a few batch sizes, or related to its neighbours."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(0, std, LONGEST + 1)
    if kind == 1:
        return rng.laplace(0, std / np.sqrt(2), LONGEST + 1)
    if kind == 2:
        return rng.choice(rng.normal(0, std, rng.integers(2, 9)), LONGEST + 1)
    phi = rng.uniform(0.3, 0.95)
    steps = rng.normal(0, std * np.sqrt(1 - phi**2), LONGEST + 1)
    made = np.empty(LONGEST + 1)
    level = rng.normal(0, std)
    for k, step in enumerate(steps):
        level = phi * level + step
        made[k] = level
    return made


def _size(rng: np.random.Generator, low: float, high: float) -> float:
    """Log-uniform: small ones are as likely as large ones."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _kept(counts: Numbers, size: float | Numbers, oldest: Numbers | None = None) -> Survivors:
    """Survivors that never die unless *oldest* says so; *size* bytes each (multiples of 64)."""
    counts = np.floor(counts)
    births = oldest if oldest is not None else np.full(LONGEST + 1, float(_STEPS[np.argmax(counts > 0)]))
    return Survivors(storages=counts, bytes=64 * np.round(counts * size / 64), oldest=births)


def _in_channel(rng: np.random.Generator, signal: Numbers, noise: Numbers) -> Program:
    """*signal* (bytes) as tensors, as native heap, or as small Python objects."""
    channel = rng.integers(3)
    if channel == 0:
        size = 64 * np.ceil(max(float(np.abs(np.diff(signal)).max()), 64.0) / 64)
        return program(rng, heap=_none(), survivors=(_kept(np.floor(signal / size + 1e-9), size),), noise=noise)
    if channel == 1:
        return program(rng, heap=signal, noise=noise)
    return program(rng, heap=signal / 4, python=16 * np.round(signal / 16), noise=noise)


def _together(rng: np.random.Generator, *parts: Program) -> Program:
    """One program that does what *parts* do: their heaps, objects and survivors add up."""
    heap, objects = _none(), _none()
    for part in parts:
        own = part.plain["heap.used"] - sum((s.bytes for s in part.sites), _none())
        heap += own - own.min()
        objects += part.plain["python.bytes"] - part.plain["python.bytes"].min()
    return program(rng, heap=heap, python=objects, survivors=tuple(s for p in parts for s in p.sites))


def flat(rng: np.random.Generator) -> Program:
    """Nothing moves after the first step."""
    return program(rng, heap=_size(rng, 1e3, 1e8) * (rng.integers(0, 3) <= _STEPS))


def noisy(rng: np.random.Generator) -> Program:
    """A stationary amount is alive at the boundary: the program's own, or each process's."""
    std = _size(rng, 1e3, 4e6)
    if rng.random() < 0.5:
        return program(rng, heap=_none(), noise=_noise(rng, std))
    return program(rng, heap=_none(), own_noise=np.stack([_noise(rng, std), _noise(rng, std)]))


def churn_alive(rng: np.random.Generator) -> Program:
    """The last batch is alive at each boundary, and batches differ in size and number."""
    counts = rng.integers(1, rng.integers(2, 40), LONGEST + 1).astype(float)
    sizes = rng.choice(np.exp(rng.uniform(7, 14, 8)), LONGEST + 1)
    return program(rng, heap=_none(), survivors=(_kept(counts, sizes, _STEPS.astype(float)),))


def saw_tooth(rng: np.random.Generator) -> Program:
    """Fills and empties, with any period up to 150 steps and any phase."""
    period = int(_size(rng, 2, 150))
    phase = (_STEPS + rng.integers(period)) % period
    noise = _noise(rng, _size(rng, 10, 1e4)) if rng.random() < 0.5 else None
    per_step = _size(rng, 300, 1e6)
    if rng.random() < 0.5:
        return program(rng, heap=phase * per_step, noise=noise)
    kept = _kept(phase.astype(float), per_step, (_STEPS - phase).astype(float))
    return program(rng, heap=_none(), survivors=(kept,), noise=noise)


def one_step_up(rng: np.random.Generator) -> Program:
    """One allocation, at any time, that stays."""
    rise = _size(rng, 1e3, 1e8) * (rng.integers(1, 390) <= _STEPS)
    return _in_channel(rng, rise, _noise(rng, _size(rng, 1, 1e4)))


def plateau(rng: np.random.Generator) -> Program:
    """A buffer fills for 10 to 300 steps, by one entry each or every few steps, and is full."""
    per_step, until, every = _size(rng, 300, 1e6), rng.integers(10, 300), int(rng.choice([1, 1, 1, 2, 5]))
    signal = per_step * (np.clip(_STEPS + 1, 0, until) // every)
    return _in_channel(rng, signal, _noise(rng, _size(rng, 1, per_step)))


def ring(rng: np.random.Generator) -> Program:
    """A deque with a bound: fills, then each new entry ends the oldest one; entries may differ in size."""
    most = int(rng.integers(5, 250))
    sizes = rng.choice(np.exp(rng.uniform(8, 12, int(rng.choice([1, 6])))), LONGEST + 1)
    total = np.cumsum(sizes)
    gone = np.concatenate([np.zeros(most), total[:-most]])
    counts = np.minimum(_STEPS + 2, most).astype(float)
    kept = Survivors(
        storages=counts,
        bytes=64 * np.round((total - gone) / 64),
        oldest=np.maximum(_STEPS - most + 1, -1).astype(float),
    )
    return program(rng, heap=_none(), survivors=(kept,))


def random_keys(rng: np.random.Generator) -> Program:
    """A cache whose keys come at random out of 5 to 200: it fills ever more slowly."""
    keys = int(rng.integers(5, 200))
    drawn = rng.integers(keys, size=LONGEST + 1)
    first = np.zeros(LONGEST + 1)
    first[np.unique(drawn, return_index=True)[1]] = 1
    size = _size(rng, 1e3, 1e6)
    if rng.random() < 0.5:
        return program(rng, heap=np.cumsum(first) * size)
    return program(rng, heap=_none(), survivors=(_kept(np.cumsum(first), size),))


def periodic_peaks(rng: np.random.Generator) -> Program:
    """Every so often a step leaves much behind, and the next takes it away."""
    period, length = int(rng.integers(5, 120)), int(rng.integers(1, 4))
    peaks = ((_STEPS + rng.integers(period)) % period < length) * _size(rng, 1e4, 1e8)
    return program(rng, heap=peaks, noise=_noise(rng, _size(rng, 1, 1e4)))


def slow_drift(rng: np.random.Generator) -> Program:
    """Below the least effect: up to 200 bytes a step of heap, or of small objects."""
    drift = rng.uniform(10, 200) * (_STEPS + 1)
    if rng.random() < 0.5:
        return program(rng, heap=drift, noise=_noise(rng, _size(rng, 1, 1e4)))
    return program(rng, heap=_none(), python=16 * np.round(drift / 16))


def clean_mixture(rng: np.random.Generator) -> Program:
    """Two or three of them at once, in one heap."""
    makers = (noisy, saw_tooth, one_step_up, plateau, periodic_peaks)
    parts = [makers[k](rng) for k in rng.choice(len(makers), rng.integers(2, 4), replace=False)]
    return _together(rng, *parts)


def linear(rng: np.random.Generator) -> Program:
    """The same in each step, from 512 bytes on, with noise up to the size of 20 steps' growth."""
    per_step = _size(rng, 512, 1e6)
    return _in_channel(rng, per_step * (_STEPS + 1), _noise(rng, per_step * _size(rng, 0.01, 20)))


def every_kth(rng: np.random.Generator) -> Program:
    """Every second to tenth step leaves something, with any phase."""
    every = int(rng.integers(2, 11))
    signal = _size(rng, 4096, 1e6) * ((_STEPS + 1 + rng.integers(every)) // every)
    return _in_channel(rng, signal - signal[0], _noise(rng, _size(rng, 1, 1e3)))


def stairs(rng: np.random.Generator) -> Program:
    """Large steps up, 10 to 40 steps apart."""
    every = int(rng.integers(10, 41))
    signal = _size(rng, 2e4, 1e7) * ((_STEPS + 1 + rng.integers(every)) // every)
    return _in_channel(rng, signal - signal[0], _noise(rng, _size(rng, 1, 1e3)))


def exact_under_churn(rng: np.random.Generator) -> Program:
    """4 KiB a step of tensors, while any amount is allocated and freed inside each step."""
    peaks = rng.integers(0, 1 << 28, LONGEST + 1).astype(float)
    kept = _kept(_STEPS + 1.0, 4096)
    return program(rng, heap=_none(), survivors=(kept,), peak_tensors=kept.bytes + peaks)


def exact_beside_churn(rng: np.random.Generator) -> Program:
    """4 KiB a step of tensors at one line, while another line has a random amount alive at each boundary."""
    counts = rng.integers(1, 40, LONGEST + 1).astype(float)
    churn = _kept(counts, np.exp(rng.uniform(8, 13)), _STEPS.astype(float))
    return program(rng, heap=_none(), survivors=(_kept(_STEPS + 1.0, 4096), churn))


def noisy_channel(rng: np.random.Generator) -> Program:
    """4 KiB a step in the heap under noise of 256 KiB that is alive at the boundary: the program's or each process's.

    Fast enough for 400 steps: the figure is stated for so many.
    """
    signal, std = 4 * KIB * (_STEPS + 1), 256 * KIB
    shared = rng.random() < 0.5
    noise = rng.normal(0, std, LONGEST + 1) if shared else None
    own = None if shared else rng.normal(0, std, (2, LONGEST + 1))
    return program(rng, heap=signal, noise=noise, own_noise=own)


def saw_tooth_leak(rng: np.random.Generator) -> Program:
    """Fills and empties, but not to the end: a rest stays each time."""
    period = int(rng.integers(2, 40))
    rest = _size(rng, 1e3, 1e5)
    phase = (_STEPS + rng.integers(period)) % period
    return program(rng, heap=rest * (_STEPS + 1) + phase * rest * rng.uniform(0.5, 3))


def backlog(rng: np.random.Generator) -> Program:
    """A queue that is fed faster than it is emptied: old ones die, and more come than go."""
    counts = np.floor((_STEPS + 1) * rng.uniform(0.2, 1))
    kept = _kept(counts, _size(rng, 1e3, 1e5), np.maximum(_STEPS - counts, -1))
    return program(rng, heap=_none(), survivors=(kept,))


def leaking_mixture(rng: np.random.Generator) -> Program:
    """A leak, and something clean that moves beside it."""
    leak = (linear, every_kth, stairs)[rng.integers(3)](rng)
    beside = (one_step_up, plateau, periodic_peaks)[rng.integers(3)](rng)
    return _together(rng, leak, beside)


CLEAN: dict[str, Family] = {
    "flat": flat,
    "noisy": noisy,
    "churn alive": churn_alive,
    "saw-tooth": saw_tooth,
    "one step up": one_step_up,
    "plateau after growth": plateau,
    "ring buffer": ring,
    "cache of random keys": random_keys,
    "periodic peaks": periodic_peaks,
    "slow drift": slow_drift,
    "mixture": clean_mixture,
}
LEAKING: dict[str, Family] = {
    "linear": linear,
    "every k-th step": every_kth,
    "stairs": stairs,
    "4 KiB exact, churn freed": exact_under_churn,
    "4 KiB exact, churn alive": exact_beside_churn,
    "4 KiB, noise 256 KiB": noisy_channel,
    "saw-tooth with a rest": saw_tooth_leak,
    "backlog": backlog,
    "mixture": leaking_mixture,
}

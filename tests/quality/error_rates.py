"""How often the whole detector is wrong, by family, on seeded programs. ``python -m tests.quality.error_rates [N]``.

N programs a family (default 200). Clean ones are wrong when called leak; leaking ones when not called leak. How many
were called inconclusive stands beside it. The last two tables are of families beyond what is promised.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tests.quality.beyond import BEYOND_CLEAN, BEYOND_LEAKING
from tests.quality.families import CLEAN, LEAKING, Family
from tests.quality.world import judged

__all__ = ["Rate", "measure", "total"]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Of *programs* of one family: called leak, called inconclusive; ``seeds`` of the wrong ones, to look at."""

    programs: int
    leaks: int
    inconclusive: int
    seeds: tuple[int, ...]


def measure(family: Family, *, leaking: bool, programs: int, first_seed: int = 0) -> Rate:
    """Judge *programs* members of *family*, seeded *first_seed* and on."""
    outcomes = {
        seed: judged(family(np.random.default_rng([seed, leaking]))).outcome
        for seed in range(first_seed, first_seed + programs)
    }
    wrong = tuple(seed for seed, outcome in outcomes.items() if (outcome == "leak") is not leaking)
    return Rate(
        programs=programs,
        leaks=sum(o == "leak" for o in outcomes.values()),
        inconclusive=sum(o == "inconclusive" for o in outcomes.values()),
        seeds=wrong,
    )


def total(rates: Mapping[str, Rate]) -> tuple[int, int]:
    """(wrong, programs) over all families."""
    return sum(len(r.seeds) for r in rates.values()), sum(r.programs for r in rates.values())


_TABLES = (
    (True, False, CLEAN),
    (True, True, LEAKING),
    (False, False, BEYOND_CLEAN),
    (False, True, BEYOND_LEAKING),
)


def _table(programs: int) -> None:
    for promised, leaking, families in _TABLES:
        kind = ("" if promised else "beyond: ") + ("leaking, not found" if leaking else "clean, called leak")
        print(f"{kind:28} {'wrong':>12} {'inconclusive':>13}   seeds of wrong ones")
        rates: dict[str, Rate] = {}
        for name, family in families.items():
            rate = rates[name] = measure(family, leaking=leaking, programs=programs)
            share = f"{len(rate.seeds)}/{programs} {len(rate.seeds) / programs:.1%}"
            print(f"  {name:26} {share:>12} {rate.inconclusive:>13}   {rate.seeds[:8] or ''}", flush=True)
        wrong, all_of_them = total(rates)
        print(f"  {'all':26} {wrong}/{all_of_them} {wrong / all_of_them:.2%}\n")


if __name__ == "__main__":
    _table(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

"""The folders in which torch, its compilers and the hub keep files: whether they can be used as they are set."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.doctor.answers import note, ok, problem
from harness.doctor.cache_folders import CacheFolder, cache_folders
from harness.doctor.surroundings import Surroundings
from harness.model.checkup import Check
from harness.units import format_bytes

__all__ = ["check_caches"]

_FULL, _SCARCE = 64 * 2**20, 2**30


def check_caches(here: Surroundings) -> tuple[Check, ...]:
    """A line for each place that cannot be used or is full, whatever would be there, and one for those that are well.

    A folder that is not there yet is made at its first use, so the nearest one above it is what counts.
    """
    by_place: dict[Path, list[CacheFolder]] = {}
    folders = cache_folders(here)
    for cache in folders:
        by_place.setdefault(_existing(cache.folder), []).append(cache)
    wrong = {place: check for place, caches in by_place.items() if (check := _check(here, place, caches)) is not None}
    well = [place for place in by_place if place not in wrong]
    count = sum(len(by_place[place]) for place in well)
    if not well:
        return tuple(wrong.values())
    free = format_bytes(min(here.free_bytes(place) for place in well))
    return (ok("caches", f"{count} of {len(folders)} folders can be written, {free} free"), *wrong.values())


def _check(here: Surroundings, place: Path, caches: list[CacheFolder]) -> Check | None:
    wanted = ", ".join(f"{cache.variable}={cache.folder}" if cache.is_set else cache.purpose for cache in caches)
    serious = any(cache.is_set or cache.needed or cache.folder == place for cache in caches)
    variables = _variables(caches)
    lost = [cache.folder for cache in caches if cache.needed and cache.folder != place]
    if lost:
        says = f"{lost[0]} is not there ({wanted}), so temporary files go somewhere else"
        return problem("caches", says, f"Make the folder, or unset {variables}.")
    if place.exists() and not place.is_dir():
        return problem("caches", f"{place} is not a folder ({wanted})", f"Set {variables} to a folder.")
    if not here.can_write(place):
        says = f"{place} cannot be written ({wanted})"
        advice = f"Give yourself the right to write there, or set {variables} to a folder that is yours."
        return problem("caches", says, advice) if serious else note("caches", says, advice)
    free = here.free_bytes(place)
    says = f"the disk of {place} has {format_bytes(free)} free ({wanted})"
    advice = f"Make room, or set {variables} to a folder on another disk."
    if free >= _SCARCE:
        return None
    return problem("caches", says, advice) if free < _FULL else note("caches", says, advice)


def _variables(caches: Iterable[CacheFolder]) -> str:
    """Those to set: the one that others follow stands for them."""
    names = [cache.variable for cache in caches]
    followers = {"TORCH_HOME", "TORCH_EXTENSIONS_DIR", "HF_HOME"} if "XDG_CACHE_HOME" in names else set()
    return " and ".join(name for name in names if name not in followers)


def _existing(folder: Path) -> Path:
    """*folder*, or the nearest above it that is there, in which it would be made."""
    for candidate in (folder, *folder.parents):
        try:
            if candidate.exists() or candidate.is_symlink():
                return candidate
        except OSError:  # a folder on the way that may not be entered: the one above it tells
            continue
    return folder

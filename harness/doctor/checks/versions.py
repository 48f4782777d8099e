"""Installed versions that do not go together: what packages ask for, and what is known besides."""

from __future__ import annotations

from harness.doctor.answers import not_here, ok, problem
from harness.doctor.known_pairs import KNOWN_PAIRS
from harness.doctor.surroundings import Requirement, Surroundings
from harness.doctor.version_numbers import release
from harness.model.checkup import Check

__all__ = ["check_versions"]

_MOST_SHOWN = 4


def check_versions(here: Surroundings) -> tuple[Check, ...]:
    """One line for each pair that is wrong, or one that says how many were looked at."""
    wrong = (*_known(here), *_requirements(here))
    if wrong:
        return wrong
    owners = sorted({requirement.of for requirement in here.requirements})
    shown = f"{', '.join(owners[:_MOST_SHOWN])}{', ...' if len(owners) > _MOST_SHOWN else ''}" or "no package"
    return (ok("versions", f"every requirement of {shown} is met, and no known bad pair is installed"),)


def _known(here: Surroundings) -> tuple[Check, ...]:
    installed = {**here.packages, "python": here.python}
    torch = installed.get("torch")
    if torch is None:
        return ()
    return tuple(
        problem(
            "versions",
            f"torch {torch} with {pair.package} {installed[pair.package]}: {pair.what}",
            f"torch {pair.torch_before} or newer, or {pair.package} before {pair.version}. {pair.link}",
        )
        for pair in KNOWN_PAIRS
        if pair.package in installed
        and release(torch) < release(pair.torch_before)
        and release(installed[pair.package]) >= release(pair.version)
    )


def _requirements(here: Surroundings) -> tuple[Check, ...]:
    try:
        from packaging.requirements import InvalidRequirement
        from packaging.requirements import Requirement as Parsed
        from packaging.utils import canonicalize_name
    except ImportError:
        says = "what packages ask for cannot be compared without the package `packaging`"
        return (not_here("versions", says),)
    wrong = []
    for requirement in here.requirements:
        try:
            parsed = Parsed(requirement.text)
        except InvalidRequirement:
            continue  # metadata from before the grammar was fixed: pip passes over it too
        if parsed.marker is not None and not parsed.marker.evaluate({"extra": ""}):
            continue
        version = here.packages.get(canonicalize_name(parsed.name))
        if version is None or not parsed.specifier.contains(version, prereleases=True):
            wrong.append(_wrong(requirement, parsed.name, str(parsed.specifier), version))
    return tuple(wrong)


def _wrong(requirement: Requirement, name: str, wanted: str, version: str | None) -> Check:
    found = f"{version} is installed" if version is not None else "it is not installed"
    return problem(
        "versions",
        f"{requirement.of} asks for {name}{wanted}, and {found}",
        f"`python -m pip install '{name}{wanted}'`, or another version of {requirement.of}.",
    )

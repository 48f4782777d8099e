"""A module that gains parameters, buffers, submodules or parametrizations."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["module_growth"]

_WORDS = {"_modules": "submodules", "_parameters": "parameters", "_buffers": "buffers"}


def module_growth(case: Case) -> Opinion | None:
    """Asked of the tables of a module."""
    link, path = case.suspect_link, case.path
    if link is None or path is None or link.trait != "module_table" or path.grew is None:
        return None
    then, now = path.grew
    where = f", at {case.kept_at}" if case.kept_at else ""
    words = _WORDS.get(link.name, "parts")
    return Opinion(
        cause="module_growth",
        explanation=f"the module {case.holder} went from {then:,} to {now:,} {words}{where}",
        fix=(
            f"Register once, before the loop, and change the values in place (copy_); or remove the old {words} first "
            "(del, parametrize.remove_parametrizations)."
        ),
    )

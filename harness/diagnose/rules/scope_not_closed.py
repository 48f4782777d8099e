"""Scopes that are still open own what should have ended with them."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.model.allocation import ScopeOwner
from harness.units import format_bytes, format_count

__all__ = ["scope_not_closed"]


def scope_not_closed(case: Case) -> Opinion | None:
    """Asked of survivors that open scopes own: several scopes of one name, or one that holds on to them itself.

    One open scope that merely owns what something else holds is no cause: then the holder is."""
    site = case.suspect.site
    if site is None or not site.owners:
        return None
    owner = max(site.owners, key=lambda o: o.storages)
    if 2 * owner.storages <= site.storages[-1]:
        return None
    if owner.scopes > 1:
        return Opinion(
            cause="scope_not_closed",
            explanation=(
                f"{format_count(owner.scopes)} scopes named {owner.name}, the first opened at {_opened(owner)}, were "
                f"never closed and own {format_bytes(owner.bytes)} in {format_count(owner.storages)} storages "
                f"allocated at {case.place}"
            ),
            fix="Open the scope in a with block, so that it is closed on every way out.",
        )
    if 2 * owner.held <= owner.storages:
        return None
    return Opinion(
        cause="scope_not_closed",
        explanation=(
            f"the scope {owner.name}, opened at {_opened(owner)}, stays open over all steps and owns "
            f"{format_bytes(owner.bytes)} in {format_count(owner.storages)} storages allocated at {case.place}"
        ),
        fix="Give each step a child scope for what only the step needs, and let the long-lived one own the parameters.",
    )


def _opened(owner: ScopeOwner) -> str:
    if not owner.opened_at:
        return "an unknown place"
    frame = owner.opened_at[0]
    return f"line {frame.line} in {frame.function}"

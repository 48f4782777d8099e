"""Hooks and callbacks that are registered again and again and never removed."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["hook_accumulation"]


def hook_accumulation(case: Case) -> Opinion | None:
    """Asked of growing tables of hooks, and of cycles through a tensor's own hook, which no collector sees through."""
    link = case.suspect_link
    if link is not None and link.trait == "hooks":
        where = f", at {case.kept_at}" if case.kept_at else ""
        cell = next((k.name for k in case.kept if k.name.startswith("closure cell")), None)
        keeps = f"; each keeps {cell}" if cell else ""
        return Opinion(
            cause="hook_accumulation",
            explanation=f"{case.holder} gains a hook again and again{where}, and none is removed{keeps}",
            fix="Keep the handle that registering returns and call handle.remove(); or register once, before the loop.",
        )
    path = case.path
    if path is None or path.root_kind not in ("cycle", "native", "surplus"):
        return None
    cell = next((k.name for k in path.links if k.name.startswith("closure cell")), None)
    if cell is None or case.suspect.site is None or case.suspect.site.in_graph * 2 <= case.suspect.site.storages[-1]:
        return None
    return Opinion(
        cause="hook_accumulation",
        explanation=(
            f"a hook on a tensor holds that tensor itself, by {cell}: the way back goes through its C++ graph, and no "
            f"collector can free such a cycle; what {case.place} allocated stays with it"
        ),
        fix="Let the hook use its argument, or a detached copy made before it; or remove the hook by its handle.",
    )

"""A tensor with a grad_fn is kept, and through it the whole graph that made it."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.units import format_bytes

__all__ = ["autograd_graph_retained"]

_OBJECTS = ("heap.used", "python.bytes", "python.blocks", "graph.nodes")


def autograd_graph_retained(case: Case) -> Opinion | None:
    """Asked of survivors that autograd holds, and of nodes that grow in number."""
    site = case.suspect.site
    recorded = site is not None and bool(site.storages) and site.in_graph * 2 > site.storages[-1]
    if site is not None and (recorded or "node" in case.on_path):
        explanation = (
            f"an autograd graph holds the tensors allocated at {case.place}: {_keeper(case)} keeps a tensor that still "
            f"has its grad_fn{_saved(case)}"
        )
    elif case.grows("graph.nodes") and case.suspect.metric in _OBJECTS:
        explanation = (
            f"{case.rate('graph.nodes'):.3g} autograd nodes a step stay alive: {_keeper(case)} keeps a tensor whose "
            "graph reaches back into earlier steps (backward frees what nodes saved, not the nodes)"
        )
    else:
        return None
    return Opinion(cause="autograd_graph_retained", explanation=explanation, fix=_fix(case))


def _keeper(case: Case) -> str:
    if case.path is None or case.path.suspect is None:
        return "something that outlives the step"
    if case.path.root_kind in ("native", "cycle", "surplus"):
        return f"a cycle through C++ ({' > '.join(link.text for link in case.path.links)})"
    return f"{case.holder} (bound at {case.kept_at})" if case.kept_at and case.path.grew is None else case.holder


def _saved(case: Case) -> str:
    nodes = case.held.nodes[:2] if case.held is not None else ()
    told = [f"{n.name} {format_bytes(n.bytes)}" for n in nodes if n.bytes]
    return f"; saved by {' and '.join(told)}" if told else ""


def _fix(case: Case) -> str:
    if case.path is not None and case.path.root_kind in ("native", "cycle"):
        return (
            "Break the cycle through the graph: save inputs and outputs themselves with ctx.save_for_backward, never a "
            "view of an output or an attribute of ctx; take closures that hold the tensor off it."
        )
    at = f"At {case.kept_line}, keep" if case.kept_line else "Keep"
    return f"{at} loss.item() for a total, .detach() for a tensor that is needed later; {case.holder} needs no graph."

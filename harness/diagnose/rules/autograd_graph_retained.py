"""A tensor with a grad_fn is kept, and through it the whole graph that made it."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion

__all__ = ["autograd_graph_retained"]


def autograd_graph_retained(case: Case) -> Opinion | None:
    """Asked of survivors that autograd holds, and of nodes that grow in number."""
    site = case.suspect.site
    if site is not None and site.storages and site.in_graph * 2 > site.storages[-1]:
        explanation = (
            f"the tensors allocated at {case.place} stay alive because an autograd graph holds them: something keeps "
            "a tensor that still has its grad_fn"
        )
    elif case.grows("graph.nodes") and case.suspect.metric in ("heap.used", "python.bytes", "graph.nodes"):
        explanation = (
            f"{case.rate('graph.nodes'):.3g} autograd nodes a step stay alive: something keeps a tensor whose graph "
            "reaches back into earlier steps (backward frees what nodes saved, not the nodes)"
        )
    else:
        return None
    return Opinion(
        cause="autograd_graph_retained",
        explanation=explanation,
        fix="Keep numbers instead: loss.item() for a total, .detach() for a tensor that is needed later.",
    )

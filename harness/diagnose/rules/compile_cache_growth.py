"""Something is compiled, traced or scripted again and again, and what came of it is kept for ever."""

from __future__ import annotations

from harness.diagnose.case import Case, Opinion
from harness.diagnose.holders import COMPILERS, LEAST_COMPILED_RATE, compiled_rate

__all__ = ["compile_cache_growth"]


def compile_cache_growth(case: Case) -> Opinion | None:
    """Asked where a compiler's own counts or tables grow and no container of the program's own does."""
    if case.suspect.site is None and case.suspect.metric not in ("heap.used", "python.bytes", "python.blocks"):
        return None
    path = case.path
    if path is not None and path.root_kind in ("module", "class", "local", "thread"):
        return None
    count, rate = compiled_rate(case.held) if case.held is not None else ("", 0.0)
    grows = rate >= LEAST_COMPILED_RATE
    if not grows and not (path is not None and path.grew is not None and path.root.startswith(COMPILERS)):
        return None
    where = f" at {case.place}" if case.suspect.site is not None or case.retained_at else ""
    what = f"{rate:.3g} new {count} a step" if grows else f"{path.text if path else ''} grows"
    return Opinion(
        cause="compile_cache_growth",
        explanation=f"{what}{where}: each is kept by the compiler's own tables, with its constants and its source",
        fix=(
            "Compile, trace or script once, outside the step, and pass as arguments what changes; where code must be "
            "generated, torch.compiler.reset() or torch.jit._state._python_cu.drop_all_functions() empties the tables."
        ),
    )

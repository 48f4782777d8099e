"""An error of torch's in the user's own words: which tensors met, which parameter has no gradient, which line changed
what backward needs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

import msgspec

from harness.gradients.named import listed
from harness.gradients.watch.calls import Call, Place, Value, above
from harness.gradients.watch.why_null import Missing, why_null
from harness.model.recording import FaultRecord

__all__ = ["told_by_the_step"]

_CHANGED = re.compile(r"\[torch\.(?:\w+\.)?\w+ \[([\d, ]*)\]\]")
_NAMED = frozenset({"device_mismatch", "dtype_mismatch", "shape_mismatch"})


def told_by_the_step(fault: FaultRecord, call: Call, message: str, calls: Iterable[Call]) -> FaultRecord:
    """*fault*, that was told from torch's words alone, with what the step's *calls* know; *call* is the one that
    raised."""
    explain = _EXPLAIN.get(fault.fault)
    more = explain(fault, call, message, tuple(calls)) if explain is not None else None
    return more if more is not None else fault


def _operands(fault: FaultRecord, call: Call, message: str, calls: tuple[Call, ...]) -> FaultRecord | None:
    if not call.inputs:
        return None
    given = " and ".join(value.told for value in call.inputs[:3])
    return msgspec.structs.replace(
        fault, explanation=f"{call.place}: {call.title} was given {given}. {_what_torch_said(fault)}"
    )


def _loss(fault: FaultRecord, call: Call, message: str, calls: tuple[Call, ...]) -> FaultRecord | None:
    if not call.inputs:
        return None
    loss = call.inputs[0]
    elements = math.prod(loss.shape)
    text = (
        f"backward was called on {loss.told}: {elements} elements, so there is no one place to start from "
        f"(.mean() or .sum() make one number of them; they differ by the factor {elements})"
    )
    return msgspec.structs.replace(fault, explanation=text)


def _null(fault: FaultRecord, call: Call, message: str, calls: tuple[Call, ...]) -> FaultRecord | None:
    """Backward from a loss that no graph leads to: why each parameter that the step used is not in it."""
    if call.name not in ("backward", "grad") or not call.inputs:
        return None
    loss = call.inputs[0]
    every = {id(value): value for made in calls for value in made.inputs if value.made_by is None and value.is_leaf}
    wanted = [value for value in every.values() if value.requires_grad]
    if not wanted:
        return _without_anything_to_reach(fault, loss, call)
    reasons = [(value, why_null(_missing(value, loss))) for value in wanted]
    reason = next((r for _, r in reasons if r.code not in ("not_used", "not_in_loss")), reasons[0][1])
    told = tuple(v.name for v, r in reasons if r == reason)
    return _with_reason(fault, f"no gradient comes to {listed(told)}: {reason.text}", reason.code, told, reason.place)


def _without_anything_to_reach(fault: FaultRecord, loss: Value, call: Call) -> FaultRecord:
    """Nothing that the step was seen to use requires a gradient."""
    if loss.made_by is None and loss.is_leaf:
        text = (
            f"{call.place}: the loss has no graph, and no call that made it was seen: it was made before, or by "
            "scripted or compiled code, with gradients off or of constants"
        )
        return _with_reason(fault, text, "no_graph", (), None)
    wanted = tuple(v.name for v in above(loss) if v is not loss and v.made_by is None and v.is_float)
    if not wanted:
        return _with_reason(
            fault, f"{call.place}: the loss is a constant: no tensor came into it", "constant_loss", (), None
        )
    text = f"{call.place}: the loss was made of {listed(dict.fromkeys(wanted))}, and none of it requires a gradient"
    return _with_reason(fault, text, "requires_no_grad", tuple(dict.fromkeys(wanted)), None)


def _missing(value: Value, loss: Value) -> Missing:
    return Missing(
        requires_grad=value.requires_grad,
        is_leaf=value.is_leaf,
        made_by=None,
        is_float=value.is_float,
        dtype=value.dtype,
        value=value,
        loss=loss,
        backward_ran=True,
    )


def _in_place(fault: FaultRecord, call: Call, message: str, calls: tuple[Call, ...]) -> FaultRecord | None:
    """The last change in place of a tensor of the shape that torch names, made by the function that it names."""
    if call.in_place and call.inputs:
        target = call.inputs[0]
        text = f"{call.place}: {call.title} changes {target.told} in place, a leaf that requires a gradient; that is "
        text += "allowed under torch.no_grad() only"
        return msgspec.structs.replace(fault, explanation=text)
    found = _CHANGED.search(message)
    shape = tuple(int(n) for n in found[1].split(",") if n.strip()) if found else None
    changes = [
        c for c in calls if c.in_place and c.inputs and (shape is None or c.inputs[0].before_changes.shape == shape)
    ]
    if not changes:
        return None
    change = changes[-1]
    origin = change.inputs[0].before_changes
    made = f", the result of {origin.made_by.at}" if origin.made_by is not None else ""
    text = f"{change.place}: {change.title} changed {origin.told}{made}, in place, although backward needs it as it was"
    return _with_reason(fault, text, None, (), change.place)


def _with_reason(
    fault: FaultRecord, text: str, code: str | None, names: tuple[str, ...], place: Place | None
) -> FaultRecord:
    changed = msgspec.structs.replace(fault, explanation=text, reason=code, parameters=names)
    if place is None:
        return changed
    return msgspec.structs.replace(
        changed, path=place.path, line=place.line, function=place.function, source=place.source
    )


def _what_torch_said(fault: FaultRecord) -> str:
    _, speaker, said = fault.explanation.partition("torch says: ")
    return speaker + said if speaker else fault.explanation


_Explain = Callable[[FaultRecord, Call, str, tuple[Call, ...]], FaultRecord | None]
_EXPLAIN: dict[str, _Explain] = {
    **dict.fromkeys(_NAMED, _operands),
    "non_scalar_loss": _loss,
    "null_gradient": _null,
    "in_place_on_graph": _in_place,
}

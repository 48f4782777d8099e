"""Where a gradient that is all zero dies: the call whose result still has one."""

from __future__ import annotations

from collections.abc import Callable

from harness.gradients.watch.calls import Call, Value
from harness.gradients.watch.why_null import Reason

__all__ = ["why_zero"]

_FLAT = frozenset({"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside", "round_", "floor_"})
_RECTIFYING = frozenset({"relu", "relu_", "relu6", "hardtanh", "hardswish", "threshold", "clamp_min", "clamp", "clip"})
_SATURATING = frozenset({"sigmoid", "tanh", "hardsigmoid", "softmax", "log_softmax", "erf", "softsign"})
_LOSSES = frozenset({"pow", "square", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "abs", "__pow__", "norm"})


def why_zero(parameter: Value, loss: Value | None) -> Reason | None:
    """The reason; None where there is no known one. A loss that is at its least (it is 0, or the term that leads to
    *parameter* is) is no fault, and neither are ways that cancel each other out (a critic's bias)."""
    if loss is not None and loss.zero:
        return None
    call = _where_it_dies(parameter)
    if call is None:
        return None
    if call.name in _LOSSES and any(value.zero for value in call.outputs):
        return None
    return next((reason for reason in (rule(call, parameter) for rule in _RULES) if reason is not None), None)


def _where_it_dies(parameter: Value) -> Call | None:
    """Along values whose gradient is all zero, the first call of which a result has one that is not."""
    seen, waiting = {id(parameter)}, [parameter]
    for value in waiting:
        for call in value.used_by:
            if any(output.gradient_zero is False or output.starts_backward for output in call.outputs):
                return call
            for output in call.outputs:
                if output.gradient_zero and id(output) not in seen:
                    seen.add(id(output))
                    waiting.append(output)
    return None


def _zero_factor(call: Call, parameter: Value) -> Reason | None:
    others = [value for value in call.inputs if value.zero and value is not parameter]
    if call.name in _FLAT or call.name in _RECTIFYING or not others:
        return None
    zeros = " and ".join(dict.fromkeys(value.name for value in others[:2]))
    return Reason(
        code="zero_factor", text=f"it dies in {call.at}, where it is multiplied by {zeros}: all zero", place=call.place
    )


def _flat(call: Call, parameter: Value) -> Reason | None:
    if call.name not in _FLAT:
        return None
    return Reason(code="flat", text=f"it dies in {call.at}, whose derivative is 0 everywhere", place=call.place)


def _dead(call: Call, parameter: Value) -> Reason | None:
    if call.name not in _RECTIFYING or any(value.positive for value in call.inputs[:1]):
        return None
    text = f"it dies in {call.at}: a dead activation, none of its inputs is above 0"
    return Reason(code="dead_activation", text=text, place=call.place)


def _saturated(call: Call, parameter: Value) -> Reason | None:
    if call.name not in _SATURATING and call.name not in _RECTIFYING:
        return None
    text = f"it dies in {call.at}, which is saturated: its derivative is 0 at every one of its inputs"
    return Reason(code="saturated", text=text, place=call.place)


def _by_a_number(call: Call, parameter: Value) -> Reason | None:
    if call.name not in ("mul", "mul_", "__rmul__") or not all(value.zero for value in call.outputs):
        return None
    return Reason(code="zero_factor", text=f"it dies in {call.at}, where it is multiplied by 0", place=call.place)


_RULES: tuple[Callable[[Call, Value], Reason | None], ...] = (
    _flat,
    _dead,
    _saturated,
    _zero_factor,
    _by_a_number,
)

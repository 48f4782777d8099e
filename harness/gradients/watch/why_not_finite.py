"""Where numbers first stop being finite: in the data, in a forward call, or only in a call's backward."""

from __future__ import annotations

from collections.abc import Iterable

from harness.gradients.watch.calls import Call, Value, above
from harness.gradients.watch.numbers import count_not_finite, range_of
from harness.gradients.watch.why_null import Reason

__all__ = ["why_not_finite"]

_MASKING = frozenset(
    {"masked_fill", "masked_fill_", "where", "full", "full_like", "fill_", "__setitem__", "triu", "tril"}
)
_WORDS = {"nan": "NaN", "infinite": "infinite numbers"}


def why_not_finite(loss: Value | None, calls: Iterable[Call]) -> Reason | None:
    """The reason, by what came into *loss*; where the loss is finite, by the gradients of what its graph has."""
    if loss is not None and loss.state in ("nan", "infinite"):
        return _in_forward(loss)
    return _in_backward(calls)


def _in_forward(loss: Value) -> Reason | None:
    """The earliest call above the loss that made such numbers of finite ones; else what brought them."""
    wrong = [value for value in above(loss) if value.state in ("nan", "infinite")]
    made = [value.made_by for value in wrong if value.made_by is not None and not _masks(value.made_by)]
    born = [call for call in made if not any(value.state in ("nan", "infinite") for value in call.inputs)]
    if born:
        return _made_by(min(born, key=lambda call: call.order))
    brought = [value for value in wrong if value.made_by is None or not value.made_by.inputs]
    if brought:
        return _brought_by(brought[-1])
    return _made_by(min(made, key=lambda call: call.order)) if made else None


def _made_by(call: Call) -> Reason:
    output = next(value for value in call.outputs if value.state in ("nan", "infinite"))
    tensors = [(value.name, value.weak()) for value in call.inputs if value.is_float]
    given = ", ".join(f"{name}: {range_of(tensor)}" for name, tensor in tensors[:2] if tensor is not None)
    what = _WORDS[output.state or "nan"]
    text = f"{call.at} is the first to make {what}, of finite ones" + (f" ({given})" if given else "")
    return Reason(code="forward", text=text, place=call.place)


def _brought_by(value: Value) -> Reason:
    tensor = value.weak()
    used = value.used_by[0] if value.used_by else None
    count = f"{count_not_finite(tensor)} of {tensor.numel()} numbers of " if tensor is not None else ""
    into = f" when it comes into {used.at}" if used is not None else ""
    what = "the parameter " if value.requires_grad else "the data: "
    return Reason(
        code="parameter" if value.requires_grad else "data",
        text=f"{what}{count}{value.name} are {_WORDS[value.state or 'nan']}{into}",
        place=used.place if used is not None else None,
    )


def _in_backward(calls: Iterable[Call]) -> Reason | None:
    """The call whose result has a finite gradient and an input of which has not: the first that backward comes to."""
    for call in sorted(calls, key=lambda call: -call.order):
        after = [value for value in call.outputs if value.gradient is not None or value.starts_backward]
        before = [value for value in call.inputs if value.gradient in ("nan", "infinite")]
        if before and after and all(value.gradient in ("finite", None) for value in after):
            return _in_backward_of(call)
    return None


def _in_backward_of(call: Call) -> Reason:
    hidden = next((value for value in call.outputs if value.state in ("nan", "infinite")), None)
    text = f"the forward is finite, and backward of {call.at} is the first that is not"
    if hidden is not None:
        text = (
            f"the loss is finite, but {call.at} makes {_WORDS[hidden.state or 'nan']} that a mask hides; in backward 0 "
            "times infinity is NaN"
        )
    return Reason(code="backward", text=text, place=call.place)


def _masks(call: Call) -> bool:
    return call.infinities or call.name in _MASKING

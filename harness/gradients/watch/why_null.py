"""Why a parameter got no gradient: where its way to the loss was cut. The first rule that has something to say."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from harness.gradients.watch.calls import Call, Place, Value, above, below

__all__ = ["Missing", "Reason", "why_null"]

_DETACHING = frozenset({"detach", "detach_", "data.__get__"})
_COPYING = frozenset({"tensor", "new_tensor", "as_tensor", "asarray"})
_LEAVING = frozenset({"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__", "__index__"})
_WITHOUT_DERIVATIVE = frozenset({"argmax", "argmin", "argsort", "bincount", "searchsorted", "bucketize", "signbit"})


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """``code`` for programs, ``text`` as half a sentence, and the line where it went wrong where that is known."""

    code: str
    text: str
    place: Place | None = None


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: the parameter (None where the step never saw it), and the loss that backward began with."""

    requires_grad: bool
    is_leaf: bool
    made_by: str | None
    is_float: bool
    dtype: str
    value: Value | None
    loss: Value | None
    backward_ran: bool


def _no_number_with_a_gradient(missing: Missing) -> Reason | None:
    if missing.is_float:
        return None
    return Reason(code="integer", text=f"it is of {missing.dtype}, and only floating and complex numbers have one")


def _asks_for_none(missing: Missing) -> Reason | None:
    if missing.requires_grad:
        return None
    return Reason(code="requires_no_grad", text="it does not require a gradient (requires_grad is False)")


def _not_a_leaf(missing: Missing) -> Reason | None:
    if missing.is_leaf:
        return None
    made = missing.value.made_by if missing.value is not None else None
    by = made.at if made is not None else missing.made_by
    return Reason(
        code="not_a_leaf",
        text=f"it is no leaf but the result of {by}, and a gradient is only kept for leaves",
        place=made.place if made is not None else None,
    )


def _no_backward(missing: Missing) -> Reason | None:
    return None if missing.backward_ran else Reason(code="no_backward", text="backward never ran")


def _never_used(missing: Missing) -> Reason | None:
    if missing.value is not None and any(missing.value.used_by):
        return None
    return Reason(
        code="not_used",
        text="nothing was computed from it: no call used it (is another one in its place?)",
    )


def _cut(missing: Missing) -> Reason | None:
    """The first call on its way to the loss whose result requires no gradient, although an input does."""
    assert missing.value is not None
    to_the_loss = {id(value) for value in above(missing.loss)} if missing.loss is not None else None
    for call in below(missing.value):
        if call.name == "backward" or not any(value.requires_grad for value in call.inputs):
            continue
        outputs = [value for value in call.outputs if not value.requires_grad]
        if outputs and (to_the_loss is None or any(id(value) in to_the_loss for value in outputs)):
            return _reason_of(call, outputs[0])
    return None


def _reason_of(call: Call, output: Value) -> Reason:
    if call.inference:
        return Reason(code="inference_mode", text=f"{call.at} ran under torch.inference_mode()", place=call.place)
    if call.name in _DETACHING:
        how = ".data" if call.name == "data.__get__" else f"{call.name}()"
        return Reason(code="detached", text=f"{how} at {call.place} detached what was made of it", place=call.place)
    if call.name in _COPYING:
        return Reason(code="copied", text=f"{call.at} copied its numbers into a new tensor", place=call.place)
    if not output.is_float:
        text = f"{call.at} made integers of it ({output.dtype}), which have no gradient"
        return Reason(code="integer", text=text, place=call.place)
    if not call.grad_enabled:
        return Reason(code="no_grad", text=f"{call.at} ran with gradients off (torch.no_grad())", place=call.place)
    return Reason(code="no_derivative", text=f"{call.at} has no derivative", place=call.place)


def _left_torch(missing: Missing) -> Reason | None:
    assert missing.value is not None
    for call in below(missing.value):
        if call.name in _LEAVING or (call.name in _WITHOUT_DERIVATIVE):
            text = f"{call.name}() at {call.place} made plain numbers of what was computed from it"
            return Reason(code="left_torch", text=text, place=call.place)
    return None


def _not_in_the_loss(missing: Missing) -> Reason:
    used = missing.value.used_by[0] if missing.value is not None and missing.value.used_by else None
    where = f": it came into {used.at}, and nothing of that into the loss" if used is not None else ""
    return Reason(code="not_in_loss", text=f"the loss does not depend on it{where}", place=used.place if used else None)


_RULES: tuple[Callable[[Missing], Reason | None], ...] = (
    _no_number_with_a_gradient,
    _asks_for_none,
    _not_a_leaf,
    _no_backward,
    _never_used,
    _cut,
    _left_torch,
    _not_in_the_loss,  # always has something to say
)


def why_null(missing: Missing) -> Reason:
    """The reason that there is no gradient."""
    return next(reason for reason in (rule(missing) for rule in _RULES) if reason is not None)

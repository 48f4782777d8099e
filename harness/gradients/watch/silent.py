"""Mixtures that torch takes without a word: two devices, numbers promoted to float64, shapes broadcast to their
product."""

from __future__ import annotations

import math

import torch

from harness.gradients.watch.calls import Call, Value
from harness.model.recording import FaultRecord

__all__ = ["silent_fault"]

_LEAST_BROADCAST = 8
"""Elements: two of three elements each are as likely a table on purpose."""

_MOVING = frozenset({"to", "type_as", "__getitem__", "index_select", "equal", "backward", "copy_"})
"""They bring numbers from one device to another, or take an index from one."""

_CONVERTING = frozenset({"to", "type_as", "copy_", "where", "double"})


def silent_fault(call: Call, step: int) -> FaultRecord | None:
    """What *call* did to its values without being asked to, or None."""
    if len(call.inputs) < 2 or not call.outputs or call.in_place:
        return None
    one, other, result = call.inputs[0], call.inputs[1], call.outputs[0]
    if one.device != other.device and one.shape and other.shape and call.name not in _MOVING:
        text = (
            f"{call.place}: {call.title} was given {one.told} and {other.told}; torch says nothing, and gives garbage"
        )
        return _fault("device_mismatch", text, call, step)
    if _promoted(call, one, other, result):
        wide = one if one.dtype == "float64" else other
        text = (
            f"{call.place}: {call.title} was given {one.told} and {other.told}, and the result became float64 "
            f"without a word: twice the bytes, and slower from here on ({wide.name} is the float64 one)"
        )
        return _fault("dtype_mismatch", text, call, step)
    if _crossed(one, other):
        crossed = torch.broadcast_shapes(one.shape, other.shape)
        text = (
            f"{call.place}: {call.title} was given {one.told} and {other.told}, and broadcast them to {list(crossed)}: "
            f"every element with every element, {math.prod(crossed):,} numbers instead of {_elements(one):,}"
        )
        return _fault("shape_mismatch", text, call, step)
    return None


def _promoted(call: Call, one: Value, other: Value, result: Value) -> bool:
    """A float32 (or smaller) tensor met a float64 one. A number, also as a tensor without dimensions, promotes none."""
    kinds = {one.dtype, other.dtype}
    return (
        call.name not in _CONVERTING
        and result.dtype == "float64"
        and "float64" in kinds
        and bool(kinds & {"float32", "float16", "bfloat16"})
        and bool(one.shape and other.shape)
    )


def _crossed(one: Value, other: Value) -> bool:
    """``(n, 1)`` met ``(n,)``. Whoever means all pairs makes a row of it, ``(1, n)``, or takes both from one tensor."""
    longer, shorter = (one, other) if len(one.shape) > len(other.shape) else (other, one)
    return (
        _elements(one) == _elements(other) >= _LEAST_BROADCAST
        and longer.shape == (*shorter.shape, 1)
        and shorter.shape[-1:] != (1,)
        and (one.memory is None or one.memory != other.memory)
    )


def _elements(value: Value) -> int:
    return math.prod(value.shape)


def _fault(fault: str, text: str, call: Call, step: int) -> FaultRecord:
    place = call.place
    return FaultRecord(
        fault=fault,
        explanation=text,
        step=step,
        raised=False,
        path=place.path if place else None,
        line=place.line if place else None,
        function=place.function if place else None,
        source=place.source if place else None,
        reason="silent",
    )

"""Sees tensors of two devices meet in one operator, also where torch itself stays silent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from harness.gradients.watch.frames import users_frames
from harness.gradients.watch.labels import Labels
from harness.ledger.sites import SiteTable
from harness.model.recording import FaultRecord

__all__ = ["DeviceObserver"]

_MAY_MIX = frozenset(
    f"aten::{name}"
    for name in (
        "copy_", "_to_copy", "_copy_from", "_copy_from_and_resize", "_foreach_copy_", "index", "index_put",
        "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put", "set_", "is_same_size",
        "equal", "resize_as_", "_local_scalar_dense", "_amp_update_scale_",
        "_amp_foreach_non_finite_check_and_unscale_",
    )
)  # fmt: skip
"""Operators that move data between devices, or take an index or a scalar from another one, on purpose."""

_MOST_KEPT = 16


class DeviceObserver:
    """Called before each operator. A tensor with no dimensions on the CPU may meet any device: torch allows it."""

    def __init__(self) -> None:
        self._table = SiteTable(depth=1)
        self._step = 0
        self._faults: dict[int, FaultRecord] = {}

    def at_step(self, step: int) -> None:
        """Tell which step is about to run."""
        self._step = step

    def __call__(self, operator: str, arguments: Sequence[Any]) -> None:
        first: Any = None
        for argument in arguments:
            for tensor in argument if type(argument) in (list, tuple) else (argument,):
                device = getattr(tensor, "device", None)
                if device is None or not hasattr(tensor, "dim") or tensor.dim() == 0:
                    continue
                if first is None:
                    first = tensor
                elif device != first.device and operator not in _MAY_MIX:
                    self._note(operator, first, tensor)
                    return

    def faults(self) -> tuple[FaultRecord, ...]:
        """What was seen so far, one record a line of the user's code."""
        return tuple(self._faults.values())

    def _note(self, operator: str, one: Any, other: Any) -> None:
        site = self._table.number_of(operator, sys._getframe(3))
        known = self._faults.get(site)
        if known is not None:
            self._faults[site] = msgspec.structs.replace(known, count=known.count + 1)
            return
        if len(self._faults) >= _MOST_KEPT:
            return
        frames = self._table.frames(site)[1]
        at = frames[0] if frames else None
        self._faults[site] = FaultRecord(
            fault="device_mismatch",
            explanation=(
                f"{f'line {at.line}: ' if at else ''}{operator.removeprefix('aten::')} was given {_told(one)} and "
                f"{_told(other)}; where torch raises nothing, the result is garbage"
            ),
            step=self._step,
            raised=False,
            path=at.path if at else None,
            line=at.line if at else None,
            function=at.function if at else None,
            source=at.source if at else None,
        )


def _told(tensor: Any) -> str:
    """``WEIGHT (shape [8, 32], on meta)``, by the name that the running function has for it, or for what it views."""
    labels, frames = Labels(), users_frames()
    name = labels.of(tensor, frames)
    if name is None and tensor._base is not None:
        name = labels.of(tensor._base, frames)
    return f"{name or 'a tensor'} (shape {list(tensor.shape)}, on {tensor.device})"

"""How many backward passes are summed up in a gradient since it was last nothing.

Torch adds, and keeps no count. While a block is open, two hooks on each parameter count: one before a gradient is
added looks whether something is there to add to, one afterwards counts the pass. A backward that the program runs by
itself is seen as well. What a block leaves behind is remembered with the parameter, for the next block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from torch.utils.weak import TensorWeakRef, WeakTensorKeyDictionary

from harness.errors import GradientError
from harness.gradients.named import listed
from harness.gradients.values import is_zero

if TYPE_CHECKING:
    import torch

__all__ = ["PassCounter", "Running", "StaleGradient", "stale_error"]


class StaleGradient(msgspec.Struct, frozen=True, kw_only=True):
    """A gradient that was added to, or left over, where it should have been set to nothing. ``passes`` backward passes
    are summed up in it, ``factor`` times as many as there should be; at least so many where ``at_least`` is set, since
    some ran outside of any collector. ``from_before`` where it was there before the block, and nothing was added."""

    parameter: str
    passes: int
    factor: float
    at_least: bool
    from_before: bool


class _Left(msgspec.Struct, weakref=True, eq=False):
    """What a block left in a gradient: how many passes, and how to know whether it is still the same."""

    passes: int
    exact: bool
    gradient: Any
    version: int


_LEFT: Any = WeakTensorKeyDictionary()  # parameter -> _Left


class Running:
    """The collector's own backward that runs now, by number; 0 while none does."""

    number = 0


class PassCounter:
    """Counts for one parameter during one block. Holds the parameter weakly.

    A backward inside a backward (checkpoint with use_reentrant=True) adds to a parameter by itself; as parts of one
    *running* backward of the collector they are one pass.
    """

    def __init__(self, name: str, parameter: torch.Tensor, running: Running) -> None:
        self._running = running
        self._counted = 0
        self.name = name
        self._parameter: Any = TensorWeakRef(parameter)
        self.passes = 0
        self.worst = 0
        self.added = 0
        self.exact = True
        self.from_before = False
        self._seen: Any = None
        self._version = -1
        self._begin(parameter)
        self._handles = [
            parameter.register_hook(self._before_adding),
            parameter.register_post_accumulate_grad_hook(self._after_adding),
        ]

    def stop(self) -> None:
        """Remove the hooks, look once more, and remember for the next block."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        parameter = self._parameter()
        if parameter is None:
            return
        gradient = self._look(parameter)
        if gradient is None or not self.passes:
            _LEFT.pop(parameter, None)
        else:
            _LEFT[parameter] = _Left(self.passes, self.exact, self._seen, gradient._version)

    def stale(self, accumulate: int) -> StaleGradient | None:
        """Whether more than *accumulate* passes were summed up, or an older block's gradient is still there alone."""
        alone = self.from_before and not self.added and accumulate == 1
        if self.worst <= accumulate and not alone:
            return None
        return StaleGradient(
            parameter=self.name,
            passes=self.worst,
            factor=self.worst / accumulate,
            at_least=not self.exact,
            from_before=alone,
        )

    def _begin(self, parameter: torch.Tensor) -> None:
        gradient = parameter.grad
        if gradient is None or is_zero(gradient):
            return
        left = _LEFT.get(parameter)
        if left is not None and left.gradient() is gradient and left.version == gradient._version:
            self.passes, self.exact = left.passes, left.exact
        else:
            self.passes, self.exact = 1, False  # zeroed and filled again, or added to: nobody saw it
        self.worst = self.passes
        self.from_before = True
        self._note(gradient)

    def _look(self, parameter: torch.Tensor) -> torch.Tensor | None:
        """The gradient as it is now; where the program has set it to nothing meanwhile, the count starts anew. One
        that was not touched is not read again."""
        gradient = parameter.grad
        untouched = self._seen is not None and self._seen() is gradient
        if gradient is not None and untouched and gradient._version == self._version:
            return gradient
        if gradient is None or is_zero(gradient):
            self.passes, self.exact, self.from_before = 0, True, False
        else:
            self.passes = max(self.passes, 1)
            self.worst = max(self.worst, self.passes)
        self._note(gradient)
        return gradient

    def _note(self, gradient: torch.Tensor | None) -> None:
        self._seen = TensorWeakRef(gradient) if gradient is not None else None
        self._version = gradient._version if gradient is not None else -1

    def _before_adding(self, new: torch.Tensor) -> None:
        parameter = self._parameter()
        if parameter is not None:
            self._look(parameter)

    def _after_adding(self, parameter: torch.Tensor) -> None:
        if not self._running.number or self._running.number != self._counted:
            self.passes += 1
            self.added += 1
        self._counted = self._running.number
        self.worst = max(self.worst, self.passes)
        self._note(parameter.grad)


def stale_error(found: tuple[StaleGradient, ...], accumulate: int) -> GradientError:
    """The error that names the parameters and says the factor of the worst."""
    worst = max(found, key=lambda stale: stale.passes)
    least = "at least " if worst.at_least else ""
    names = listed(stale.parameter for stale in found)
    if all(stale.from_before for stale in found):
        what = (
            f"from before this block, with {least}{_times(worst.passes, 'backward pass')} in it, are still there, and "
            "nothing in the block replaced them: a step would use them once more"
        )
    else:
        meant = f", where {accumulate} are accumulated on purpose" if accumulate > 1 else ""
        what = (
            f"are the sum of {least}{_times(worst.passes, 'backward pass')} since they were last set to nothing{meant}"
            f": {least}{worst.factor:g} times what they should be"
        )
    return GradientError(
        f"gradients {what} ({names})",
        fault="gradients_not_zeroed",
        parameters=tuple(stale.parameter for stale in found),
        factor=worst.factor,
        help=(
            "Call optimizer.zero_grad() after each step, or leave the collector with on_exit='none'. To accumulate k "
            "passes on purpose, divide the loss by k and say accumulate=k."
        ),
    )


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}es"

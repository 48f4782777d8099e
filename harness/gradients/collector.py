"""GradientCollector: a block in which backward is asked for, with gradients that are what they seem."""

from __future__ import annotations

import itertools
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from harness.errors import GradientContextError, GradientError, UsageError
from harness.gradients.active import Block
from harness.gradients.clearing import set_to_none, set_to_zero
from harness.gradients.finite import NonFinite, non_finite, non_finite_error
from harness.gradients.named import NamedParameters, Parameters
from harness.gradients.passes import PassCounter, Running, StaleGradient, stale_error
from harness.gradients.refusals import refusal

if TYPE_CHECKING:
    import torch

__all__ = ["GradientCollector", "OnExit"]

_NUMBERS = itertools.count(1)

OnExit = Literal["keep", "zero", "none", "fail_if_stale"]


class GradientCollector:
    """``with GradientCollector(model, on_exit="none") as collector: collector.backward(loss_of(batch))``

    Gradients are on inside and as they were afterwards, on every way out. One is active in a context. At the end of
    the block the gradients of the named parameters, and of no others, are left as they are ("keep"), are overwritten
    with zeros ("zero"), are set to None ("none"), or are left as they are and are an error if they hold more than the
    *accumulate* backward passes that belong together, or are older than the block ("fail_if_stale"). All but "keep"
    look first whether they are finite, and raise afterwards if not. An exception of the block itself goes on its way
    with such findings as notes. It holds parameters weakly, and no graph.
    """

    def __init__(self, parameters: Parameters, *, on_exit: OnExit, accumulate: int = 1) -> None:
        if on_exit not in get_args(OnExit):
            raise UsageError(f"on_exit={on_exit!r} is unknown", help='One of "keep", "zero", "none", "fail_if_stale".')
        if type(accumulate) is not int or accumulate < 1:
            raise UsageError(
                f"accumulate={accumulate!r} is no number of backward passes", help="A whole number from 1 on."
            )
        self._named = NamedParameters(parameters)
        self._on_exit = on_exit
        self._accumulate = accumulate
        self._block: Block | None = None
        self._counters: dict[str, PassCounter] = {}
        self._running = Running()

    def __enter__(self) -> Self:
        if self._block is not None and self._block.is_open:
            raise GradientContextError(
                f"this gradient collector is entered already, at {self._block.place}, and not left yet",
                help="Give each thread and task a collector of its own.",
            )
        self._block = Block()
        self._counters = {}
        try:
            self._follow()
        except BaseException:
            self._stop_counting()
            self._block.leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        block = self._block
        assert block is not None
        errors: list[GradientError] = []
        first: BaseException | None = None
        try:
            try:
                self._stop_counting()
                errors += self._end()
            finally:
                wrong = block.leave()
            if wrong is not None:
                errors.insert(0, wrong)
            if not errors:
                return
            first = error if error is not None else errors.pop(0)
            assert first is not None
            for other in errors:
                first.add_note(str(other))
            if first is not error:
                raise first
        finally:
            errors.clear()
            error = first = None  # they have this frame in their traceback

    def backward(self, loss: torch.Tensor, gradient: torch.Tensor | None = None) -> None:
        """``loss.backward(gradient)``, refused before it runs where the loss is not one number and no *gradient* says
        how to weigh its elements (non_scalar_loss), or leads to none of the parameters (null_gradient). A loss of one
        element may have any shape. The graph is freed, as always."""
        if self._block is None or not self._block.is_open:
            raise GradientContextError(
                "backward is called on a gradient collector outside of its block",
                help="with GradientCollector(model, on_exit='none') as collector: collector.backward(loss)",
            )
        wrong = refusal(loss, gradient, self._named)
        if wrong is not None:
            del loss, gradient  # who keeps the error keeps this frame
            try:
                raise wrong
            finally:
                wrong = None
        self._follow()
        self._running.number = next(_NUMBERS)
        try:
            loss.backward(gradient)
        finally:
            self._running.number = 0

    def check_finite(self) -> None:
        """Raise non_finite_gradient, with the parameters and how many of their numbers: before ``optimizer.step()``."""
        found = self.non_finite()
        if found:
            raise non_finite_error(found)

    def non_finite(self) -> tuple[NonFinite, ...]:
        """The parameters whose gradients hold NaN or infinite numbers now."""
        return non_finite(self._named)

    @property
    def stale(self) -> tuple[StaleGradient, ...]:
        """The gradients of this block, or of the last one, that were not set to nothing when they should have been,
        whatever ``on_exit`` says."""
        found = (counter.stale(self._accumulate) for counter in self._counters.values())
        return tuple(stale for stale in found if stale is not None)

    @property
    def untouched(self) -> tuple[str, ...]:
        """The parameters that no backward of this block, or of the last one, gave a gradient."""
        counters = self._counters
        return tuple(name for name, _ in self._named if name not in counters or not counters[name].added)

    def _follow(self) -> None:
        """Count from now on for those that can have a gradient; some may only have been unfrozen in the block."""
        for name, parameter in self._named:
            if name not in self._counters and parameter.requires_grad and parameter.is_leaf:
                self._counters[name] = PassCounter(name, parameter, self._running)

    def _stop_counting(self) -> None:
        for counter in self._counters.values():
            counter.stop()

    def _end(self) -> list[GradientError]:
        errors: list[GradientError] = []
        if self._on_exit == "keep":
            return errors
        stale = self.stale if self._on_exit == "fail_if_stale" else ()
        if stale:
            errors.append(stale_error(stale, self._accumulate))
        try:
            found: tuple[Any, ...] = self.non_finite()
            if found:
                errors.append(non_finite_error(found))
        finally:
            if self._on_exit == "zero":
                set_to_zero(self._named)
            elif self._on_exit == "none":
                set_to_none(self._named)
        return errors

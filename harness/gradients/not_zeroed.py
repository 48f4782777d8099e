"""Sees an optimizer that steps twice with no zeroing between: gradients that are added instead of replaced."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from harness.model.recording import FaultRecord

__all__ = ["GradientObserver", "has_closure"]

_WATCHED = 4
"""Parameters watched per optimizer, the smallest first: each costs one look at its old gradient a backward pass."""


class _Watch(msgspec.Struct, weakref=True, eq=False):
    """One optimizer's state. ``stale`` is true while a gradient that a step has used is still being added to;
    ``cycles`` counts the steps since the gradient last started from nothing. ``removal`` takes its hooks away.
    ``used`` is a gradient that the last step used, with its version; ``reused`` counts steps that used it again."""

    stepped: bool = False
    stale: bool = False
    cycles: int = 1
    worst: int = 1
    times: int = 0
    first_step: int = -1
    removal: Callable[[], object] = list
    followed: tuple[weakref.ref[Any], ...] = ()
    used: tuple[weakref.ref[Any], weakref.ref[Any], int] | None = None
    reused: int = 0


class GradientObserver:
    """Watches every optimizer from its first step on.

    A hook on a leaf tensor is called with the *new* gradient before it is added to ``.grad``. If an optimizer has
    stepped since, and the old gradient is there and not zero, the step's gradient is being added to. It is a
    fault only if the optimizer then steps with it: several backward passes before one step (accumulation on
    purpose), or a backward of another loss before ``zero_grad`` (a GAN), are legal and raise nothing.

    An optimizer that steps twice on one gradient, which nobody touched in between, is the same fault from the other
    side: two threads that train one module at once do that, each with what both have added up.
    """

    def __init__(self) -> None:
        self._watches: weakref.WeakKeyDictionary[Any, _Watch] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._step = 0

    def start(self) -> None:
        """Register the global optimizer hooks."""
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        self._handles = [
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ]

    def stop(self) -> None:
        """Remove every hook that was set."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        for watch in list(self._watches.values()):
            watch.removal()

    def at_step(self, step: int) -> None:
        """Tell which step is about to run."""
        self._step = step

    def faults(self) -> tuple[FaultRecord, ...]:
        """What was seen so far, one record an optimizer that was at fault."""
        return (*self._added_up(), *self._used_again())

    def _added_up(self) -> tuple[FaultRecord, ...]:
        return tuple(
            FaultRecord(
                fault="gradients_not_zeroed",
                explanation=(
                    f"{type(optimizer).__name__} stepped {watch.worst} times on one gradient that was never zeroed: "
                    f"each backward pass is added to it, so the last step used the sum of {watch.worst} gradients, "
                    f"about {watch.worst} times what it should be"
                ),
                step=watch.first_step,
                raised=False,
                factor=watch.worst,
                count=watch.times,
            )
            for optimizer, watch in self._watches.items()
            if watch.times
        )

    def _used_again(self) -> tuple[FaultRecord, ...]:
        return tuple(
            FaultRecord(
                fault="gradients_not_zeroed",
                explanation=(
                    f"{type(optimizer).__name__} stepped again on a gradient that it had used, {watch.reused} times: "
                    "neither a backward pass nor zeroing came between, and the parameters moved twice for it. Two "
                    "threads that train one module at the same time do this, each with what both have added up"
                ),
                step=watch.first_step,
                raised=False,
                count=watch.reused,
            )
            for optimizer, watch in self._watches.items()
            if watch.reused and not watch.times
        )

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        with _unseen():
            self._judge(optimizer, has_closure(args, kwargs))

    def _judge(self, optimizer: Any, makes_its_own: bool) -> None:
        watch = self._watches.get(optimizer)
        if watch is None:
            return
        if watch.stale:
            watch.cycles += 1
            watch.times += 1
            watch.worst = max(watch.worst, watch.cycles)
        elif not makes_its_own and watch.stepped and watch.used is not None and _is_untouched(*watch.used):
            watch.reused += 1
        else:
            return
        if watch.first_step < 0:
            watch.first_step = self._step

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        watch = self._watches.get(optimizer)
        if watch is None:
            watch = self._watches[optimizer] = _Watch()
            self._follow(optimizer, watch)
        watch.stepped, watch.stale, watch.used = True, False, _first_used(watch)

    def _follow(self, optimizer: Any, watch: _Watch) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad and p.is_leaf]
        few = sorted(parameters, key=lambda p: int(p.numel()))[:_WATCHED]
        handles = [p.register_hook(_hook(weakref.ref(p), weakref.ref(watch))) for p in few]
        watch.followed = tuple(weakref.ref(p) for p in few)
        # With its optimizer: a program that makes one a step, for the same parameters, would pile up our hooks on them.
        removal = weakref.finalize(optimizer, _remove_all, handles)
        removal.atexit = False
        watch.removal = removal


def has_closure(args: Any, kwargs: Any) -> bool:
    """Whether a step was given a function that computes the gradients, as its hooks are told: the optimizer itself is
    among *args*."""
    return any(value is not None for value in (*args[1:], kwargs.get("closure")))


def _unseen() -> AbstractContextManager[None]:
    """In which no mode of the program's sees what we ask of its tensors."""
    import torch

    return torch._C.DisableTorchFunction()


def _first_used(watch: _Watch) -> tuple[weakref.ref[Any], weakref.ref[Any], int] | None:
    """A parameter that has a gradient, the gradient, and its version, which every change in place raises."""
    for reference in watch.followed:
        parameter = reference()
        if parameter is not None and parameter.grad is not None:
            return reference, weakref.ref(parameter.grad), parameter.grad._version
    return None


def _is_untouched(parameter: weakref.ref[Any], gradient: weakref.ref[Any], version: int) -> bool:
    """Whether the parameter still has that gradient, with nothing written into it, and it is not zero."""
    owner, old = parameter(), gradient()
    if owner is None or old is None or owner.grad is not old:
        return False
    return old._version == version and bool(old.any())


def _remove_all(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()


def _hook(parameter: weakref.ref[Any], watch: weakref.ref[_Watch]) -> Callable[[Any], None]:
    def before_adding(gradient: Any) -> None:
        state, owner = watch(), parameter()
        if state is None or owner is None:
            return
        old = owner.grad
        if old is None or not bool(old.any()):
            state.stale, state.cycles = False, 1
        elif state.stepped:
            state.stale = True
        state.stepped = False

    return before_adding

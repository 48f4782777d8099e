"""Follows what one step makes of what, call by call, in every thread that it starts meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

import msgspec
import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import TensorWeakRef

from harness.gradients.watch.calls import Call, Place, Value
from harness.gradients.watch.frames import place_of, users_frames
from harness.gradients.watch.labels import Labels
from harness.gradients.watch.numbers import is_all_zero, state_of

__all__ = ["Failure", "Flow"]

_LOOKING = frozenset({"dim", "size", "stride", "numel", "is_floating_point", "is_complex", "is_contiguous", "storage",
    "untyped_storage", "data_ptr", "element_size", "type", "__len__", "__repr__", "__format__", "__hash__",
    "register_hook", "register_post_accumulate_grad_hook", "has_names", "nelement", "get_device", "storage_offset",
    "requires_grad_", "retain_grad", "ndimension", "is_shared", "share_memory_", "_backward_hooks", "is_same_size",
    "__deepcopy__", "__reduce_ex__", "_version"})  # fmt: skip
"""Calls that make nothing of their tensor."""

_FOLLOWED_ATTRIBUTES = frozenset({"data", "T", "mT", "H", "mH", "real", "imag"})


_Noted = TypeVar("_Noted")


class Failure(msgspec.Struct, frozen=True):
    """The last call that raised, with its values as they were; let go with its step."""

    call: Call
    error: BaseException


class Flow:
    """One step at a time: :meth:`forget` begins the next. *before_backward* is called with the loss, before backward
    runs; *on_reading* with a tensor whose ``.grad`` the user's own code has read and found None."""

    def __init__(
        self,
        labels: Labels,
        *,
        before_backward: Callable[[Value], None],
        on_reading: Callable[[torch.Tensor, Value, Place], None],
    ) -> None:
        self.labels = labels
        self.calls: list[Call] = []
        self.failure: Failure | None = None
        self.paused = threading.local()
        self._before_backward, self._on_reading = before_backward, on_reading
        self._values: dict[int, Value] = {}
        self._hooks: list[Any] = []
        self._mode = _Mode(self)
        self._main = threading.get_ident()
        self._profile: Any = None

    def start(self) -> None:
        """In this thread, and in those that start from now on."""
        self._mode.enter()
        self._profile = threading.getprofile()
        threading.setprofile(self._enter_in_new_thread)

    def stop(self) -> None:
        """In this thread; the others end with theirs."""
        threading.setprofile(self._profile)
        self._mode.leave()
        self.forget()

    def forget(self) -> None:
        """The step is over: what it made is let go."""
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._values, self.calls, self.failure = [], {}, [], None

    def values(self) -> tuple[Value, ...]:
        """The tensors of this step, as they are now."""
        return tuple(self._values.values())

    def value_of(self, tensor: torch.Tensor, frames: tuple[FrameType, ...] = ()) -> Value:
        """What is known of *tensor*; it is looked at where it is new."""
        known = self._values.get(id(tensor))
        if known is not None and known.weak() is tensor:
            return known
        return self._new(tensor, frames, None)

    def seen(self, tensor: torch.Tensor) -> Value | None:
        """What this step knows of *tensor*, where it has come into it at all."""
        known = self._values.get(id(tensor))
        return known if known is not None and known.weak() is tensor else None

    def called(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run ``func(*args, **kwargs)`` for the program, and note what it made of what."""
        name = _name_of(func)
        if name is None or getattr(self.paused, "now", False) or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        frames = users_frames()
        if name == "grad.__get__":
            return self._read_gradient(func, args, frames)
        call = self._noted(lambda: self._begin(name, args, kwargs, frames))
        if call is None:
            return func(*args, **kwargs)
        if name == "backward" and call.inputs:
            self._before_backward(call.inputs[0])
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.failure = Failure(call, error)
            raise
        self._noted(lambda: self._end(call, args[:1] if call.in_place else result, frames))
        return result

    @staticmethod
    def _noted(look: Callable[[], _Noted]) -> _Noted | None:
        """What *look* gives; None where a tensor is of a kind that cannot be looked at (nested, opaque): it must not
        fail because of us."""
        try:
            return look()
        except (RuntimeError, NotImplementedError, TypeError, AttributeError):
            return None

    def _begin(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], frames: tuple[FrameType, ...]) -> Call:
        thread = threading.current_thread()
        inputs = tuple(self.value_of(tensor, frames) for tensor in _tensors_in((*args, *kwargs.values())))
        call = Call(
            name=name,
            place=place_of(frames),
            thread=thread.name,
            in_main=thread.ident == self._main,
            order=len(self.calls),
            grad_enabled=torch.is_grad_enabled(),
            inference=torch.is_inference_mode_enabled(),
            in_place=_is_in_place(name) or "out" in kwargs,
            infinities=any(type(value) is float and value - value != 0 for value in (*args, *kwargs.values())),
            inputs=inputs,
        )
        for value in inputs:
            value.used_by.append(call)
        self.calls.append(call)
        return call

    def _end(self, call: Call, result: Any, frames: tuple[FrameType, ...]) -> None:
        outputs = []
        for tensor in _tensors_in((result,)):
            known = self._values.get(id(tensor))
            if call.in_place or known is None or known.weak() is not tensor:
                outputs.append(self._new(tensor, frames, call))
        call.outputs = tuple(outputs)

    def _new(self, tensor: torch.Tensor, frames: tuple[FrameType, ...], made_by: Call | None) -> Value:
        floating = tensor.is_floating_point() or tensor.is_complex()
        before = self._values.get(id(tensor))
        value = Value(
            weak=TensorWeakRef(tensor),
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            device=str(tensor.device),
            is_float=floating,
            is_parameter=isinstance(tensor, torch.nn.Parameter),
            is_leaf=tensor.is_leaf,
            requires_grad=tensor.requires_grad,
            memory=_memory_of(tensor),
            label=before.label if before and before.weak() is tensor else self.labels.of(tensor, frames),
            made_by=made_by,
        )
        self._values[id(tensor)] = value
        with torch.no_grad():
            self._measure(value, tensor)
        if tensor.requires_grad and floating and torch.is_grad_enabled() and not torch.is_inference_mode_enabled():
            self._follow_gradient(value, tensor)
        return value

    @staticmethod
    def _measure(value: Value, tensor: torch.Tensor) -> None:
        if not value.is_float or not _is_plain(tensor):
            return
        value.state = state_of(tensor)
        value.zero = is_all_zero(tensor)
        if not value.zero and not tensor.is_complex():
            value.positive = bool((tensor > 0).any())

    def _follow_gradient(self, value: Value, tensor: torch.Tensor) -> None:
        def arrived(gradient: torch.Tensor) -> None:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                if _is_plain(gradient):
                    value.gradient, value.gradient_zero = state_of(gradient), is_all_zero(gradient)

        if _is_plain(tensor):
            handle = tensor.register_hook(arrived)
            if tensor.is_leaf:  # the others' go with their graph
                self._hooks.append(handle)

    def _read_gradient(self, func: Any, args: tuple[Any, ...], frames: tuple[FrameType, ...]) -> Any:
        gradient = func(*args)
        caller = sys._getframe(3) if frames else None  # torch's own helpers look whether there is one
        if gradient is None and frames and caller is frames[0]:
            place = place_of(frames)
            assert place is not None
            self._on_reading(args[0], self.value_of(args[0], frames), place)
        return gradient

    def _enter_in_new_thread(self, frame: FrameType, event: str, argument: Any) -> None:
        sys.setprofile(self._profile)
        if not self._mode.is_over:
            self._mode.enter()


class _Mode(TorchFunctionMode):
    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._flow = flow
        self.is_over = False

    def enter(self) -> None:
        self.__enter__()  # type: ignore[no-untyped-call]

    def leave(self) -> None:
        self.is_over = True
        self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self.is_over:
            return func(*args, **(kwargs or {}))
        return self._flow.called(func, args, kwargs or {})


def _name_of(func: Any) -> str | None:
    """``mul``, ``data.__get__``; None for what makes nothing of a tensor."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        followed = attribute in _FOLLOWED_ATTRIBUTES or (attribute == "grad" and name == "__get__")
        return f"{attribute}.{name}" if followed else None
    return None if name in _LOOKING or name.startswith(("_record_function", "_set_grad")) else name


def _is_in_place(name: str) -> bool:
    return (name.endswith("_") and not name.endswith("__")) or name in ("__setitem__", "data.__set__")


def _is_plain(tensor: torch.Tensor) -> bool:
    """Numbers in memory of its own: no wrapper of a transform, no fake, nothing on the meta device."""
    kind = type(tensor)
    return kind in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta and not _is_transformed(tensor)


def _memory_of(tensor: torch.Tensor) -> int | None:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return None  # sparse, a wrapper, or of a transform


def _is_transformed(tensor: torch.Tensor) -> bool:
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def _tensors_in(values: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif depth < 2 and type(value) in (list, tuple, torch.Size):
            yield from _tensors_in(value, depth + 1)
        elif depth < 2 and isinstance(value, tuple):  # a named tuple of torch's: torch.max
            yield from _tensors_in(tuple(value), depth + 1)

"""GradientWatch: what became of the gradients, seen from outside of a program that runs as it is."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import msgspec
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.weak import TensorWeakRef

from harness.gradients.named import NamedParameters, Parameters
from harness.gradients.not_zeroed import GradientObserver, has_closure
from harness.gradients.table import TableBuilder
from harness.gradients.watch.calls import Place, Value
from harness.gradients.watch.evidence import LEAST_SEEN, Evidence, faults_of, in_no_optimizer
from harness.gradients.watch.flow import Flow
from harness.gradients.watch.frames import place_of, users_frames
from harness.gradients.watch.labels import Labels
from harness.gradients.watch.numbers import count_not_finite, is_all_zero, state_of
from harness.gradients.watch.raised import told_by_the_step
from harness.gradients.watch.silent import silent_fault
from harness.gradients.watch.why_not_finite import why_not_finite
from harness.gradients.watch.why_null import Missing, why_null
from harness.gradients.watch.why_zero import why_zero
from harness.model.gradients import GradientTable
from harness.model.recording import FaultRecord

__all__ = ["GradientWatch"]

_MOST_SILENT = 16


class GradientWatch:
    """``with GradientWatch(model) as watch: ...; watch.step()`` at the end of each step; then ``watch.faults``.

    It sees every call of torch in the block's thread and in threads that start inside it, and every step of every
    optimizer. A parameter without a gradient, or with a zero one, in all of the steps (two at least) is a fault, with
    the reason and the line; one that is not finite is one the first time that an optimizer uses it. Frozen parameters
    (``requires_grad_(False)``), a part that only some steps use, accumulation, and a model that has converged are
    none. *parameters* gives names; without it, names are looked for in the running functions and their modules.

    It costs several times the step's own time, keeps nothing alive beyond a step, and cannot see into compiled code.
    """

    def __init__(self, parameters: Parameters | None = None) -> None:
        named = tuple(NamedParameters(parameters)) if parameters is not None else ()
        self._labels = Labels(named)
        self._flow = Flow(self._labels, before_backward=self._before_backward, on_reading=self._on_reading)
        self._evidence: dict[int, Evidence] = {}
        self._silent: dict[tuple[object, ...], FaultRecord] = {}
        self._table = TableBuilder()
        self._not_zeroed = GradientObserver()
        self._handles: list[Any] = []
        self._step = 0
        self._losses: list[Value] = []
        self._optimizers_seen = False
        self._backward_ever = False
        self._readings: list[tuple[Any, Place]] = []
        self._for_nothing: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._handles = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        self._not_zeroed.start()
        self._flow.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        self._not_zeroed.stop()
        self._flow.stop()

    def step(self) -> None:
        """The end of a step: what it made is judged and let go."""
        with torch.no_grad(), torch._C.DisableTorchFunction():
            if not self._optimizers_seen and self._losses:
                self._look_at_leaves()
            if self._optimizers_seen:
                self._note_reached()
            self._look_at_silent_ones()
            self._note_graphs()
            self._table.end_epoch()
        self._flow.forget()
        self._losses, self._readings = [], []
        self._step += 1
        self._not_zeroed.at_step(self._step)

    @property
    def faults(self) -> tuple[FaultRecord, ...]:
        """What is certain by now, one record a kind, reason and line."""
        found = tuple(self._evidence.values())
        lost = in_no_optimizer(found) if self._optimizers_seen else ()
        return (*faults_of(found), *lost, *self._not_zeroed.faults(), *self._silent.values())

    @property
    def remarks(self) -> tuple[str, ...]:
        """Graphs that were made in each step for a backward that never came, a sentence a thread."""
        if self._backward_ever or self._step < LEAST_SEEN:
            return ()
        return tuple(
            f"{where}: {call} makes a graph, which keeps what a backward would need, and none ever comes. Grad mode is "
            "per thread: torch.no_grad() or inference_mode() has to be set there"
            for where, call in self._for_nothing.items()
        )

    @property
    def table(self) -> GradientTable | None:
        """Norms and their trend per parameter and step; None where no gradient was seen."""
        return self._table.table()

    def explained(self, fault: FaultRecord, error: BaseException) -> FaultRecord:
        """*fault*, told from the words of *error*, which ended the present step, with what the step knows of it."""
        with torch._C.DisableTorchFunction():
            failure = self._flow.failure
            if failure is None or failure.error is not error:
                return fault
            return told_by_the_step(fault, failure.call, str(error), self._flow.calls)

    def null_read(self, error: BaseException) -> FaultRecord | None:
        """The fault where *error* came of a ``.grad`` that is None and was used as if it were a tensor."""
        if not isinstance(error, TypeError | AttributeError) or "NoneType" not in str(error) or not self._readings:
            return None
        value, place = self._readings[-1]
        with torch._C.DisableTorchFunction():
            reason = why_null(self._missing(value, None if not self._losses else self._losses[-1]))
        return FaultRecord(
            fault="null_gradient",
            explanation=f"{place}: {value.name}.grad is None: {reason.text}",
            step=self._step,
            raised=True,
            path=place.path,
            line=place.line,
            function=place.function,
            source=place.source,
            parameters=(value.name,),
            reason=reason.code,
        )

    def _before_backward(self, loss: Value) -> None:
        self._losses.append(loss)
        self._backward_ever = True

    def _on_reading(self, tensor: torch.Tensor, value: Value, place: Place) -> None:
        if self._losses:
            self._readings.append((value, place))

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._optimizers_seen = True
        if not has_closure(args, kwargs):  # with one the gradients come only now
            self._look_at_optimizer(optimizer)
        self._flow.paused.now = True

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._flow.paused.now = False
        if has_closure(args, kwargs):
            self._look_at_optimizer(optimizer)

    def _look_at_optimizer(self, optimizer: Any) -> None:
        with torch.no_grad(), torch._C.DisableTorchFunction():
            frames = users_frames()
            every = [p for group in optimizer.param_groups for p in group["params"]]
            trained = [p for p in every if p.requires_grad or not isinstance(p, torch.nn.Parameter)]
            for parameter in trained or every:
                name = self._labels.parameter(parameter, frames) or _by_number(optimizer, every, parameter)
                evidence = self._evidence_of(parameter, name)
                evidence.place, evidence.owned = place_of(frames), True
                self._look_at(parameter, evidence)

    def _look_at_leaves(self) -> None:
        """Without an optimizer: the leaves that the step used, as they are at its end."""
        if not any(value.before_changes.gradient is not None for value in self._flow.values()):
            return
        for value in self._flow.values():
            tensor = value.weak()
            if tensor is not None and value.requires_grad and value.is_leaf and (value.is_parameter or value.label):
                if tensor.grad is None and (value.before_changes.gradient is not None or not value.is_parameter):
                    continue  # used and let go already; or an input whose gradient nobody wants
                self._look_at(tensor, self._evidence_of(tensor, value.name))

    def _note_reached(self) -> None:
        for value in self._flow.values():
            tensor = value.weak()
            if value.is_parameter and value.gradient is not None and tensor is not None:
                evidence = self._evidence_of(tensor, value.name)
                evidence.reached += 1
                evidence.place = evidence.place or (value.used_by[0].place if value.used_by else None)

    def _look_at_silent_ones(self) -> None:
        for call in self._flow.calls:
            fault = silent_fault(call, self._step) if len(self._silent) < _MOST_SILENT else None
            if fault is not None:
                self._silent.setdefault((fault.fault, fault.path, fault.line), fault)

    def _note_graphs(self) -> None:
        for call in self._flow.calls if not self._backward_ever else ():
            if any(value.is_parameter for value in call.inputs) and any(v.requires_grad for v in call.outputs):
                where = "gradients are on in the main thread" if call.in_main else f"gradients are on in {call.thread}"
                self._for_nothing.setdefault(where, f"{call.title} at {call.place}")

    def _evidence_of(self, tensor: torch.Tensor, name: str) -> Evidence:
        known = self._evidence.get(id(tensor))
        if known is None or known.weak() is not tensor:
            known = self._evidence[id(tensor)] = Evidence(
                name=name, weak=TensorWeakRef(tensor), version=tensor._version
            )
        return known

    def _look_at(self, parameter: torch.Tensor, evidence: Evidence) -> None:
        evidence.seen += 1
        gradient = parameter.grad if parameter.is_leaf else None
        value = self._flow.seen(parameter)
        loss = self._losses[-1] if self._losses else None
        if gradient is None:
            evidence.missing += 1
            if evidence.wants_reason(evidence.missing):
                evidence.why_missing = why_null(self._missing(value, loss, parameter))
        else:
            self._table.add(evidence.name, parameter, gradient)
            if is_all_zero(gradient):
                evidence.zero += 1
                if value is not None and evidence.wants_reason(evidence.zero):
                    evidence.why_zero = why_zero(value, loss)
            elif not evidence.not_finite and state_of(gradient) in ("nan", "infinite"):
                self._not_finite(gradient, evidence)
        if evidence.first_step < 0:
            evidence.first_step = self._step

    def _not_finite(self, gradient: torch.Tensor, evidence: Evidence) -> None:
        evidence.not_finite += 1
        evidence.first_step = self._step
        evidence.not_finite_count = (count_not_finite(gradient), gradient.numel())
        losses: tuple[Value | None, ...] = tuple(self._losses) or (None,)
        for loss in losses:
            reason = why_not_finite(loss, self._flow.calls)
            if reason is not None:
                grew = self._table.growth_of(evidence.name)
                text = reason.text + (f"; its norm had grown {grew}, so the learning rate is too high" if grew else "")
                evidence.why_not_finite = msgspec.structs.replace(reason, text=text)

    def _missing(self, value: Value | None, loss: Value | None, tensor: torch.Tensor | None = None) -> Missing:
        tensor = value.weak() if tensor is None and value is not None else tensor
        assert tensor is not None
        return Missing(
            requires_grad=tensor.requires_grad,
            is_leaf=tensor.is_leaf,
            made_by=type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else None,
            is_float=tensor.is_floating_point() or tensor.is_complex(),
            dtype=str(tensor.dtype).removeprefix("torch."),
            value=value,
            loss=loss,
            backward_ran=self._backward_ever,
        )


def _by_number(optimizer: Any, parameters: list[torch.Tensor], parameter: torch.Tensor) -> str:
    number = next(i for i, other in enumerate(parameters) if other is parameter)
    return f"parameter {number} of {type(optimizer).__name__} (shape {list(parameter.shape)})"

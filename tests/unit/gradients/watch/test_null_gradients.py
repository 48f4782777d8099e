"""Each reason for a gradient that is None, with the parameter, in a program of a few lines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch

from harness import GradientWatch
from harness.model.recording import FaultRecord

X = torch.arange(8.0).reshape(4, 2)


class Program:
    """Two weights, of which ``lost`` gets no gradient; ``kept`` always does."""

    def __init__(self) -> None:
        self.lost = torch.nn.Parameter(torch.ones(2))
        self.kept = torch.nn.Parameter(torch.ones(2))
        self.optimizer = torch.optim.SGD([self.lost, self.kept], lr=0.01)

    def run(self, value_of: Callable[[torch.Tensor], object]) -> FaultRecord:
        """The one fault of three steps whose loss is made of *value_of* the lost weight's product."""
        with GradientWatch({"lost": self.lost, "kept": self.kept}) as watch:
            for _ in range(3):
                self.optimizer.zero_grad()
                value: Any = value_of(self.lost * X)
                (self.kept * X * value).sum().backward()
                self.optimizer.step()
                watch.step()
        (fault,) = watch.faults
        return fault


def under_no_grad_in_a_thread(product: torch.Tensor) -> torch.Tensor:
    found: list[torch.Tensor] = []

    def work() -> None:
        with torch.no_grad():
            found.append(product * 2)

    thread = Thread(target=work, name="worker")
    thread.start()
    thread.join()
    return found[0]


def under_no_grad(product: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return product * 2


def under_inference_mode(product: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        inference = product * 2
    return inference.clone()


@pytest.mark.parametrize(
    ("value_of", "reason", "says"),
    [
        (lambda product: product.detach(), "detached", "detach()"),
        (lambda product: product.data, "detached", ".data"),
        (lambda product: torch.tensor(product.tolist()), "left_torch", "tolist()"),
        (lambda product: product.sum().item(), "left_torch", "item()"),
        (lambda product: torch.from_numpy(np.sqrt(product.detach().numpy())), "left_torch", "numpy()"),
        (lambda product: product.new_tensor(product), "copied", "copied its numbers"),
        (lambda product: product.long(), "integer", "int64"),
        (lambda product: product > 0, "integer", "bool"),
        (under_no_grad, "no_grad", "gradients off"),
        (under_no_grad_in_a_thread, "no_grad", "in thread worker"),
        (under_inference_mode, "inference_mode", "inference_mode"),
        (lambda product: 1.0, "not_in_loss", "does not depend on it"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", None),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cut_the_way_to_the_loss_is_named(
    value_of: Callable[[torch.Tensor], object], reason: str, says: str
) -> None:
    fault = Program().run(value_of)

    assert (fault.fault, fault.reason) == ("null_gradient", reason)
    assert fault.parameters == ("lost",)
    assert says in fault.explanation
    assert fault.path == __file__


def test_a_parameter_that_nothing_was_computed_from_is_not_used() -> None:
    program = Program()
    unused = torch.nn.Parameter(torch.ones(2))
    program.optimizer.add_param_group({"params": [unused]})

    with GradientWatch({"unused": unused}) as watch:
        for _ in range(2):
            program.optimizer.zero_grad()
            (program.kept * program.lost).sum().backward()
            program.optimizer.step()
            watch.step()

    assert [(f.fault, f.reason, f.parameters) for f in watch.faults] == [("null_gradient", "not_used", ("unused",))]


def test_an_optimizer_that_steps_where_backward_never_ran_has_no_gradients() -> None:
    program = Program()

    with GradientWatch({"lost": program.lost, "kept": program.kept}) as watch:
        for _ in range(2):
            (program.kept * program.lost).sum()
            program.optimizer.step()
            watch.step()

    (fault,) = watch.faults
    assert (fault.reason, fault.parameters) == ("no_backward", ("lost", "kept"))


def test_a_plain_tensor_in_an_optimizer_that_requires_no_gradient_is_told() -> None:
    plain, weight = torch.ones(2), torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([plain, weight], lr=0.01)

    with GradientWatch({"plain": plain}) as watch:
        for _ in range(2):
            optimizer.zero_grad()
            (plain * weight).sum().backward()
            optimizer.step()
            watch.step()

    assert [(f.reason, f.parameters) for f in watch.faults] == [("requires_no_grad", ("plain",))]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_gradient_that_is_none_and_used_as_a_tensor_is_told_with_its_reason() -> None:
    product = torch.ones(2, requires_grad=True) * 0.1

    with GradientWatch() as watch:
        product.sum().backward()
        with pytest.raises(TypeError) as raised:
            product.grad * 2  # type: ignore[operator]
        fault = watch.null_read(raised.value)

    assert fault is not None
    assert (fault.reason, fault.parameters, fault.raised) == ("not_a_leaf", ("product",), True)


def test_one_step_without_a_gradient_shows_nothing() -> None:
    program = Program()

    with GradientWatch() as watch:
        (program.kept * 2).sum().backward()
        program.optimizer.step()
        watch.step()

    assert watch.faults == ()


def test_the_watch_leaves_no_hook_no_mode_and_no_profile_behind() -> None:
    program = Program()
    with GradientWatch() as watch:
        (program.kept * program.lost).sum().backward()
        watch.step()

    assert not program.kept._backward_hooks
    assert torch.overrides._get_current_function_mode_stack() == []
    assert threading.getprofile() is None
    (program.kept * program.lost).sum().backward()
    program.optimizer.step()
    assert watch.faults == ()


def test_asking_early_and_twice_changes_nothing() -> None:
    # The second half of an alternating training gets its optimizer's first step late.
    late, early = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizers = [torch.optim.SGD([early], lr=0.01), torch.optim.SGD([late], lr=0.01)]

    with GradientWatch({"late": late, "early": early}) as watch:
        for step in range(8):
            for optimizer in optimizers:
                optimizer.zero_grad()
            (late * early).sum().backward()
            optimizers[step // 4].step()
            watch.step()
            if step == 3:
                told = watch.faults
                assert [(fault.reason, fault.parameters) for fault in told] == [("not_registered", ("late",))]
                assert watch.faults == told

    assert watch.faults == ()

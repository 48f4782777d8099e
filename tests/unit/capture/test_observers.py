"""Faults that raise nothing: seen by what optimizers and operators are given."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
import torch

from harness.capture.device_observer import DeviceObserver
from harness.gradients.not_zeroed import GradientObserver
from harness.ledger.dispatch import DispatchLedger
from harness.model.recording import FaultRecord

Training = Callable[[torch.nn.Module, torch.optim.Optimizer], None]


@pytest.fixture
def gradients() -> Iterator[GradientObserver]:
    observer = GradientObserver()
    observer.start()
    yield observer
    observer.stop()


def backward(model: torch.nn.Module) -> None:
    model(torch.ones(4, 3)).sum().backward()


def set_to_none_by_hand(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for parameter in model.parameters():
        parameter.grad = None


def train(observer: GradientObserver, body: Training, *, steps: int = 6) -> tuple[FaultRecord, ...]:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        observer.at_step(step)
        body(model, optimizer)
    return observer.faults()


def test_never_zeroing_is_found_with_its_factor(gradients: GradientObserver) -> None:
    def never_zeroed(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        backward(model)
        optimizer.step()

    (fault,) = train(gradients, never_zeroed)

    assert fault.fault == "gradients_not_zeroed"
    assert fault.factor == 6
    assert fault.step == 1


def test_an_optimizer_a_step_leaves_no_hook_of_ours_behind(gradients: GradientObserver) -> None:
    weight = torch.nn.Parameter(torch.ones(4))

    for step in range(5):
        gradients.at_step(step)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        (weight * 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        del optimizer
        gc.collect()

    assert len(weight._backward_hooks or {}) == 0


@pytest.mark.parametrize(
    "zero",
    [
        lambda model, optimizer: optimizer.zero_grad(),
        lambda model, optimizer: optimizer.zero_grad(set_to_none=False),
        lambda model, optimizer: model.zero_grad(),
        set_to_none_by_hand,
        lambda model, optimizer: [p.grad.zero_() for p in model.parameters() if p.grad is not None],
    ],
)
def test_every_way_of_zeroing_is_accepted(gradients: GradientObserver, zero: Training) -> None:
    def zeroed(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        zero(model, optimizer)
        backward(model)
        optimizer.step()

    assert train(gradients, zeroed) == ()


def test_accumulation_on_purpose_is_no_fault(gradients: GradientObserver) -> None:
    def accumulated(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for _ in range(4):
            backward(model)
        optimizer.step()
        optimizer.zero_grad()

    assert train(gradients, accumulated) == ()


def test_another_losss_backward_before_zeroing_is_no_fault(gradients: GradientObserver) -> None:
    """As in a GAN: the generator's loss runs back through the discriminator, whose gradients are zeroed later."""

    def adversarial(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        backward(model)  # another model's loss, after this optimizer's last step
        optimizer.zero_grad()
        backward(model)
        optimizer.step()

    assert train(gradients, adversarial) == ()


def test_two_steps_on_one_gradient_are_found(gradients: GradientObserver) -> None:
    def stepped_twice(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        backward(model)
        optimizer.step()
        optimizer.step()

    (fault,) = train(gradients, stepped_twice)

    assert fault.fault == "gradients_not_zeroed"
    assert "stepped again on a gradient that it had used" in fault.explanation
    assert fault.count == 6


@pytest.mark.parametrize("in_place", [False, True])
def test_gradients_that_are_put_there_by_hand_are_new_ones(gradients: GradientObserver, in_place: bool) -> None:
    """As in meta-learning and evolution strategies: no backward pass ever tells that a gradient is new."""

    def by_hand(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for parameter in model.parameters():
            if in_place and parameter.grad is not None:
                parameter.grad.copy_(torch.ones_like(parameter))
            else:
                parameter.grad = torch.ones_like(parameter)
        optimizer.step()

    assert train(gradients, by_hand) == ()


def test_an_optimizer_that_steps_without_a_gradient_is_no_fault(gradients: GradientObserver) -> None:
    def idle(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        backward(model)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()

    assert train(gradients, idle) == ()


def devices(body: Callable[[], object]) -> tuple[FaultRecord, ...]:
    observer = DeviceObserver()
    with DispatchLedger(observer=observer).start():
        body()
    return observer.faults()


def test_two_devices_in_one_operator_are_found_where_torch_is_silent() -> None:
    weight = torch.ones(2, 3, device="meta")

    (fault,) = devices(lambda: torch.nn.functional.linear(torch.ones(4, 3), weight))

    assert fault.fault == "device_mismatch"
    assert "cpu" in fault.explanation
    assert "meta" in fault.explanation
    assert fault.path == __file__


def test_a_tensor_without_dimensions_may_meet_any_device() -> None:
    assert devices(lambda: torch.ones(3, device="meta") * torch.tensor(2.0)) == ()


def test_moving_to_another_device_is_no_mismatch() -> None:
    assert devices(lambda: torch.ones(3).to("meta")) == ()

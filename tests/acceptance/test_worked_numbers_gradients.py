"""The numbers that can be worked out by hand, from the scenarios' own functions and from their reports."""

from __future__ import annotations

import importlib.util
import math
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.acceptance.bundled import Done
from tests.repo.source_tree import ROOT


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scenarios" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_a_second_backward_without_zeroing_doubles_the_gradient() -> None:
    accumulated = module("gradients_accumulated")

    accumulated.setup()  # 0.5 * 1 - 0.2 * 2, [1, 2], then [2, 4]

    assert accumulated.output().item() == pytest.approx(0.1)
    for expected in ([1.0, 2.0], [2.0, 4.0]):
        accumulated.output().backward()
        assert accumulated.W.grad.tolist() == expected


def test_accumulation_on_purpose_gives_the_gradient_of_the_whole_batch() -> None:
    on_purpose = module("accumulated_on_purpose")

    assert on_purpose.gradient(on_purpose.PARTS) == pytest.approx(on_purpose.gradient(1), abs=1e-6)


def test_a_converged_model_has_no_loss_no_gradient_and_stays() -> None:
    converged = module("converged_model")

    assert converged.train() == 0.0
    assert (converged.W.item(), converged.W.grad.item()) == (2.0, 0.0)


def test_one_neuron_by_hand() -> None:
    by_hand = module("gradients_by_hand")

    assert by_hand.weighted().item() == pytest.approx(0.55)
    assert (by_hand.weighted() + by_hand.B).item() == pytest.approx(0.65)
    assert by_hand.loss().item() == pytest.approx(0.0225)
    assert by_hand.gradients() == pytest.approx([-0.6, -0.45, -0.3])


def test_central_differences_by_hand() -> None:
    by_hand = module("gradients_by_hand")

    assert by_hand.slopes() == pytest.approx([6.0, 8.0], abs=1e-6)
    three = torch.tensor(3.0, dtype=torch.float64)
    assert abs(by_hand.central_difference(lambda x: x * x, three, step=1e-5).item() - 6) < 1e-6


@pytest.mark.parametrize(("model", "batch"), [("LAYERS", (16, 4)), ("CONVOLUTION", (2, 3, 8, 8))])
def test_every_gradient_has_its_parameters_shape(model: str, batch: tuple[int, ...]) -> None:
    by_hand = module("gradients_by_hand")

    shapes = by_hand.shapes_of(getattr(by_hand, model), torch.ones(batch))

    assert len(shapes) == len(list(getattr(by_hand, model).parameters()))
    assert all(shape == gradient for shape, gradient in shapes)


class TestLineThroughFivePoints:
    """x = 1..5, y = 2x, from w = b = 0."""

    @pytest.fixture
    def line(self) -> ModuleType:
        line = module("learning_rate_too_high")
        line.setup()
        return line

    def gradients(self, line: ModuleType, loss: torch.Tensor) -> tuple[float, float]:
        line.W.grad = line.B.grad = None
        loss.backward()
        return line.W.grad.item(), line.B.grad.item()

    def test_the_first_step(self, line: ModuleType) -> None:
        assert line.train(rate=0.01) == 44.0
        assert (line.W.grad.item(), line.B.grad.item()) == (-44.0, -12.0)
        assert (line.W.item(), line.B.item()) == pytest.approx((0.44, 0.12))

    def test_half_the_squares_and_their_sum_have_other_gradients(self, line: ModuleType) -> None:
        assert (line.squares().mean() / 2).item() == 22.0
        assert self.gradients(line, line.squares().mean() / 2) == (-22.0, -6.0)
        assert self.gradients(line, line.squares().sum()) == (-220.0, -60.0)

    def test_after_30_epochs_it_is_near(self, line: ModuleType) -> None:
        for _ in range(30):
            line.train(rate=0.01)

        assert (line.W.item(), line.B.item()) == pytest.approx((1.871, 0.465), abs=5e-4)
        assert line.squares().mean().item() == pytest.approx(0.039, abs=5e-4)

    def test_after_3000_steps_it_is_there(self, line: ModuleType) -> None:
        for _ in range(3000):
            line.train(rate=0.01)

        assert line.W.item() == pytest.approx(2.0, abs=5e-5)
        assert abs(line.B.item()) < 1e-3

    @pytest.mark.parametrize(("rate", "diverges"), [(0.0845, False), (0.0846, True)])
    def test_the_limit_of_the_rate(self, line: ModuleType, rate: float, diverges: bool) -> None:
        # 2 / the largest curvature: 2 / (2 * (6 + sqrt(34))) = 0.084524
        losses = [line.train(rate) for _ in range(3000)]

        assert (losses[-1] > losses[1000] or math.isnan(losses[-1])) == diverges


def test_numbers_made_as_floats_have_a_mean() -> None:
    integers = module("integers_have_no_mean")

    values = integers.line(torch.arange(1, 5, dtype=torch.float32))

    assert values.tolist() == [3.0, 5.0, 7.0, 9.0]
    assert values.mean().item() == 6.0


def test_the_reports_tell_the_parameter_the_reason_and_the_line(done: Done) -> None:
    def first(scenario: str) -> dict[str, Any]:
        finding: dict[str, Any] = done.told(scenario, "step")["findings"][0]
        return finding

    cut = first("gradient_cut_by_detach")
    assert cut["parameters"] == ["ENCODER.weight", "ENCODER.bias"]
    assert cut["reason"] == "detached"
    assert cut["allocated_at"][0]["source"] == "train(ENCODER(BATCH).detach())"
    assert first("layers_started_at_zero")["reason"] == "zero_factor"
    assert first("data_with_nan")["reason"] == "data"
    assert "1 of 64 numbers of DIRTY are NaN" in first("data_with_nan")["explanation"]
    assert "backward says 3, the central difference 6" in first("derivative_wrong")["explanation"]


def test_the_table_tells_where_gradients_vanish_and_where_they_do_not(done: Done) -> None:
    def trends(variant: str) -> dict[str, str]:
        table = done.told("gradients_vanish", variant)["gradients"]
        return {parameter["name"]: parameter["trend"] for parameter in table["parameters"]}

    assert trends("step")["SIGMOID.0.weight"] == "vanishing"
    assert trends("step")["SIGMOID.16.weight"] == "healthy"
    assert set(trends("fixed_step").values()) == {"healthy"}


def test_the_silent_broadcast_is_told_by_what_it_costs(done: Done) -> None:
    step = done.told("broadcast_without_a_word", "step")

    assert "1,000,000 numbers instead of 1,000" in step["findings"][0]["explanation"]
    assert step["comparison"]["peak_ratio"] > 100


def test_the_thread_in_which_inference_has_gradients_on_is_named(done: Done) -> None:
    def noted(variant: str) -> list[str]:
        notes = done.told("inference_with_gradients", variant)["notes"]
        return [note.split(":")[0] for note in notes if "gradients are on in" in note]

    assert noted("step") == ["gradients are on in ThreadPoolExecutor-1_0"]
    assert noted("fixed_step") == []

"""The gradient table: figures by hand, and the word for each course."""

from __future__ import annotations

import math

import pytest
import torch

from harness.gradients.table import TableBuilder, trend_of
from harness.model.gradients import GradientRow, Trend


def rows(*norms: float, non_finite: int = 0) -> list[GradientRow]:
    return [
        GradientRow(epoch=i, norm=norm, mean=0.0, zero_share=0.0, non_finite=non_finite) for i, norm in enumerate(norms)
    ]


def built(*gradients: list[float]) -> TableBuilder:
    builder = TableBuilder()
    for gradient in gradients:
        builder.add("w", torch.tensor([3.0, 4.0]), torch.tensor(gradient))
        builder.end_epoch()
    return builder


def test_a_row_has_norm_mean_share_of_zeros_and_ratio_to_the_weight() -> None:
    table = built([0.0, 10.0]).table()

    assert table is not None
    (parameter,) = table.parameters
    assert parameter.shape == (2,)
    assert parameter.rows == (GradientRow(epoch=0, norm=10.0, mean=5.0, zero_share=0.5, non_finite=0, to_weight=2.0),)


def test_numbers_that_are_not_finite_are_counted_and_left_out_of_the_norm() -> None:
    table = built([math.nan, 3.0]).table()

    assert table is not None
    (row,) = table.parameters[0].rows
    assert (row.norm, row.mean, row.non_finite) == (3.0, 3.0, 1)


def test_an_epoch_is_the_mean_of_its_steps() -> None:
    builder = TableBuilder()
    for gradient in ([3.0, 4.0], [6.0, 8.0]):
        builder.add("w", torch.tensor([1.0, 0.0]), torch.tensor(gradient))
    builder.end_epoch()

    table = builder.table()

    assert table is not None
    assert table.epochs == 1
    assert table.parameters[0].rows[0].norm == 7.5


def test_many_epochs_are_thinned_and_the_first_and_the_last_stay() -> None:
    table = built(*([float(i + 1), 0.0] for i in range(100))).table()

    assert table is not None
    told = table.parameters[0].rows
    assert len(told) <= 17
    assert (told[0].epoch, told[-1].epoch) == (0, 99)


@pytest.mark.parametrize(
    ("norms", "word"),
    [
        ([1.0, 1.1, 0.9, 1.0, 1.2, 0.8], "healthy"),
        ([1.0, 0.8, 0.6, 0.5, 0.4, 0.3], "healthy"),
        ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], "exploding"),
        ([1.0] * 5 + [120.0] * 5, "exploding"),
        ([1.0, 1.0, 1.0, 50.0, 1.0, 1.0, 1.0], "spike"),
        ([100.0, 30.0, 9.0, 3.0, 1.0, 0.3], "healthy"),
        ([1.0, 0.1, 0.01, 0.001, 0.0001, 0.00001], "converged"),
        ([1e-6] * 6, "vanishing"),
        ([0.0] * 6, "vanishing"),
    ],
)
def test_the_word_for_a_course_beside_a_parameter_of_norm_1(norms: list[float], word: Trend) -> None:
    assert trend_of(rows(*norms), [max(1.0, norm) for norm in norms], others=True) == word


def test_a_gradient_that_was_not_finite_is_exploding_whatever_its_norms() -> None:
    assert trend_of(rows(1.0, 1.0, non_finite=1), [1.0, 1.0], others=True) == "exploding"


def test_where_all_of_a_model_is_zero_it_has_converged() -> None:
    assert trend_of(rows(0.0, 0.0), [0.0, 0.0], others=False) == "converged"


def test_a_large_double_does_not_become_a_number_that_json_has_no_word_for() -> None:
    builder = TableBuilder()
    builder.add("w", torch.ones(2, dtype=torch.float64), torch.full((2,), 1e300, dtype=torch.float64))
    builder.end_epoch()

    table = builder.table()

    assert table is not None
    assert math.isfinite(table.parameters[0].rows[0].norm)


def test_steady_growth_is_told_by_its_factor() -> None:
    assert built(*([2.0**i, 0.0] for i in range(8))).growth_of("w") == "2-fold in each of the last 7 epochs"
    assert built(*([1.0, 0.0] for i in range(8))).growth_of("w") is None


def test_a_bias_vanishes_with_its_weight_and_not_alone() -> None:
    builder = TableBuilder()
    for name, shape, size in (
        ("first.weight", (2, 2), 1e-8),
        ("first.bias", (2,), 1e-8),
        ("last.weight", (2, 2), 1.0),
        ("last.bias", (2,), 1e-8),  # before a normalisation
    ):
        for _ in range(3):
            builder.add(name, torch.ones(shape), torch.full(shape, size))
    builder.end_epoch()

    table = builder.table()

    assert table is not None
    assert {parameter.name: parameter.trend for parameter in table.parameters} == {
        "first.weight": "vanishing",
        "first.bias": "vanishing",
        "last.weight": "healthy",
        "last.bias": "healthy",
    }

"""What a collector is given, and what it holds."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from harness.errors import UsageError
from harness.gradients import GradientCollector
from tests.unit.gradients.leaves import hooks_on, leaf


def test_parameters_go_by_the_names_that_they_are_given_with() -> None:
    weight, bias = leaf(), leaf()
    for given, expected in (
        (torch.nn.Linear(1, 1), ("weight", "bias")),
        ((pair for pair in [("w", weight), ("b", bias)]), ("w", "b")),
        ({"w": weight, "tied": weight}, ("w",)),
        ([weight, bias], ("parameters[0]", "parameters[1]")),
        (weight, ("parameters[0]",)),
    ):
        assert GradientCollector(given, on_exit="keep").untouched == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no parameter"),
        (iter(()), "no parameter"),
        ([1.0], r"parameters\[0\] is of type float"),
        (3, "cannot be of type int"),
        ([("w", torch.ones(1)), ("w", torch.ones(1))], "two parameters are called w"),
    ],
)
def test_what_is_no_parameter_is_refused_at_once(given: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        GradientCollector(given, on_exit="keep")  # type: ignore[arg-type]


def test_a_collector_keeps_no_parameter_and_no_hook() -> None:
    weight = leaf()
    dead = weakref.ref(weight)
    collector = GradientCollector(weight, on_exit="keep")
    with collector:
        collector.backward(weight.exp().sum())
    assert hooks_on(weight) == 0

    gc.disable()
    try:
        del weight

        assert dead() is None
    finally:
        gc.enable()
    assert collector.untouched == ()

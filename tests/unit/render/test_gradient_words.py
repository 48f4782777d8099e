"""Gradients as a sentence and as a table."""

from __future__ import annotations

from harness.model.gradients import GradientRow, GradientTable, ParameterGradients, Trend
from harness.render import render
from harness.render.gradient_words import gradient_lines, gradient_words
from tests.report_builder import a_report, a_run


def parameter(name: str, trend: Trend = "healthy", *norms: float) -> ParameterGradients:
    rows = tuple(
        GradientRow(epoch=i, norm=norm, mean=0.1, zero_share=0.25, non_finite=0, to_weight=norm / 2)
        for i, norm in enumerate(norms or (1.0, 0.5))
    )
    return ParameterGradients(name=name, shape=(2, 2), trend=trend, rows=rows)


def test_the_alarming_words_come_first_and_name_their_parameters() -> None:
    table = GradientTable(
        epochs=200,
        parameters=(parameter("a.weight"), parameter("b.weight", "vanishing"), parameter("c.weight", "exploding")),
    )

    assert gradient_words(table) == "over 200 steps: 1 exploding (c.weight), 1 vanishing (b.weight), 1 healthy"


def test_the_table_has_a_line_a_parameter() -> None:
    table = GradientTable(epochs=2, parameters=(parameter("a.weight", "healthy", 1.5, 0.25),))

    assert gradient_lines(table) == (
        "parameter  trend    first norm  last norm  to weight  zeros  not finite",
        "a.weight   healthy         1.5       0.25       0.12    25%           0",
    )


def test_of_many_parameters_the_worst_are_shown() -> None:
    many = [parameter(f"layer{i}.weight") for i in range(20)]
    many[17] = parameter("layer17.weight", "vanishing")

    lines = gradient_lines(GradientTable(epochs=2, parameters=tuple(many)))

    assert sum("vanishing" in line for line in lines) == 1
    assert lines[-1] == "and 8 more: --format json shows all"


def test_a_run_that_ended_as_expected_tells_only_what_alarms() -> None:
    healthy = a_run("calm", gradients=GradientTable(epochs=9, parameters=(parameter("w"),)))
    vanishing = a_run("deep", gradients=GradientTable(epochs=9, parameters=(parameter("w", "vanishing"),)))

    shown = render(a_report(healthy, vanishing), "terminal")

    assert "deep · step  gradients over 9 steps: 1 vanishing (w)" in shown
    assert "calm · step" not in shown

"""What holds for every number, not only for those that somebody thought of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BadUnitError
from harness.units import (
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_throughput,
    parse_bytes,
    parse_duration,
    parse_rate,
    parse_share,
)

_FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.integers(min_value=0, max_value=2**62))
def test_a_printed_size_reads_back_within_its_rounding(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == pytest.approx(size, rel=0.05)


@given(st.integers(min_value=0, max_value=1023))
def test_sizes_below_a_kibibyte_read_back_exactly(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


@given(st.floats(min_value=1e-6, max_value=2**62))
def test_a_printed_rate_reads_back_within_its_rounding(per_step: float) -> None:
    assert parse_rate(format_rate(per_step)) == pytest.approx(per_step, rel=0.05)


@given(st.floats(min_value=1e-12, max_value=1e8))
def test_a_printed_duration_reads_back_within_its_rounding(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=0.05)


@given(_FINITE.filter(bool))
def test_nothing_that_is_not_zero_is_printed_as_zero_or_without_its_sign(value: float) -> None:
    for format_it in (format_bytes, format_rate, format_count, format_ratio, format_duration, format_throughput):
        shown = format_it(value)

        digits = re.match(r"-?([0-9.,]+)", shown)
        assert digits is not None, shown
        assert re.search(r"[1-9]", digits[1]), shown
        assert shown.startswith("-") == (value < 0), shown


@given(st.text())
def test_any_text_is_read_or_refused_with_help(text: str) -> None:
    for parse in (parse_bytes, parse_rate, parse_share, parse_duration):
        refusal = None
        try:
            parse(text)
        except BadUnitError as error:
            refusal = error

        assert refusal is None or (str(refusal) and refusal.help)

"""Sizes, rates, shares and durations are read strictly and printed honestly."""

from __future__ import annotations

import math

import pytest

from harness.errors import BadUnitError
from harness.model.metric import METRICS
from harness.units import (
    FORMATTERS,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_ratio,
    format_share,
    format_throughput,
    format_value,
    parse_bytes,
    parse_duration,
    parse_rate,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512 MiB", 512 * 1024**2),
        ("1.5 GB", 1_500_000_000),
        ("64KiB", 65536),
        ("  64 kib ", 65536),
        ("1 byte", 1),
        ("2e3 B", 2000),
        ("+1 KiB", 1024),
        ("0", 0),
        ("9007199254740993 B", 2**53 + 1),
    ],
)
def test_sizes_are_read_to_the_byte(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no number"),
        ("5%", "'%' is no unit of memory"),
        ("5", "it has no unit"),
        ("-1 KiB", "it is negative"),
        ("NaN", "not a number in plain digits"),
        ("inf GB", "not a number in plain digits"),
        ("1e400 GB", "it is too large"),
        ("1e-400 GB", "it is too small"),
        ("1e99999999999999999999 B", "it is too large"),
        ("1e19 GB", "more than any machine can address"),
        ("0.1 B", "less than one byte"),
        ("12 parsecs", "'parsecs' is no unit of memory"),
        ("MiB", "not a number in plain digits"),
        ("1,5 GB", "not a number in plain digits"),
        ("1_000 B", "not a number in plain digits"),
        ("\u0663 KiB", "not a number in plain digits"),
        ("64 Kb", "Kb means bits"),
        ("5 B B", "not a number in plain digits"),
        ("\x1b[31m5 KiB", "not a number in plain digits"),
    ],
)
def test_nonsense_is_refused_with_what_was_wrong_and_what_would_be_right(text: str, why: str) -> None:
    with pytest.raises(BadUnitError) as caught:
        parse_bytes(text)

    assert why in str(caught.value)
    assert "64 KiB" in caught.value.help


def test_a_refusal_shows_hostile_text_escaped_and_cut() -> None:
    with pytest.raises(BadUnitError) as caught:
        parse_bytes("\x1b[31m" + "9" * 100_000)

    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_five_percent_is_never_five_bytes() -> None:
    for parse in (parse_bytes, parse_rate, parse_duration):
        with pytest.raises(BadUnitError):
            parse("5%")

    assert parse_share("5%") == pytest.approx(0.05)


def test_rates_need_their_step() -> None:
    assert parse_rate("64KiB/step") == 65536.0
    assert parse_rate("0.5 B / step") == 0.5

    with pytest.raises(BadUnitError, match=r"'64KiB' is not a growth rate: it does not end in /step"):
        parse_rate("64KiB")
    with pytest.raises(BadUnitError, match="negative"):
        parse_rate("-1 KiB/step")


def test_shares_keep_their_sign() -> None:
    assert parse_share("+5%") == pytest.approx(0.05)
    assert parse_share("-20 %") == pytest.approx(-0.2)

    for nonsense in ("5", "%", "nan%", "5%%", "five%", "1e400%"):
        with pytest.raises(BadUnitError):
            parse_share(nonsense)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2m", 120), ("90s", 90), ("90", 90), ("1m30s", 90), ("2 min 5 s", 125), ("1.5h", 5400), ("250ms", 0.25)],
)
def test_durations_are_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "-5", "1h -5m", "2 parsecs", "nan", "inf", "1e400", "1 2", "90 s 5", "\u0663s", "s"]
)
def test_nonsense_durations_are_refused(text: str) -> None:
    with pytest.raises(BadUnitError) as caught:
        parse_duration(text)

    assert "1m30s" in caught.value.help


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (60109, "58.7 KiB"),
        (-5000, "-4.9 KiB"),
        (1048575, "1.0 MiB"),  # never 1024.0 KiB
        (0.25, "0.25 B"),
        (1e-9, "1e-09 B"),
        (2**63, "8.0 EiB"),
        (math.nan, "unknown"),
        (math.inf, "infinite"),
        (-math.inf, "-infinite"),
    ],
)
def test_bytes_are_printed_in_iec_units_and_never_as_a_false_zero(size: float, shown: str) -> None:
    assert format_bytes(size) == shown


def test_rates_are_sizes_a_step() -> None:
    assert format_rate(60109) == "58.7 KiB/step"
    assert format_rate(math.nan) == "unknown"


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0"), (1.0, "1"), (1234567, "1,234,567"), (62.25, "62.2"), (1e-7, "1e-07")]
)
def test_counts_are_whole_where_they_are_whole(count: float, shown: str) -> None:
    assert format_count(count) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(6.1, "6.1x"), (1.04, "1.04x"), (0.96, "0.96x"), (1, "1.00x"), (1e-4, "0.0001x"), (1632, "1,632x")],
)
def test_ratios_near_one_keep_the_digits_that_matter(ratio: float, shown: str) -> None:
    assert format_ratio(ratio) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (1.2, "1.2 s"),
        (59.97, "1 min"),
        (125, "2 min 5 s"),
        (3840, "1 h 4 min"),
        (0.0125, "12.5 ms"),
        (5e-5, "50 µs"),
        (3e-12, "0.003 ns"),
        (-90, "-1 min 30 s"),
    ],
)
def test_durations_are_printed_in_the_unit_that_fits(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0 %"), (1e-9, "under 1 %"), (0.0099, "under 1 %"), (0.01, "1 %"), (0.614, "61 %"), (1.0, "100 %")],
)
def test_shares_are_whole_percents_and_never_a_false_zero(share: float, shown: str) -> None:
    assert format_share(share) == shown


def test_throughput_names_what_it_counts() -> None:
    assert format_throughput(51.0) == "51.0 steps/s"
    assert format_throughput(1632, "items") == "1,632 items/s"
    assert format_throughput(0.004) == "0.004 steps/s"


def test_every_metric_of_the_table_has_a_formatter_for_its_unit() -> None:
    assert {metric.unit for metric in METRICS} <= set(FORMATTERS)
    assert format_value(4096, "bytes") == "4.0 KiB"
    assert format_value(32, "items/s") == "32.0 items/s"

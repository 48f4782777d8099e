"""The only place that reads or prints bytes, rates, shares and durations: IEC units, and never 0 for what is not 0.

Reading is strict: a size without a unit is refused, ``5%`` is never five bytes, ``Mb`` is refused because it means
bits. Printing rounds for people; whoever needs the exact figure takes it from the JSON report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import NoReturn

from harness.errors import BadUnitError

__all__ = [
    "FORMATTERS",
    "format_bytes",
    "format_count",
    "format_duration",
    "format_number_of",
    "format_rate",
    "format_ratio",
    "format_share",
    "format_throughput",
    "format_value",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
    "parse_share",
]

_IEC = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_BYTE_UNITS: Mapping[str, int] = {
    **{unit.lower(): 1024**k for k, unit in enumerate(_IEC)},
    **{f"{prefix}b": 1000 ** (k + 1) for k, prefix in enumerate("kmgtpe")},
    "byte": 1,
    "bytes": 1,
}
_SECONDS: Mapping[str, float] = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "sec": 1.0,
    "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9+.\-]*)")
_MOST_BYTES = 2**63 - 1
_SIZE = ("a size", "Write a number and a unit, for example 512 B, 64 KiB, 1.5 GiB (1024s) or 1.5 GB (1000s).")
_RATE = ("a growth rate", "Write a size a step, for example 64 KiB/step.")
_SHARE = ("a share", "Write a percentage, for example +5% or 5%.")
_DURATION = ("a duration", "Write seconds, or a number and a unit, for example 90, 90s, 2m, 1m30s or 1.5h.")


def parse_bytes(text: str) -> int:
    """Bytes in ``"512 MiB"``, ``"1.5 GB"`` or ``"64KiB"``, rounded to whole ones; :class:`BadUnitError` otherwise."""
    exact = _bytes_in(text, shown=text, kind=_SIZE)
    whole = int(exact.to_integral_value())
    if exact and not whole:
        _refuse(text, _SIZE, "it is less than one byte")
    return whole


def parse_rate(text: str) -> float:
    """Bytes a step in ``"64KiB/step"``; :class:`BadUnitError` otherwise."""
    size, slash, per = text.partition("/")
    if not slash or per.strip() not in ("step", "steps"):
        _refuse(text, _RATE, "it does not end in /step")
    return float(_bytes_in(size, shown=text, kind=_RATE))


def parse_share(text: str) -> float:
    """The fraction in ``"+5%"`` (0.05), sign kept; :class:`BadUnitError` otherwise."""
    stripped = text.strip()
    if not stripped.endswith("%"):
        _refuse(text, _SHARE, "it does not end in %")
    return float(_number_in(stripped[:-1], shown=text, kind=_SHARE)) / 100


def parse_duration(text: str) -> float:
    """Seconds in ``"2m"``, ``"90s"``, ``"1m30s"`` or ``"90"``; :class:`BadUnitError` otherwise."""
    whole = text.strip()
    if not whole:
        _refuse(text, _DURATION, "it is empty")
    rest, total = whole, 0.0
    while rest:
        found = _QUANTITY.match(rest)
        if found is None or (found[0] != whole and not found[2]):
            _refuse(text, _DURATION, f"{_shown(rest)} is not a number with a unit")
        if found[2] not in _SECONDS:
            _refuse(text, _DURATION, f"{_shown(found[2])} is no unit of time")
        if found[1].startswith("-"):
            _refuse(text, _DURATION, "it is negative")
        total += float(_number_in(found[1], shown=text, kind=_DURATION)) * _SECONDS[found[2]]
        rest = rest[found.end() :].lstrip()
    return total


def _bytes_in(text: str, *, shown: str, kind: tuple[str, str]) -> Decimal:
    found = _QUANTITY.fullmatch(text.strip())
    number = _number_in(found[1] if found else text, shown=shown, kind=kind)
    if found is None or not found[2]:
        if number:
            _refuse(shown, kind, "it has no unit")
        return number  # nothing is nothing in any unit
    unit = found[2]
    if re.fullmatch(r"[KMGTPE]i?b", unit):
        _refuse(shown, kind, f"{unit} means bits")
    if unit.lower() not in _BYTE_UNITS:
        _refuse(shown, kind, f"{_shown(unit)} is no unit of memory")
    if number < 0:
        _refuse(shown, kind, "it is negative")
    size = number * _BYTE_UNITS[unit.lower()]
    if size > _MOST_BYTES:
        _refuse(shown, kind, "it is more than any machine can address")
    return size


def _number_in(text: str, *, shown: str, kind: tuple[str, str]) -> Decimal:
    stripped = text.strip()
    if not stripped:
        _refuse(shown, kind, "there is no number")
    found = _QUANTITY.fullmatch(stripped)
    if found is None or found[2]:
        _refuse(shown, kind, f"{_shown(stripped)} is not a number in plain digits")
    size = float(found[1])
    if not size and re.match(r"[+-]?[0.]*[1-9]", found[1]):
        _refuse(shown, kind, "it is too small")
    if abs(size) > 1e100:
        _refuse(shown, kind, "it is too large")
    # Decimal keeps 2**53 + 1 bytes apart from 2**53.
    return Decimal(found[1]) if size else Decimal(0)


def _refuse(text: str, kind: tuple[str, str], why: str) -> NoReturn:
    raise BadUnitError(f"{_shown(text)} is not {kind[0]}: {why}", help=kind[1])


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")


def format_bytes(size: float) -> str:
    """``58.7 KiB``, ``512 B``, ``-1.0 MiB``: IEC units, one digit after the point above a KiB."""
    if not math.isfinite(size):
        return _not_finite(size)
    power = 0
    # 1023.95 of a unit would be printed as 1024.0: it is 1.0 of the next.
    while power < len(_IEC) - 1 and round(abs(size) / 1024**power, 1 if power else 0) >= 1024:
        power += 1
    value = size / 1024**power
    if power == 0:
        return f"{_significant(value).replace(',', '')} B"
    return f"{value:.1f} {_IEC[power]}" if abs(value) < 1e6 else f"{value:.3g} {_IEC[power]}"


def format_rate(per_step: float) -> str:
    """``58.7 KiB/step``."""
    return f"{format_bytes(per_step)}/step" if math.isfinite(per_step) else _not_finite(per_step)


def format_count(count: float) -> str:
    """``1,234`` for whole numbers; ``0.25`` or ``62.3`` for averages."""
    return _significant(count) if math.isfinite(count) else _not_finite(count)


def format_number_of(count: int, noun: str) -> str:
    """``1 storage``, ``1,234 storages``: for nouns whose plural ends in s."""
    return f"{format_count(count)} {noun}" if count == 1 else f"{format_count(count)} {noun}s"


def format_ratio(ratio: float) -> str:
    """``6.1x``; two digits after the point below 2x, where 1.04x and 0.96x are different answers."""
    if not math.isfinite(ratio):
        return _not_finite(ratio)
    if 0.005 <= abs(ratio) < 1.995:
        return f"{ratio:.2f}x"
    return f"{ratio:.1f}x" if 1 < abs(ratio) < 99.95 else f"{_significant(ratio)}x"


def format_share(share: float) -> str:
    """``61 %`` of 0.61; never 0 % of what is there."""
    if not math.isfinite(share):
        return _not_finite(share)
    return "under 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def format_duration(seconds: float) -> str:
    """``850 ns``, ``12.5 ms``, ``1.2 s``, ``2 min 5 s``, ``1 h 4 min``; :func:`parse_duration` reads it."""
    if not math.isfinite(seconds):
        return _not_finite(seconds)
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    if size >= 1e9 or size == 0:
        return f"{sign}{size:.3g} s"
    if size >= 59.95:
        whole = round(size)
        parts = (whole // 3600, "h"), (whole % 3600 // 60, "min"), (whole % 60, "s")
        return sign + " ".join([f"{count} {unit}" for count, unit in parts if count][:2])
    unit = next((unit for unit in ("s", "ms", "µs") if size >= 0.9995 * _SECONDS[unit]), "ns")
    value = size / _SECONDS[unit]
    return f"{sign}{value:.1f} {unit}" if unit == "s" else f"{sign}{value:.3g} {unit}"


def format_throughput(per_second: float, noun: str = "steps") -> str:
    """``51.0 steps/s``, ``1,632 items/s``."""
    if not math.isfinite(per_second):
        return _not_finite(per_second)
    shown = f"{per_second:,.1f}" if 9.995 <= abs(per_second) < 999.5 else _significant(per_second)
    return f"{shown} {noun}/s"


FORMATTERS: Mapping[str, Callable[[float], str]] = {
    "bytes": format_bytes,
    "count": format_count,
    "number": format_count,
    "ratio": format_ratio,
    "items/s": lambda per_second: format_throughput(per_second, "items"),
}
"""How a metric's value is printed, by the unit that the metric table gives it."""


def format_value(value: float, unit: str) -> str:
    """*value* in a metric's *unit*; ``KeyError`` for a unit that the metric table does not know."""
    return FORMATTERS[unit](value)


def _significant(value: float) -> str:
    """Whole numbers whole, with thousands apart; others to three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    if value == round(value) or abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "unknown"
    return "infinite" if value > 0 else "-infinite"

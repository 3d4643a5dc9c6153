"""Numbers as reports show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

NOTHING = "-"


_SIGNIFICANT = tuple(
    (limit, f"{{:,.{decimals}f}}".format)
    for limit, decimals in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.01, 4), (0.001, 5))
)


def significant(value: float) -> str:
    """A number with three significant digits, or with all digits before the point: 0.0123, 1.23, 12.3, 1,234."""
    for limit, shown in _SIGNIFICANT:
        if value >= limit:
            return shown(value)
    return f"{value:.2g}" if value else "0"


def in_ms(ns: float | None) -> str:
    """Nanoseconds as milliseconds; a dash for None."""
    return NOTHING if ns is None else significant(ns / 1e6)


def in_us(ns: float | None) -> str:
    """Nanoseconds as microseconds; a dash for None."""
    return NOTHING if ns is None else significant(ns / 1e3)


def scaled(unit: float) -> Callable[[float], str]:
    """Formats numbers in a larger unit, which is so many of their own."""
    return lambda value: significant(value / unit)


def percent_of(part: float, whole: float) -> float | None:
    """``part`` in percent of ``whole``; None if ``whole`` is 0."""
    return 100 * part / whole if whole else None


def percent(part: float, whole: float) -> str:
    """``part`` in percent of ``whole``, without the sign; a dash if ``whole`` is 0."""
    found = percent_of(part, whole)
    return NOTHING if found is None else f"{found:.1f}"


def counted(tests: Mapping[str, int], words: Mapping[str, str]) -> str:
    """Lists how many tests each of ``words`` applies to: ``on the device 2, on the host 1``.

    A single word has no number: ``on the device``. Nothing is a dash.
    """
    found = [(words[key], number) for key, number in tests.items() if key in words]
    if len(found) == 1:
        return found[0][0]
    return ", ".join(f"{word} {number}" for word, number in found) or NOTHING

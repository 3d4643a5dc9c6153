"""What of the program's own values a recording must not keep: the numbers in lists, and the digits of a range."""

from __future__ import annotations

from typing import Any

_MOST_SETTINGS = 8
"""A list of more numbers is the program's data. A shorter one may be a setting: axes, a shape, an optimizer's betas."""


def without_data(value: Any, is_data: bool = False) -> Any:
    """An argument with ones in place of the numbers in lists that are data: in long ones, and in all if ``is_data``."""
    if type(value) not in (list, tuple):
        return type(value)(1) if is_data and type(value) in (int, float, complex) else value
    is_data = is_data or _numbers_in(value) > _MOST_SETTINGS
    return type(value)(without_data(each, is_data) for each in value)


def settings_only(
    args: tuple[Any, ...], kwargs: dict[str, Any], is_data: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call ``without_data``."""
    named = {name: without_data(value, is_data) for name, value in kwargs.items()}
    return tuple(without_data(value, is_data) for value in args), named


def rounded(number: float) -> float:
    """The end of a range with three digits."""
    return float(f"{number:.3g}")


def _numbers_in(value: Any) -> int:
    if type(value) in (list, tuple):
        return sum(map(_numbers_in, value))
    return int(type(value) in (int, float, complex))

"""Python's own values as the data of a manifest's test: numbers, short texts, slices, and what holds others."""

from __future__ import annotations

import math
import re
from typing import Any, Callable

from portbench_recorder.recording import Unnameable

OTHER = object()
"""The answer for a value that is none of Python's own."""

_NAME = re.compile(r"[\w ,.\->*+:=]{0,64}")
"""Texts that name something: ``bilinear``, ``bij,bjk->bik``."""


def described(value: Any, one: Callable[[Any], Any]) -> Any:
    """The data of a value, or OTHER. ``one`` describes what lists, tuples, dictionaries and slices hold.

    Raises Unnameable for a text that is longer than a name, since it may be private.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, str):
        if not _NAME.fullmatch(value):
            raise Unnameable("a text that is longer than a name")
        return value
    if isinstance(value, slice):
        return {"slice": [one(value.start), one(value.stop), one(value.step)]}
    if value is Ellipsis:
        return {"slice": []}
    kind = type(value)
    if kind is tuple:
        return {"tuple": [one(each) for each in value]}
    if kind is list:
        return [one(each) for each in value]
    if kind is dict and all(isinstance(name, str) for name in value):
        return {"dict": {name: one(each) for name, each in value.items()}}
    return OTHER

"""Removes a user's data from the text of StableHLO.

Arrays that a program has as constants may be weights or data, so no element of them is kept: a constant of several
different elements becomes one zero behind an optimization barrier, which the compiler cannot look through. It needs the
same memory as the constant. Names of arguments may hold keys of the user's dictionaries, and are removed.
"""

from __future__ import annotations

import re
from typing import Match

LARGE = 16
"""A module is to be printed without the elements of larger arrays."""

_CONSTANT = re.compile(
    r'^(?P<indent> *)(?P<name>%\S+) = stablehlo\.constant dense(?:<[\["].*>|_resource<__elided__>) : '
    r"(?P<type>tensor<(?:\d+x)*(?P<element>[^>]*(?:<[^>]*>)?)>)$",
    re.MULTILINE,
)
_PLACES = re.compile(r' loc\((?:"(?:[^"\\]|\\.)*"|[^()"]|\((?:"(?:[^"\\]|\\.)*"|[^()"])*\))*\)|^#loc.*\n', re.MULTILINE)
_NAMES_OF_ARGUMENTS = re.compile(r'jax\.(?:arg|result)_info = "(?:[^"\\]|\\.)*"(?:, )?')


def without_data(text: str) -> str:
    """The text of a module without the elements of its constants, the names of its arguments, and lines of source.

    Raises KeyError where something of these would remain.
    """
    text = _NAMES_OF_ARGUMENTS.sub("", _CONSTANT.sub(_zero, _PLACES.sub("", text)))
    if "__elided__" in text or " loc(" in text:
        raise KeyError("an attribute of the program is large, or holds a place")
    return text


def _zero(found: Match[str]) -> str:
    element = found["element"]
    if element.startswith("complex"):
        zero = "(0.0,0.0)"
    elif element == "i1":
        zero = "false"
    else:
        zero = "0" if element.lstrip("su").startswith("i") else "0.0"
    made = f"%portbench_{found['name'][1:]}"
    return (
        f"{found['indent']}{made} = stablehlo.constant dense<{zero}> : {found['type']}\n"
        f"{found['indent']}{found['name']} = stablehlo.optimization_barrier {made} : {found['type']}"
    )

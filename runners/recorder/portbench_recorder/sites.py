"""Where in a program a call was made: the innermost frame outside of the framework and of Python's own library, and of
the program's own files."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Callable, Hashable, Tuple

_HERE = os.path.dirname(os.path.abspath(__file__))
_INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_STANDARD = sysconfig.get_paths()["stdlib"] + os.sep
"""Python's own library, such as ``unittest`` and ``copy``: no program of the user, and no line that helps."""
_MOST_FRAMES = 60


Place = Tuple[Hashable, Callable[[], str]]
"""A place in a program: something that names it, and a function that gives its text."""


class Sites:
    """Finds the places of calls into one framework, whose files are below ``folders``."""

    def __init__(self, *folders: str) -> None:
        self._folders = tuple(os.path.abspath(folder) + os.sep for folder in (*folders, _HERE))
        self._is_inside: dict[CodeType, bool] = {}

    def of_caller(self) -> Place | None:
        """The place of the call that is being made."""
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_MOST_FRAMES):
            if frame is None:
                return None
            code = frame.f_code
            inside = self._is_inside.get(code)
            if inside is None:
                name = code.co_filename
                inside = name.startswith((*self._folders, "<")) or _is_standard(name)
                self._is_inside[code] = inside
            if not inside:
                return (code, frame.f_lineno), functools.partial(_text, frame)
            frame = frame.f_back
        return None


def _text(frame: FrameType) -> str:
    """``train.py:12``; for a place inside of an installed package, also the program's own line that led there."""
    inner = _place(frame)
    own: FrameType | None = frame
    while own is not None and not _is_of_the_program(own.f_code.co_filename):
        own = own.f_back
    if own is None or own is frame or own.f_code.co_filename.startswith("<"):
        return inner
    return f"{inner} from {_place(own)}"


def _is_of_the_program(file: str) -> bool:
    return not (_is_installed(file) or _is_standard(file) or file.startswith(_HERE + os.sep))


def _is_installed(file: str) -> bool:
    return any(part in file for part in _INSTALLED)


def _is_standard(file: str) -> bool:
    return file.startswith(_STANDARD) and not _is_installed(file)


def _place(frame: FrameType) -> str:
    return place(frame.f_code.co_filename, frame.f_lineno)


def place(file: str, line: int) -> str:
    """``train.py:12``: a line of a file, from the working folder or that of the installed packages on."""
    name = os.path.abspath(file)
    for part in _INSTALLED:
        if part in name:
            name = name.rpartition(part)[2]
            break
    else:
        here = os.getcwd() + os.sep
        if name.startswith(here):
            name = name[len(here) :]
    return f"{name}:{line}"

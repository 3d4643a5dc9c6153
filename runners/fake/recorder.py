"""Records calls of the fake framework: all functions but ``identity``,
which computes nothing."""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path
from typing import Any, Callable

from runners.fake import library

_NOT_RECORDED = ("identity",)


def install(recording: Any) -> None:
    """Records the calls from now on, without what a function calls inside."""
    from portbench_recorder.sites import Sites

    recording.add_framework("fake", library.__version__)
    sites = Sites(str(Path(__file__).parent))
    for name, value in list(vars(library).items()):
        is_function = isinstance(value, types.FunctionType) and value.__module__ == library.__name__
        if is_function and not name.startswith("_") and name not in _NOT_RECORDED:
            setattr(library, name, _recorded(recording, sites, f"fake.{name}", value))


def _recorded(recording: Any, sites: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        if sys._getframe(1).f_globals is vars(library):
            return function(*args, **kwargs)
        described = {"args": [_described(value) for value in args]}
        named = {key: _described(value) for key, value in kwargs.items()}
        arguments = {**described, "kwargs": named} if named else described
        entry = recording.entry("fake", name, repr(arguments), lambda: arguments)
        output = function(*args, **kwargs)
        recording.add(entry, 0.0, sites.of_caller)
        return output

    return recorded


def _described(value: Any) -> Any:
    if isinstance(value, library.Tensor):
        return {"tensor": {"dtype": value.dtype, "values": list(value.values)}}
    return value

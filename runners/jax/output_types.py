"""Shapes and types of a function's outputs, found in a trace: for cases that look at many calls and compile none."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial


def traced(trial: Trial, calls: Sequence[Any]) -> Any:
    """Return shape, type and weakness of the output of each call, a pair of arguments and keywords: of one trace, which
    compiles nothing, where the arrays are inputs."""

    places = [[place for place, arg in enumerate(args) if isinstance(arg, np.ndarray)][:1] for args, _ in calls]
    found: list[Any] = []

    def body(function: Callable[..., Any]) -> Any:
        def program(inputs: Any) -> None:
            for (args, kwargs), at, arrays in zip(calls, places, inputs):
                given = list(args)
                for place, array in zip(at, arrays):
                    given[place] = array
                output = function(*given, **kwargs)
                found.append(_described(output) if hasattr(output, "aval") else _all_described(output))

        jax.eval_shape(program, [[args[place] for place in at] for (args, _), at in zip(calls, places)])
        return found

    return trial.call_inside(body)


def _described(output: Any) -> Any:
    return output.shape, str(output.dtype), bool(output.aval.weak_type)


def _all_described(outputs: Any) -> Any:
    return type(outputs), [_described(output) for output in outputs]

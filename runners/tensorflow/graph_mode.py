"""For cases that build a TensorFlow 1 graph: build it on the target, run it, check what comes back."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import TOLERANCES, check_dtype
from runners.core.testing.trial import Trial

v1 = tf.compat.v1


@contextlib.contextmanager
def building(trial: Trial, graph: Any = None) -> Iterator[tf.Graph]:
    """A graph, new unless given, in which what is made inside lies on the target's device."""
    # The device is named inside: entering a graph forgets the scopes outside.
    graph = graph or tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        yield graph


@contextlib.contextmanager
def beside(graph: tf.Graph) -> Iterator[tf.Graph]:
    """The graph again, for what is host code by nature, such as savers and the sessions that hooks drive: text has no
    kernels elsewhere. What is made inside lies where TensorFlow can place it."""
    with graph.as_default(), tf.device(None):
        yield graph


def call_building(trial: Trial, graph: tf.Graph, *args: Any, **kwargs: Any) -> Any:
    """Times one call of the function inside a graph, each time that it is repeated as well."""

    def body(function: Callable[..., Any]) -> Any:
        with building(trial, graph):
            return function(*args, **kwargs)

    return trial.call_inside(body)


def close(
    trial: Trial, found: Any, expected: Any, dtype: str, rtol: float | None = None, atol: float | None = None
) -> None:
    """Checks what a session returned against a host array: exactly this dtype, same shape, values close for it."""
    array = np.asarray(found)
    check_dtype(array.dtype.name, dtype)
    default_rtol, default_atol = TOLERANCES.get(dtype, (0.0, 0.0))
    wide = array
    if dtype in TOLERANCES:
        wide = array.astype("complex128" if dtype.startswith("complex") else "float64")
    trial.close(wide, expected, default_rtol if rtol is None else rtol, default_atol if atol is None else atol)

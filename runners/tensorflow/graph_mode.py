"""For cases with a TensorFlow 1 graph: builds it on the target, runs it, checks the output."""

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
    """A context with a graph (a new one by default) that places everything on the target's device."""
    # The device is set inside: entering a graph discards the scopes outside.
    graph = graph or tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        yield graph


@contextlib.contextmanager
def beside(graph: tf.Graph) -> Iterator[tf.Graph]:
    """The same graph, for code of the host, such as savers and sessions with hooks: text has kernels only on the host.
    TensorFlow chooses the device of what is created inside."""
    with graph.as_default(), tf.device(None):
        yield graph


def call_building(trial: Trial, graph: tf.Graph, *args: Any, **kwargs: Any) -> Any:
    """Times one call of the function inside a graph; repeated calls are inside it too."""

    def body(function: Callable[..., Any]) -> Any:
        with building(trial, graph):
            return function(*args, **kwargs)

    return trial.call_inside(body)


def run(trial: Trial, session: Any, fetches: Any, feeds: Any = None) -> Any:
    """Runs a session, and times this apart from the timed call, which has only built what is run: counters of the first
    call, ``session_runs``, ``session_first_ns`` and ``session_ns``."""
    return trial.time_later("session", lambda: session.run(fetches, feeds))


def close(
    trial: Trial, found: Any, expected: Any, dtype: str, rtol: float | None = None, atol: float | None = None
) -> None:
    """Checks the output of a session against a host array: exactly this dtype, same shape, values close for the
    dtype."""
    array = np.asarray(found)
    check_dtype(array.dtype.name, dtype)
    default_rtol, default_atol = TOLERANCES.get(dtype, (0.0, 0.0))
    wider = array
    if dtype in TOLERANCES:
        wider = array.astype("complex128" if dtype.startswith("complex") else "float64")
    trial.close(wider, expected, default_rtol if rtol is None else rtol, default_atol if atol is None else atol)

"""Keras on TensorFlow: leaves out what it only traces to learn the shapes of outputs, with sizes that are not known."""

from __future__ import annotations

import functools
import sys
from typing import Any

from portbench_recorder.recording import Recording


def install(recording: Recording) -> None:
    """Does nothing for Keras 2, and for Keras with another backend."""
    backend = sys.modules.get("keras.src.backend")
    calls = sys.modules.get("portbench_recorder.tensorflow_calls")
    found = calls.calls_of(recording) if calls is not None else None
    if found is None or not hasattr(backend, "compute_output_spec"):
        return
    compute = backend.compute_output_spec

    @functools.wraps(compute)
    def unrecorded(*args: Any, **kwargs: Any) -> Any:
        with found.pause():
            return compute(*args, **kwargs)

    backend.compute_output_spec = unrecorded

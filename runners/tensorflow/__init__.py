"""TensorFlow: what is known of it before it is imported."""

from __future__ import annotations

from typing import Mapping

MODULE = "tensorflow"
NAMESPACE = "tf"
PACKAGES = ("tensorflow", "keras", "tensorflow_estimator", "tensorboard")
DEVICES = ("cpu",)
FORKS_AFTER_IMPORT = ("cpu",)


def variables(device: str) -> Mapping[str, str]:
    """A CPU run must not see a GPU at all, or TensorFlow would place operations there."""
    return {"CUDA_VISIBLE_DEVICES": "-1"} if device == "cpu" else {}

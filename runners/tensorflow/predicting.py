"""Foretells calls for devices that are not there: a GPU by the kernels of TensorFlow's wheel for CUDA, a TPU by its
compiler. Implements runners.core.prediction.Predictor; each kind of device has a module of its own, which does too.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any, Mapping, NamedTuple

from runners.core.prediction import Estimate, Predictor


class _Device(NamedTuple):
    by: Predictor
    opened: Any


def open_device(device: str) -> _Device:
    kind = "gpu" if device == "gpu-predicted" else "tpu"
    by: Predictor = importlib.import_module(f"runners.tensorflow.predicting_{kind}")
    return _Device(by, by.open_device(device))


def stand_in(device: _Device) -> str | None:
    return device.by.stand_in(device.opened)


def about(device: _Device) -> Mapping[str, str | None]:
    return device.by.about(device.opened)


def facts(device: _Device) -> Mapping[str, str | int | float | bool | None]:
    return device.by.facts(device.opened)


def refuses(error: BaseException, device: _Device) -> bool:
    return device.by.refuses(error, device.opened)


def predict(call: partial[Any], device: _Device) -> Estimate:
    return device.by.predict(call, device.opened)

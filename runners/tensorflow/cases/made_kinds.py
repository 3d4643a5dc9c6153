"""tf.constant, tf.convert_to_tensor and tf.Variable: values of each dtype, with many axes and with long ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from runners.core.testing.trial import Trial

_SHAPES = ([], [0], [3], [300, 2], [2, 300], [2, 3, 270], [2, 1, 3, 2, 1, 2], [1, 2, 1, 2, 1, 2, 1, 2, 3])

_WIDE = ("int16", "int32", "int64", "float32", "float64", "complex128")


def _values(shape: Any, dtype: str) -> Any:
    """Distinct neighbors, the ends of the range and what is not finite."""
    size = int(np.prod(shape, dtype="int64"))
    numbers = np.arange(1, size + 1) * 37 % 127
    host = (numbers % 2 if dtype == "bool" else numbers).astype(dtype)
    if size > 9 and dtype != "bool":
        if host.dtype.kind in "fc":
            host[[0, size // 3, size // 2, -2, -1]] = [-0.0, np.nan, np.inf, np.finfo(dtype).max, -0.0]
        else:
            host[[0, size // 2, -1]] = [np.iinfo(dtype).max, np.iinfo(dtype).min, np.iinfo(dtype).max - 1]
    return host.reshape(shape)


def tensors(trial: Trial, dtype: str, constant: bool) -> None:
    """Arrays in each order, lists and numbers of NumPy have their values and dtype, said or not, and stay as they
    were. tf.constant may reshape, and repeats one number."""
    for shape in _SHAPES:
        host = _values(shape, dtype)
        backwards = np.array(host[::-1]) if shape else host
        layouts = [host.copy(), np.array(host, order="F"), *([backwards[::-1]] if shape else [])]
        for layout in layouts:
            kept = [trial.call(layout), trial.call(layout, trial.dtype(dtype))]
            if constant:
                kept.append(trial.call(layout, shape=[*shape, 1]))
            trial.equal(layout, host)
            for output in kept:
                trial.exact(trial.numpy(output).reshape(shape), host)
                trial.equal(trial.dtype_name(output), dtype)
        if host.size <= 600:
            trial.exact(trial.call(host.tolist(), trial.dtype(dtype)), host, dtype)
    number = _values([300, 2], dtype).ravel()
    for value in (number[0], number[-1], number[1], number[300]):
        trial.exact(trial.call(value), np.asarray(value), dtype)
        if constant:
            for shape in _SHAPES:
                trial.exact(trial.call(value, shape=shape), np.full(shape, value), dtype)


def repeated(trial: Trial, dtype: str) -> None:
    """One number in a list is repeated in each shape."""
    for value, shape in itertools.product(_values([300, 2], dtype).ravel()[[0, 1, 300, -1]], _SHAPES[1:]):
        trial.exact(trial.call([value], trial.dtype(dtype), shape), np.full(shape, value), dtype)


def variables(trial: Trial, dtype: str) -> None:
    """Variables hold values of their dtype, and add, subtract and take new ones; what was read before stays."""
    for shape in _SHAPES:
        host, other = _values(shape, dtype), np.ones(shape, dtype)
        trial.repeatable = False
        variable = trial.call(host.copy(), name="kept", dtype=trial.dtype(dtype))
        trial.exact(variable, host, dtype)
        first = variable.read_value()
        variable.assign(other)
        trial.exact(variable, other, dtype)
        if dtype != "bool":
            variable.assign_add(other)
            variable.assign_add(other)
            trial.exact(variable, other * 3, dtype)
            variable.assign_sub(other)
            trial.exact(variable, other * 2, dtype)
        variable.assign(host)
        trial.exact(variable, host, dtype)
        trial.exact(first, host, dtype)
        trial.equal([variable.dtype.name, variable.shape.as_list(), variable.trainable], [dtype, shape, True])


def widened(trial: Trial) -> None:
    """Integers of NumPy, also negative ones, keep their values in each wider dtype, in arrays of each order and as
    numbers, and the arrays stay as they were."""
    trial.repeatable = False
    for narrow, wide in itertools.product(("int8", "uint8", "int16", "uint16", "int32"), _WIDE):
        if not np.can_cast(narrow, wide) or narrow == wide:
            continue
        bounds = np.iinfo(narrow)
        host = np.asarray([[bounds.min, -1 if bounds.min else 1, 5], [0, bounds.max, bounds.max - 1]], narrow)
        for layout in (host.copy(), np.array(host, order="F"), host[0, 0], host[:, 1:].copy()[:, ::-1], host[1, 1:2]):
            before = layout.copy()
            trial.exact(trial.call(layout, dtype=trial.dtype(wide)), before.astype(wide), wide)
            trial.equal(layout, before)

"""Builds a function's arguments from a manifest's data: once for the device, once for the reference on the host."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from runners.core.adapter import Framework
from runners.core.testing import resolve
from runners.core.testing.trial import Trial

_CARRIERS = {"bfloat16": "float32"}
"""NumPy lacks these dtypes; the values are made in the next wider one and rounded by the framework."""


class Built(NamedTuple):
    """An argument: the value for the function on the device, and its counterpart for the reference."""

    device: Any
    host: Any


def random(shape: Sequence[int], dtype: str, seed: int, low: float | None = None, high: float | None = None) -> Any:
    """A random host array of a shape, by numpy.random.RandomState, whose stream is frozen for ever.

    Uniform in [low, high) where given; else standard normal for floating and complex dtypes, 0 to 9 for integers, a
    fair coin for bool. Complex numbers have independent parts. bfloat16 comes as float32.
    """
    state = np.random.RandomState(seed)
    kind = np.dtype(_CARRIERS.get(dtype, dtype)).kind
    if kind == "b":
        array = state.randint(0, 2, shape)
    elif kind in "iu":
        array = state.randint(0 if low is None else int(low), 10 if high is None else int(high), shape)
    else:

        def part() -> Any:
            return state.standard_normal(shape) if low is None or high is None else state.uniform(low, high, shape)

        array = part() + 1j * part() if kind == "c" else part()
    return np.asarray(array).astype(_CARRIERS.get(dtype, dtype))


class Builder:
    """Turns argument data into values for one trial."""

    def __init__(self, trial: Trial, facts: Framework) -> None:
        self._trial = trial
        self._facts = facts

    def all(self, data: Sequence[Any]) -> list[Built]:
        return [self.one(item) for item in data]

    def named(self, data: Mapping[str, Any]) -> dict[str, Built]:
        return {key: self.one(item) for key, item in data.items()}

    def one(self, data: Any) -> Built:
        """Builds one argument. Raises what the framework raises for a dtype or value that it refuses."""
        if isinstance(data, list):
            items = self.all(data)
            return Built([item.device for item in items], [item.host for item in items])
        if not isinstance(data, dict):
            return Built(data, data)
        (kind, value), *_ = data.items()
        return getattr(self, "_" + kind)(value)  # type: ignore[no-any-return]

    def _tensor(self, value: Mapping[str, Any]) -> Built:
        dtype = value["dtype"]
        if "values" in value:
            array = np.asarray(value["values"]).astype(_CARRIERS.get(dtype, dtype))
        else:
            array = random(value["shape"], dtype, value.get("seed", 0), value.get("low"), value.get("high"))
        moved = self._trial.tensor(array, dtype, value.get("layout", "contiguous"))
        # The reference sees what the function sees: the values after the framework has rounded them.
        return Built(moved, widened(self._trial.numpy(moved) if dtype in _CARRIERS else array))

    def _tuple(self, value: Sequence[Any]) -> Built:
        items = self.all(value)
        return Built(tuple(item.device for item in items), tuple(item.host for item in items))

    def _dict(self, value: Mapping[str, Any]) -> Built:
        items = self.named(value)
        return Built({k: item.device for k, item in items.items()}, {k: item.host for k, item in items.items()})

    def _dtype(self, value: str) -> Built:
        return Built(self._trial.dtype(value), np.dtype(_CARRIERS.get(value, value)))

    def _device(self, value: str) -> Built:
        return Built(self._trial.device, None)

    def _attribute(self, value: str) -> Built:
        return Built(resolve.function(value, self._facts), None)

    def _complex(self, value: Sequence[float]) -> Built:
        return Built(complex(*value), complex(*value))

    def _number(self, value: str) -> Built:
        return Built(float(value), float(value))


def widened(array: Any) -> Any:
    """Floating arrays in float64, complex ones in complex128: a reference must be better than what it judges."""
    array = np.asarray(array)
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, array.dtype))

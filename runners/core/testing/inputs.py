"""Builds a function's arguments from a manifest's data: once for the device, once for the reference on the host."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from runners.core.adapter import Framework
from runners.core.public import names
from runners.core.testing.arrays import CARRIERS, carrier, edges, random, widened, with_facts
from runners.core.testing.trial import Trial


class Built(NamedTuple):
    """An argument: the value for the function on the device, and the value for the reference on the host."""

    device: Any
    host: Any


class Builder:
    """Turns argument data into values for one trial."""

    def __init__(self, trial: Trial, facts: Framework) -> None:
        self._trial = trial
        self._facts = facts
        self._builders: Mapping[str, Callable[[Any], Built]] = {
            "tensor": self._tensor,
            "tuple": self._tuple,
            "dict": self._dict,
            "dtype": self._dtype,
            "device": lambda value: Built(trial.device, None),
            "attribute": lambda value: Built(names.function(value, facts), None),
            "complex": lambda value: Built(complex(*value), complex(*value)),
            "number": lambda value: Built(float(value), float(value)),
            "slice": self._slice,
            "instance": self._instance,
        }

    def all(self, data: Sequence[Any]) -> list[Built]:
        """Builds positional arguments."""
        return [self.one(item) for item in data]

    def named(self, data: Mapping[str, Any]) -> dict[str, Built]:
        """Builds keyword arguments."""
        return {key: self.one(item) for key, item in data.items()}

    def one(self, data: Any) -> Built:
        """Builds one argument. Raises what the framework raises for a dtype or value that it does not take."""
        if isinstance(data, list):
            items = self.all(data)
            return Built([item.device for item in items], [item.host for item in items])
        if not isinstance(data, dict):
            return Built(data, data)
        (kind, value), *_ = data.items()
        return self._builders[kind](value)

    def _tensor(self, value: Mapping[str, Any]) -> Built:
        dtype = value["dtype"]
        if isinstance(value.get("values"), dict):
            array = edges(dtype, **value["values"])
        elif "values" in value:
            array = np.asarray(value["values"]).astype(carrier(dtype))
        else:
            facts = {**value, "seed": self._trial.seed(value.get("seed", 0))}
            array = random(facts["shape"], dtype, facts["seed"], facts.get("low"), facts.get("high"))
            array = with_facts(array, facts)
        moved = self._trial.tensor(
            array, dtype, value.get("layout", "contiguous"), value.get("order"), value.get("requires_grad", False)
        )
        # The reference gets what the function gets: the values after the framework has rounded them.
        return Built(moved, widened(self._trial.numpy(moved) if dtype in CARRIERS else array))

    def _tuple(self, value: Sequence[Any]) -> Built:
        items = self.all(value)
        return Built(tuple(item.device for item in items), tuple(item.host for item in items))

    def _dict(self, value: Mapping[str, Any]) -> Built:
        items = self.named(value)
        return Built({k: item.device for k, item in items.items()}, {k: item.host for k, item in items.items()})

    def _slice(self, value: Sequence[Any]) -> Built:
        """A slice of three bounds; without bounds the ellipsis."""
        made = slice(*[item.device for item in self.all(value)]) if value else ...
        return Built(made, made)

    def _instance(self, value: Mapping[str, Any]) -> Built:
        """An instance of a public class that only holds data. Raises Forbidden for anything else."""
        kind = names.function(value["class"], self._facts)
        if not (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
            raise names.Forbidden(f"{value['class']} is no named tuple")
        made = kind(**{name: item.device for name, item in self.named(value["kwargs"]).items()})
        return Built(made, made)

    def _dtype(self, value: str) -> Built:
        return Built(self._trial.dtype(value), np.dtype(carrier(value)))


def on_device(
    trial: Trial, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, with tensors on the target's device. Raises what ``Builder.one`` raises."""
    builder = Builder(trial, names.framework(trial.framework))
    given = [item.device for item in builder.all(args)]
    return given, {name: item.device for name, item in builder.named(kwargs or {}).items()}

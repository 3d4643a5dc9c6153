"""Tries samples of an entry on the host's CPU: what passes there as a test does becomes one."""

from __future__ import annotations

import importlib
import mmap
import time
from typing import Any, Dict, Iterator

from runners.core.adapter import Adapter
from runners.core.public import permitted
from runners.core.testing import sampled, samples
from runners.core.testing.endings import Skip
from runners.core.testing.samples import Entry
from runners.core.testing.trial import Trial

_OF_GRADIENTS = "float32"
"""The dtype in which gradients are tested."""

_SEED = 20230401

Data = Dict[str, Any]


class TriedSamples:
    """Tries samples of a framework's sources. A test has at most so many of an entry."""

    def __init__(self, framework: str, adapter: Adapter, most: int) -> None:
        self._framework = framework
        self._adapter = adapter
        self._most = most
        self._device = adapter.open_device("cpu")

    def test(self, function: str, parameters: Data) -> Data:
        """The parameters of a test that passes on the CPU. Raises what it raises there."""
        source, entry, dtype = parameters["source"], parameters["entry"], parameters["dtype"]
        gradient = parameters.get("gradient", False)
        made = samples.made(self._framework, source, entry, dtype, gradient)
        if not made.all:
            raise Skip("the source has no sample in this dtype")
        found = {**parameters, "positions": _spread(len(made.all), self._most), "sha256": made.sha256}
        if any(each.raises for each in made.all):
            return self._refusals(function, found)
        if not gradient and all(made.all[position].reference for position in found["positions"]):
            try:
                independent = {**found, "reference": sampled.INDEPENDENT}
                self._run(function, independent)
                return independent
            except Exception:
                # The reference may round in another way, or take other arguments: the host is left.
                pass
        self._run(function, found)
        return found

    def _refusals(self, function: str, found: Data) -> Data:
        """The parameters of a test with those samples whose errors the CPU raises, too. Some are of other devices, or
        of arguments that share memory. Raises what the last one raises where none is left."""
        kept, reason = [], None
        for position in found["positions"]:
            try:
                self._run(function, {**found, "positions": [position]})
                kept.append(position)
            except Exception as error:
                reason = error
        if not kept and reason:
            raise reason
        return {**found, "positions": kept}

    def _run(self, function: str, parameters: Data) -> None:
        with self._adapter.scope(self._device):
            self._adapter.seed(_SEED)
            called = permitted.function(function, self._framework)
            trial = Trial(
                self._framework,
                called,
                self._adapter,
                self._device,
                mmap.mmap(-1, 1),
                time.perf_counter_ns,
                observer=lambda call: call(),
            )
            importlib.import_module(f"runners.{self._framework}.cases.sampled").sample(trial, **parameters)


def kinds_of(entry: Entry) -> Iterator[tuple[str, bool]]:
    """The dtypes of an entry, without and with gradients."""
    for dtype in entry.dtypes:
        yield dtype, False
    if _OF_GRADIENTS in entry.differentiable:
        yield _OF_GRADIENTS, True


def _spread(count: int, most: int) -> list[int]:
    """At most that many positions of ``count``, evenly spread: the first and the last are among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(number * (count - 1) / max(1, most - 1)) for number in range(most)})

"""What stands in for the function in a test that a worker is asked to run."""

from __future__ import annotations

from typing import Any, Union

from runners.core.adapter import Adapter
from runners.core.mutants.mutant import Mutant
from runners.core.mutants.mutation import Mutation
from runners.core.mutants.names import PROBE
from runners.core.mutants.own import OwnMutant
from runners.core.mutants.probe import Probe
from runners.core.result import Message

AnyMutant = Union[Mutation, OwnMutant]


def mutant_of(request: Message, framework: str, adapter: Adapter, device: Any) -> AnyMutant | None:
    """The mutant that a request names, the probe, or None for the function as it is."""
    if request["mutant"] is None:
        return None
    if request["mutant"] == PROBE:
        return Probe(framework, adapter, device)
    if request["own_mutants"]:
        return OwnMutant(request["own_mutants"], request["mutant"])
    return Mutant(request["mutant"], framework, adapter, device)

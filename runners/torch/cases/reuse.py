"""One instance of a layer or loss in several calls, and the outputs of several calls of a function."""

from __future__ import annotations

from typing import Any, Mapping, Sequence
from unittest import mock

import numpy as np
import torch

from runners.core.testing import cases
from runners.core.testing.trial import Trial

_SEEDS_OF_A_CALL = 100


def one_instance(trial: Trial, module: str, every: Mapping[str, Any], calls: Sequence[Sequence[Any]]) -> None:
    """Each output and gradient depends on the inputs of its call and on the parameters, the mode and the dtype at that
    time, not on earlier calls of the same instance.

    ``calls``: cases of the module with parameters, besides those of ``every`` call. The first case makes the instance.
    The later ones get the same instance and other random values, and set other values of its parameters. A call with
    another ``dtype`` converts the instance.
    """
    _instances(trial, module, every, calls, 1)


def two_instances(trial: Trial, module: str, every: Mapping[str, Any], calls: Sequence[Sequence[Any]]) -> None:
    """Two instances that are called in turns do not share anything: a call of one changes no parameter and no buffer
    of the other one, and each computes with its own.

    ``calls`` as for one_instance: the first makes the first instance, the second the second one.
    """
    _instances(trial, module, every, calls, 2)


def _instances(trial: Trial, module: str, every: Mapping[str, Any], calls: Sequence[Sequence[Any]], count: int) -> None:
    make, random = trial.make, trial.random
    made: list[Any] = []
    states: list[Any] = [{} for _ in range(count)]
    if len({params.get("dtype") for _, params in calls}) > 1:
        # A converted instance does not take the inputs of its earlier calls.
        trial.repeatable = False
    for number, (name, params) in enumerate(calls):
        place = number % count
        options = {**every, **params}
        wanted = options.get("dtype")

        def made_once(*args: Any, place: int = place, wanted: Any = wanted, **kwargs: Any) -> Any:
            if len(made) == place:
                made.append(make(*args, **kwargs))
            if wanted and isinstance(made[place], torch.nn.Module):
                made[place].to(trial.dtype(wanted))
            for parameter in made[place].parameters():
                parameter.grad = None
            return made[place]

        def other(*shape: int, seed: int = 0, number: int = number, **options: Any) -> Any:
            return random(*shape, seed=seed + _SEEDS_OF_A_CALL * number, **options)

        with mock.patch.object(trial, "make", made_once), mock.patch.object(trial, "random", other):
            cases.case(f"torch.{module}:{name}")(trial, **options)
        for instance, state in zip(made, states):
            if instance is made[place]:
                state.update((key, trial.numpy(value).copy()) for key, value in instance.state_dict().items())
            for key, value in instance.state_dict().items():
                trial.equal(value, state[key])


def separate_outputs(
    trial: Trial, args: Sequence[Any], dtype: str, value: Any = None, shape: Sequence[int] | None = None
) -> None:
    """Each call gives memory of its own: what is written to one output is seen in no other one, before or after.

    ``value``: the output, or one number for all of its elements, in the ``shape``. Without it every number from 0 to
    n - 1 occurs once, in the order of the seed.
    """
    expected = None if value is None else np.array(value) if shape is None else np.full(tuple(shape), value)
    outputs: list[Any] = []
    for number in range(4):
        torch.manual_seed(5)
        output = trial.call(*args, dtype=trial.dtype(dtype), device=trial.device)
        if expected is None:
            expected = trial.numpy(output).copy()
            trial.equal(np.sort(expected), np.arange(args[0]))
        trial.exact(output, expected, dtype)
        output.fill_(number + 2)
        outputs.append(output)
    for number, output in enumerate(outputs):
        trial.exact(output, np.full(expected.shape, number + 2), dtype)

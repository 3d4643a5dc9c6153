"""Recorded uses of PyTorch that are more than one call of a function."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from runners.core.testing.trial import Trial


def optimizer_steps(
    trial: Trial, shapes: Sequence[Sequence[int]], dtypes: Sequence[str], settings: Mapping[str, Any]
) -> None:
    """Two steps of an optimizer leave in its parameters what the same steps leave on the host in float64."""
    parameters = _stepped(trial, shapes, dtypes, settings, is_timed=True)
    with trial.on_host(wide=True):
        expected = [trial.numpy(each) for each in _stepped(trial, shapes, dtypes, settings, is_timed=False)]
    for parameter, values in zip(parameters, expected):
        # A step adds a few roundings of a parameter that is of the size of one.
        trial.close(parameter, values, rtol=_ROUNDING.get(trial.dtype_name(parameter) or "", 1e-5), atol=1e-5)


_ROUNDING = {"float16": 1e-2, "bfloat16": 5e-2, "float64": 1e-9}


def _stepped(
    trial: Trial, shapes: Sequence[Sequence[int]], dtypes: Sequence[str], settings: Mapping[str, Any], is_timed: bool
) -> Sequence[Any]:
    parameters = [
        trial.tensor(trial.random(*shape, dtype=dtype, seed=number), dtype).requires_grad_()
        for number, (shape, dtype) in enumerate(zip(shapes, dtypes))
    ]
    optimizer = trial.make(parameters, **settings)
    for step in range(2):
        for number, (parameter, dtype) in enumerate(zip(parameters, dtypes)):
            seed = 1000 * (step + 1) + number
            parameter.grad = trial.tensor(trial.random(*parameter.shape, dtype=dtype, seed=seed), dtype)
        if is_timed:
            trial.repeatable = False
            trial.call_method(optimizer, "step")
        else:
            optimizer.step()
    return parameters

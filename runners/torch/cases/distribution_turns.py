"""Two distributions in turns: densities and draws of each follow its own parameters, also after draws of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial
from runners.torch.cases.distributions import _log_density as _von_mises
from runners.torch.cases.sampling import _RTOL, _log_density, _points


def von_mises_in_turns(trial: Trial, dtype: str) -> None:
    """Two von Mises distributions of other shapes in turns; drawing changes no parameter."""
    given: Any = [
        (np.array(0.5, dtype), np.array(2.0, dtype)),
        (np.array([-1.0, 2.0], dtype), np.array([9.0, 0.5], dtype)),
    ]
    made = [trial.make(*map(trial.tensor, parameters)) for parameters in given]
    trial.repeatable = False
    for step, number in enumerate((0, 1, 0, 1)):
        x = trial.random(step + 1, 2, dtype=dtype, seed=step, low=-3, high=3)
        mean, k = map(widened, given[number])
        density = trial.call_method(made[number], "log_prob", trial.tensor(x))
        # As in the other tests of the density: the Bessel function is a polynomial that is accurate to 2e-7.
        trial.close(density, _von_mises(widened(x), mean, k), dtype=dtype, rtol=1e-6, atol=2e-5)
        torch.manual_seed(step)
        draws = widened(trial.numpy(trial.call_method(made[number], "sample", (1000,)))).reshape(1000, -1)
        for column, (center, width) in enumerate(zip(np.atleast_1d(mean), np.atleast_1d(k))):
            name, facts = "von_mises", {"mean": float(center), "concentration": float(width)}
            check_draws(draws[:, column], name, facts, epsilon=float(np.finfo(dtype).eps))
        for distribution, parameters in zip(made, given):
            trial.exact(distribution.loc, parameters[0], dtype)
            trial.exact(distribution.concentration, parameters[1], dtype)


def relaxed_in_turns(trial: Trial, dtype: str) -> None:
    """Two relaxed distributions, of probabilities and of logits, in turns; drawing changes no parameter."""
    probs = np.array([0.2, 0.3, 0.5], dtype)
    rows = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1]], dtype)
    heats = [np.array(0.5, dtype), np.array(1.5, dtype)]
    made = [
        trial.make(trial.tensor(heats[0]), probs=trial.tensor(probs)),
        trial.make(trial.tensor(heats[1]), logits=trial.tensor(np.log(rows))),
    ]
    trial.repeatable = False
    for step, number in enumerate((0, 1, 1, 0, 1, 0)):
        parameters = widened((probs, rows)[number])
        # Other values of the same shapes: a density that is remembered by shape would be that of others.
        x = np.roll(_points(trial, 6, 2, parameters.shape[-1], dtype=dtype), step, axis=0)
        density = trial.call_method(made[number], "log_prob", trial.tensor(x))
        wanted = _log_density(widened(x), heats[number].astype("float64"), parameters)
        trial.close(density, wanted, dtype=dtype, rtol=10 * _RTOL[dtype], atol=1e-4 if dtype == "float32" else 1e-11)
        sample = trial.call_method(made[number], "sample", (step + 2,))
        trial.equal([trial.dtype_name(sample), list(sample.shape)], [dtype, [step + 2, *parameters.shape]])
        trial.close(sample.sum(-1), np.ones((step + 2, *parameters.shape[:-1])), dtype=dtype, atol=1e-5)
    trial.close(made[0].probs, widened(probs), dtype=dtype)
    trial.close(made[1].probs, widened(rows), dtype=dtype)
    trial.equal([list(each.batch_shape) for each in made], [[], [2]])

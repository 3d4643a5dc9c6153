"""torch.autograd.functional.jvp: how it calls the function, and outputs that do not depend on the input."""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from runners.core.testing.trial import Trial


def jvp_calls(trial: Trial, options: Mapping[str, Any] = {}) -> None:
    """The function is called once, with tensors of the inputs' values that are not the inputs themselves."""
    x, v = (trial.random(4, dtype="float64", seed=seed) for seed in (1, 2))
    given, seen = trial.tensor(x), []

    def counted(tensor: Any) -> Any:
        seen.append(tensor)
        return tensor**2

    trial.repeatable = False
    output, product = trial.call(counted, given, trial.tensor(v), **options)
    trial.equal([len(seen), seen[0] is given, given.requires_grad], [1, False, False])
    trial.exact(seen[0].detach(), x, "float64")
    trial.close(output.detach(), x**2, dtype="float64")
    trial.close(product.detach(), 2 * x * v, dtype="float64")


def jvp_constant(trial: Trial) -> None:
    """The product of the only output is zeros in its shape, if it does not depend on the input or has no slope."""
    given, v = trial.tensor(trial.random(3)), trial.tensor(trial.random(3, seed=2))
    constant = trial.tensor(np.array([[1.0, -2.0]], "float32"))
    for function, values in ((lambda x: constant.clone(), [[1.0, -2.0]]), (lambda x: x[:2] * 0 + 3, [3.0, 3.0])):
        output, product = trial.call(function, given, v)
        trial.close(output, values, dtype="float32")
        trial.close(product, np.zeros(np.shape(values)), dtype="float32")

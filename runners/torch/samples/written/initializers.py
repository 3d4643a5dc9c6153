"""torch.nn.init: fixed values, and moments of random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import t


def table(call: Call) -> None:
    for end in ("", "_"):
        _fixed(call, end)
        _random(call, end)
    name = "torch.nn.init.calculate_gain"
    call(
        name,
        lambda f: [f("relu"), f("tanh"), f("linear"), f("leaky_relu", 0.2)],
        expect=[2**0.5, 5 / 3, 1, (2 / 1.04) ** 0.5],
    )


def _fixed(call: Call, end: str) -> None:
    x = t(4, 3)
    call(f"torch.nn.init.constant{end}", lambda f, x: f(x, 2.5), x, expect=np.full((4, 3), 2.5))
    call(f"torch.nn.init.eye{end}", lambda f, x: f(x), x, expect=np.eye(4, 3))
    if end:
        call("torch.nn.init.ones_", lambda f, x: f(x), x, expect=np.ones((4, 3)))
        call("torch.nn.init.zeros_", lambda f, x: f(x), x, expect=np.zeros((4, 3)))
    kernel = np.zeros((4, 3, 3))
    kernel[range(3), range(3), 1] = 1
    call(f"torch.nn.init.dirac{end}", lambda f, x: f(x), t(4, 3, 3), expect=kernel)
    product = {"expect": np.eye(3)}
    call(f"torch.nn.init.orthogonal{end}", lambda f, x: _gram(f(x)), t(5, 3), **product)
    call(f"torch.nn.init.sparse{end}", lambda f, x: (f(x, 0.25) == 0).sum(0), t(8, 5), expect=np.full(5, 2))


def _random(call: Call, end: str) -> None:
    """Of 60,000 values the mean lies within six standard errors (a false alarm in 5e8), the deviation within 3 %."""
    x = t(200, 300)
    fan = (2 / (200 + 300)) ** 0.5
    for name, deviation in (
        *(("normal", 0.5), ("uniform", 1 / 3**0.5), ("kaiming_normal", (2 / 300) ** 0.5)),
        *(("kaiming_uniform", (2 / 300) ** 0.5), ("xavier_normal", fan), ("xavier_uniform", fan)),
    ):
        settings = {"normal": (0.0, 0.5), "uniform": (-1.0, 1.0)}.get(name, ())
        body = _within(deviation, settings)
        call(f"torch.nn.init.{name}{end}", body, x, expect=[True, True])
    if end:
        # Of a standard normal distribution between -2 and 2.
        call("torch.nn.init.trunc_normal_", _within(0.8796, ()), x, expect=[True, True])


def _within(deviation: float, settings: Any) -> Any:
    def body(f: Any, x: torch.Tensor) -> Any:
        made = f(x, *settings)
        bound = 6 * deviation / x.numel() ** 0.5
        return [abs(float(made.mean())) < bound, abs(float(made.std()) / deviation - 1) < 0.03]

    return body


def _gram(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.T @ matrix

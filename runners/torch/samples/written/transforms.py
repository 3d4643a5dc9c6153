"""Transforms of distributions: values, inverses and logarithms of the Jacobian's determinant."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import t

_X = t(4, seed=6)


def table(call: Call) -> None:
    d = torch.distributions
    exp = d.ExpTransform()
    for name, arguments, value, expect in (
        ("AffineTransform", (1.0, 2.0), _X, lambda x: [1 + 2 * x, x, np.full(4, np.log(2))]),
        ("ExpTransform", (), _X, lambda x: [np.exp(x), x, x]),
        ("PowerTransform", (torch.tensor(2.0),), _X.abs() + 0.1, lambda x: [x**2, x, np.log(2 * x)]),
        ("SigmoidTransform", (), _X, lambda x: [1 / (1 + np.exp(-x)), x, -x - 2 * np.log1p(np.exp(-x))]),
        ("SoftplusTransform", (), _X, lambda x: [np.log1p(np.exp(x)), x, -np.log1p(np.exp(-x))]),
        ("TanhTransform", (), _X, lambda x: [np.tanh(x), x, np.log(1 - np.tanh(x) ** 2)]),
        ("ComposeTransform", ([exp, exp],), _X, lambda x: [np.exp(np.exp(x)), x, x + np.exp(x)]),
        ("IndependentTransform", (exp, 1), _X, lambda x: [np.exp(x), x, x.sum()]),
        ("CatTransform", ([exp, exp], 0, [1, 3]), _X, lambda x: [np.exp(x), x, x]),
        ("StackTransform", ([exp, exp],), t(2, 3), lambda x: [np.exp(x), x, x]),
        ("StickBreakingTransform", (), _X, None),
        ("CorrCholeskyTransform", (), t(3), None),
        ("ReshapeTransform", ((4,), (2, 2)), _X, lambda x: [x.reshape(2, 2), x, np.zeros(())]),
        ("CumulativeDistributionTransform", (d.Normal(0.0, 1.0),), _X, None),
    ):
        call(f"torch.distributions.{name}", _both_ways(arguments), value, expect=expect)
    for name, arguments, expect in (
        ("AbsTransform", (), np.abs),
        ("SoftmaxTransform", (), lambda x: np.exp(x) / np.exp(x).sum()),
    ):
        call(f"torch.distributions.{name}", _one_way(arguments), _X, expect=expect)
    for name in ("LowerCholeskyTransform", "PositiveDefiniteTransform"):
        call(
            f"torch.distributions.{name}", _one_way(()), t(3, 3), expect=_lower if name.startswith("Low") else _definite
        )


def _both_ways(arguments: Any) -> Any:
    def body(f: Any, x: torch.Tensor) -> Any:
        transform = f(*arguments)
        y = transform(x)
        return [y, transform.inv(y), transform.log_abs_det_jacobian(x, y)]

    return body


def _one_way(arguments: Any) -> Any:
    return lambda f, x: f(*arguments)(x)


def _lower(x: Any) -> Any:
    return np.tril(x, -1) + np.diag(np.exp(np.diag(x)))


def _definite(x: Any) -> Any:
    factor = _lower(x)
    return factor @ factor.T

"""torch.autograd.functional.jvp, compared with closed forms in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_SLOPES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # function: (values, derivative)
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "square": (np.square, lambda x: 2 * x),
}


def jvp_elementwise(
    trial: Trial, name: str, shape: Sequence[int], dtype: str, layout: str = "contiguous", **options: Any
) -> None:
    """For an elementwise function the product is the derivative times the vector. The function's values are returned
    too."""
    x, v = (trial.random(*shape, dtype=dtype, seed=seed) for seed in (1, 2))
    tensors = trial.tensor(x, dtype, layout), trial.tensor(v, dtype, layout)
    values, slope = _SLOPES[name]
    found = trial.call(getattr(torch, name), *tensors, **options)
    x, v = (widened(trial.numpy(tensor)) for tensor in tensors)
    trial.close(found[0], values(x), dtype=dtype)
    trial.close(found[1], slope(x) * v, dtype=dtype)


def jvp_matmul(trial: Trial, size: int, dtype: str) -> None:
    """For a matrix product of two inputs A and B the product is dA B + A dB."""
    a, b, da, db = (trial.random(size, size, dtype=dtype, seed=seed) for seed in range(4))
    a, b = a / size**0.5, b / size**0.5
    inputs, vectors = (trial.tensor(a), trial.tensor(b)), (trial.tensor(da), trial.tensor(db))
    output, product = trial.call(torch.matmul, inputs, vectors)
    a, b, da, db = map(widened, (a, b, da, db))
    trial.close(output, a @ b, dtype=dtype)
    trial.close(product, da @ b + a @ db, dtype=dtype)


def jvp_several_outputs(trial: Trial, dtype: str) -> None:
    """A function with several outputs has one product for each output."""
    x, v = (trial.random(4, 3, dtype=dtype, seed=seed) for seed in (1, 2))
    outputs, products = trial.call(lambda x: (x.sum(0), x.exp(), x[1:3] * 2), trial.tensor(x), trial.tensor(v))
    trial.equal((len(outputs), len(products)), (3, 3))
    x, v = widened(x), widened(v)
    for found, expected in zip(outputs, (x.sum(0), np.exp(x), x[1:3] * 2)):
        trial.close(found, expected, dtype=dtype)
    for found, expected in zip(products, (v.sum(0), np.exp(x) * v, v[1:3] * 2)):
        trial.close(found, expected, dtype=dtype)


def jvp_without_vector(trial: Trial) -> None:
    """For an input of one element the vector can be omitted; it is then 1."""
    x = trial.random(1, seed=3)
    output, product = trial.call(lambda x: torch.cat([x.sin(), x**3]), trial.tensor(x))
    trial.close(output, [np.sin(x[0]), x[0] ** 3], dtype="float32")
    trial.close(product, [np.cos(x[0]), 3 * x[0] ** 2], dtype="float32")


def jvp_second_order(trial: Trial, dtype: str) -> None:
    """With create_graph=True the product can be differentiated again."""
    x, v = (trial.random(7, dtype=dtype, seed=seed) for seed in (1, 2))
    tensor = trial.tensor(x).requires_grad_()
    _, product = trial.call(torch.sin, tensor, trial.tensor(v), create_graph=True)
    trial.close(product, np.cos(x) * v, dtype=dtype)
    (gradient,) = torch.autograd.grad(product.sum(), tensor)
    trial.close(gradient, -np.sin(x) * v, dtype=dtype)


def jvp_independent(trial: Trial) -> None:
    """If an output does not depend on the input, its product is zeros in the output's shape."""
    constant = trial.tensor(np.array([1.0, 2.0], "float32"))
    x = trial.random(3)
    outputs, products = trial.call(lambda x: (constant.clone(), x * 2), trial.tensor(x), trial.tensor(x))
    trial.close(outputs[0], [1.0, 2.0], dtype="float32")
    trial.exact(products[0], [0.0, 0.0], dtype="float32")
    trial.close(products[1], 2 * x, dtype="float32")


def jvp_network(trial: Trial, sizes: Sequence[int], dtype: str) -> None:
    """The product follows the chain rule through a small network that ends with a softmax."""
    entering, hidden, leaving = sizes
    first = trial.random(hidden, entering, dtype=dtype, seed=1) / entering**0.5
    second = trial.random(leaving, hidden, dtype=dtype, seed=2) / hidden**0.5
    x, v = (trial.random(8, entering, dtype=dtype, seed=seed) for seed in (3, 4))
    weights = trial.tensor(first), trial.tensor(second)

    def network(x: Any) -> Any:
        return torch.softmax(torch.tanh(x @ weights[0].T) @ weights[1].T, dim=1)

    output, product = trial.call(network, trial.tensor(x), trial.tensor(v))
    first, second, x, v = map(widened, (first, second, x, v))
    middle = np.tanh(x @ first.T)
    powers = np.exp(middle @ second.T)
    shares = powers / powers.sum(1, keepdims=True)
    moved = ((1 - middle**2) * (v @ first.T)) @ second.T
    trial.close(output, shares, dtype=dtype)
    trial.close(product, shares * (moved - (shares * moved).sum(1, keepdims=True)), dtype=dtype)

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


def jvp_matmul(trial: Trial, sizes: Sequence[int], dtype: str) -> None:
    """For a matrix product of two inputs A and B the product is dA B + A dB, and a vector of zeros leaves one term."""
    rows, middle, columns = sizes
    a, da = (trial.random(rows, middle, dtype=dtype, seed=seed) for seed in (1, 2))
    b, db = (trial.random(middle, columns, dtype=dtype, seed=seed) / middle**0.5 for seed in (3, 4))
    b, db = b.astype(a.dtype), db.astype(a.dtype)
    for one, other in ((da, db), (da, 0 * db), (0 * da, db)):
        inputs, vectors = (trial.tensor(a), trial.tensor(b)), (trial.tensor(one), trial.tensor(other))
        output, product = trial.call(torch.matmul, inputs, vectors)
        trial.close(output, widened(a) @ widened(b), dtype=dtype)
        trial.close(product, widened(one) @ widened(b) + widened(a) @ widened(other), dtype=dtype)


def jvp_detached(trial: Trial, dtype: str) -> None:
    """Without create_graph neither output nor product has a history, also of an input that wants gradients; that input
    keeps its values and gets no gradient."""
    x, v = (trial.random(5, 3, dtype=dtype, seed=seed) for seed in (1, 2))
    tensor, vector = trial.tensor(x).requires_grad_(), trial.tensor(v).requires_grad_()
    output, product = trial.call(lambda x: (x * x.T[0, 1]).exp(), tensor, vector)
    trial.equal([output.requires_grad, product.requires_grad, tensor.requires_grad], [False, False, True])
    trial.check(tensor.grad is None and vector.grad is None, "an input got a gradient")
    x, v = widened(x), widened(v)
    factor = x[1, 0]
    trial.close(output, np.exp(x * factor), dtype=dtype)
    trial.close(product, np.exp(x * factor) * (v * factor + x * v[1, 0]), dtype=dtype)


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


def jvp_second_order(trial: Trial, dtype: str, strict: bool = False) -> None:
    """With create_graph=True output and product can be differentiated again, by the input and by the vector."""
    x, v = (trial.random(7, dtype=dtype, seed=seed) for seed in (1, 2))
    weights = trial.random(2, 7, dtype=dtype, seed=3)
    tensor, vector = trial.tensor(x).requires_grad_(), trial.tensor(v).requires_grad_()
    output, product = trial.call(torch.sin, tensor, vector, create_graph=True, strict=strict)
    trial.close(output, np.sin(x), dtype=dtype)
    trial.close(product, np.cos(x) * v, dtype=dtype)
    total = (output * trial.tensor(weights[0])).sum() + (product * trial.tensor(weights[1])).sum()
    of_input, of_vector = torch.autograd.grad(total, (tensor, vector))
    trial.close(of_input, weights[0] * np.cos(x) - weights[1] * np.sin(x) * v, dtype=dtype)
    trial.close(of_vector, weights[1] * np.cos(x), dtype=dtype)


def jvp_refuses(trial: Trial, what: str) -> None:
    """It raises the documented errors: in strict mode for an output or input without influence, and for wrong
    vectors and outputs."""
    one, other = (trial.tensor(trial.random(3, seed=seed)) for seed in (1, 2))
    ways: dict[str, Any] = {
        "output": ("RuntimeError", "gradient", lambda x: other.clone(), one, one),
        "input": ("RuntimeError", "independent of input 1", lambda x, y: 2 * x, (one, other), (one, other)),
        "vectors": ("RuntimeError", "length", lambda x, y: x * y, (one, other), (one,)),
        "second": ("RuntimeError", "size", lambda x, y: x * y, (one, other), (one, other[:1])),
        "number": ("TypeError", "Tensor", lambda x: 3.0, one, one),
    }
    kind, word, *args = ways[what]
    trial.raises([kind], word, *args, strict=True)


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


def jvp_of_many(trial: Trial, create_graph: bool = False, strict: bool = False) -> None:
    """For functions that change a copy in place, return a view, choose, sort, multiply or reduce, the product is the
    difference of the function's values."""
    x, v = (trial.random(3, 4, dtype="float64", seed=seed) for seed in (1, 2))
    functions: dict[str, Callable[[Any], Any]] = {
        "copy": lambda x: x.clone(),
        "in place": lambda x: (x * 1).mul_(x).add_(2).exp_(),
        "written": lambda x: torch.zeros_like(x).copy_(x).index_fill_(1, torch.tensor([2], device=x.device), 0.0),
        "view": lambda x: (x * 2).t().reshape(2, 6),
        "slice": lambda x: x[1:, ::2] * 3,
        "element": lambda x: x[2, 3] * x[0, 0],
        "repeated": lambda x: x.expand(2, 3, 4) * x[:, :1],
        "chosen": lambda x: torch.where(x > 0, x**2, x.abs()),
        "sorted": lambda x: x.sort(1)[0] * x,
        "product": lambda x: x.prod(0) + x.cumprod(1).sum(0),
        "norm": lambda x: x.norm() + x.logsumexp(1),
        "largest": lambda x: x.max(1)[0] - x.min(),
        "solved": lambda x: torch.linalg.solve(x[:, :3] @ x[:, :3].t() + torch.ones_like(x[:, :3]).diag().diag(), x),
        "normalized": lambda x: torch.nn.functional.layer_norm(x, (4,)).tanh(),
        "split": lambda x: torch.cat([x.chunk(2, 1)[1], x.unbind(0)[2].expand(3, 4)], 1),
    }
    tensor, vector, step = trial.tensor(x), trial.tensor(v), 1e-5
    for name, function in functions.items():
        output, product = trial.call(function, tensor, vector, create_graph=create_graph, strict=strict)
        there = [trial.numpy(function(trial.tensor(x + way * v))) for way in (step, -step)]
        trial.close(output.detach(), trial.numpy(function(tensor)), dtype="float64")
        expected = (there[0] - there[1]) / (2 * step)
        error = float(np.max(np.abs(trial.numpy(product.detach()) - expected)))
        trial.check(error < 1e-6 * (1 + np.abs(expected).max()), f"{name}: the product is off by {error:.3g}")
        trial.check(create_graph or not product.requires_grad, f"{name}: the product has a history")


def jvp_of_inputs(trial: Trial, count: int, dtype: str, create_graph: bool = False) -> None:
    """Each of many square inputs adds its own part to the product, with its own vector. Inputs and vectors still want
    the gradients that they wanted before, and have none."""
    arrays = [trial.random(3, 3, dtype=dtype, seed=seed) for seed in range(2 * count)]
    inputs, vectors = (tuple(map(trial.tensor, part)) for part in (arrays[:count], arrays[count:]))
    wanted = [number % 3 == 1 for number in range(count)]
    for tensor, wants in zip(inputs, wanted):
        tensor.requires_grad_(wants)
    factors = [1 + number / count for number in range(count)]

    def function(*given: Any) -> Any:
        squares = ((x if number % 2 else x.t()) ** 2 for number, x in enumerate(given))
        return sum(factor * square for factor, square in zip(factors, squares)), given[-1] * given[0]

    outputs, products = trial.call(function, inputs, vectors, create_graph=create_graph)
    host, along = (list(map(widened, part)) for part in (arrays[:count], arrays[count:]))
    turned = [(x if number % 2 else x.T, v if number % 2 else v.T) for number, (x, v) in enumerate(zip(host, along))]
    trial.close(outputs[0], sum(factor * x**2 for factor, (x, _) in zip(factors, turned)), dtype=dtype)
    trial.close(products[0], sum(2 * factor * x * v for factor, (x, v) in zip(factors, turned)), dtype=dtype)
    trial.close(outputs[1], host[-1] * host[0], dtype=dtype)
    trial.close(products[1], along[-1] * host[0] + host[-1] * along[0], dtype=dtype)
    trial.equal([tensor.requires_grad for tensor in inputs], wanted)
    trial.check(not any(vector.requires_grad for vector in vectors), "a vector wants a gradient")
    trial.check(all(tensor.grad is None for tensor in (*inputs, *vectors)), "an input or a vector got a gradient")


def jvp_where_off(trial: Trial, create_graph: bool) -> None:
    """Where gradients are off the product is the same, with a history if that is asked for, and they stay off."""
    x, v = (trial.random(4, dtype="float64", seed=seed) for seed in (1, 2))
    tensor = trial.tensor(x)
    with torch.no_grad():
        output, product = trial.call(lambda x: x**3, tensor, trial.tensor(v), create_graph=create_graph)
        trial.check(not torch.is_grad_enabled(), "gradients are on after the call")
    trial.close(output.detach(), x**3, dtype="float64")
    trial.close(product.detach(), 3 * x**2 * v, dtype="float64")
    trial.equal([product.requires_grad, tensor.requires_grad], [create_graph, False])


def jvp_tuples(trial: Trial) -> None:
    """A tuple of one output stays a tuple, and one of one input makes none."""
    x, v = (trial.tensor(trial.random(4, dtype="float64", seed=seed)) for seed in (1, 2))
    for one in (False, True):
        given = ((x,), (v,)) if one else (x, v)
        found = trial.call(lambda x: (x * 2,), *given)
        trial.equal([type(each) for each in found], [tuple, tuple])
        trial.close(found[1][0], 2 * trial.numpy(v), dtype="float64")
        for each in trial.call(lambda x: x * 2, *given):
            trial.check(isinstance(each, torch.Tensor), f"expected a tensor, got {type(each).__name__}")


def jvp_refuses_constant(trial: Trial) -> None:
    """With strict and create_graph a product that does not depend on the input raises an error."""
    x, v = (trial.tensor(trial.random(4, seed=seed)) for seed in (1, 2))
    trial.raises(["RuntimeError"], "independent of input 0", lambda x: x * 2, x, v, create_graph=True, strict=True)

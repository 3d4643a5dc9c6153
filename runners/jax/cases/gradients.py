"""Derivatives of array functions, compared with closed forms: a rule for each function, named by the manifest."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Callable, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.floating import listed


class Rule(NamedTuple):
    """How a function is called on traced arrays, its value, and its pullback.

    ``pull`` gets one cotangent for each output, and the arrays; it returns one cotangent for each array. The arrays are
    uniform from ``low`` to ``high``.
    """

    call: Callable[..., Any]
    value: Callable[..., Any]
    pull: Callable[..., Sequence[Any]]
    low: float = -1.5
    high: float = 1.5


def gradient(trial: Trial, rule: str, shapes: Sequence[Sequence[int]], compiled: bool = True) -> None:
    """The gradient of a weighted sum of the outputs matches the closed form, and so do the outputs."""
    # About ten roundings of float32 numbers of about one.
    rtol = 1e-5
    call, value, pull, low, high = RULES[rule]
    hosts = [trial.random(*shape, seed=seed, low=low, high=high) for seed, shape in enumerate(shapes)]
    exact = [widened(host) for host in hosts]
    values = listed(value(*exact))
    weights = [trial.random(*np.shape(part), seed=100 + seed) for seed, part in enumerate(values)]

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def loss(arrays: Any, weights: Any) -> Any:
            outputs = listed(call(function, *arrays))
            return sum(jnp.sum(weight * output) for weight, output in zip(weights, outputs)), outputs

        found = jax.grad(loss, has_aux=True)
        return jax.jit(found) if compiled else found

    gradients, outputs = trial.call_inside(
        lambda function, arrays, weights: made(function)(arrays, weights),
        [trial.tensor(host) for host in hosts],
        [trial.tensor(weight) for weight in weights],
    )
    trial.equal(len(outputs), len(values))
    for output, wanted in zip(outputs, values):
        trial.close(output, wanted, rtol=rtol, dtype="float32")
    expected = pull([widened(weight) for weight in weights], *exact)
    for found, wanted in zip(gradients, expected):
        trial.close(found, wanted, rtol=rtol, dtype="float32")


def derivatives(
    trial: Trial, of: str, order: int, args: Sequence[Any] = (), low: float = 0.5, high: float = 1.5
) -> None:
    """Value and derivatives up to an order match the closed form for each element."""
    host = trial.random(2048, seed=order, low=low, high=high)

    def body(function: Callable[..., Any], x: Any) -> Any:
        chain = [lambda x: function(x, *args)]
        for _ in range(order):
            chain.append(jax.grad(chain[-1]))
        return [jax.vmap(derivative)(x) for derivative in chain]

    outputs = trial.call_inside(body, trial.tensor(host))
    exact = widened(host)
    for degree, output in enumerate(outputs):
        # A derivative is a product of several functions, each accurate to some of float32's last digits.
        trial.close(output, DERIVATIVES[of](exact, degree, *args), rtol=1e-5, dtype="float32")


def at_zero(trial: Trial, args: Sequence[float], value: float, expected: Sequence[float | str]) -> None:
    """Where the closed form would divide by zero or take its logarithm, the gradient is the limit."""
    places = tuple(range(len(args)))
    tensors = [trial.tensor(np.float32(argument)) for argument in args]
    output, gradients = trial.call_inside(
        lambda function, *x: jax.value_and_grad(function, argnums=places)(*x), *tensors
    )
    trial.close(output, np.array(value, "float64"), dtype="float32")
    for found, wanted in zip(gradients, expected):
        trial.close(found, np.array(wanted, "float64"), dtype="float32")


def max_ties(trial: Trial) -> None:
    """Elements that share the maximum share the gradient equally."""
    host = np.array([[1.0, 5.0, 5.0, -2.0], [3.0, 3.0, 3.0, 3.0], [0.0, 1.0, 2.0, 7.0]], "float32")
    gradient, output = _of_rows(trial, host, [4.0, 8.0, 3.0])
    trial.close(output, [5, 3, 7.0], dtype="float32")
    trial.close(gradient, [[0, 2, 2, 0], [2, 2, 2, 2], [0, 0, 0, 3.0]], dtype="float32")


def prod_zeros(trial: Trial) -> None:
    """In a product with one zero factor only that factor has a gradient; with two zeros no factor has one."""
    host = np.array([[2.0, 0.0, 3.0], [0.0, 5.0, 0.0], [2.0, 3.0, 4.0]], "float32")
    gradient, output = _of_rows(trial, host, [1.0, 2.0, 5.0])
    trial.close(output, [0, 0, 24.0], dtype="float32")
    trial.close(gradient, [[0, 6, 0], [0, 0, 0], [60, 40, 30.0]], dtype="float32")


def _of_rows(trial: Trial, host: Any, weights: Sequence[float]) -> tuple[Any, Any]:
    """Return the gradient of the weighted sum of the function's values for each row, and these values."""

    def body(function: Callable[..., Any], x: Any, weights: Any) -> Any:
        def loss(x: Any) -> Any:
            output = function(x, axis=1)
            return jnp.sum(weights * output), output

        return jax.grad(loss, has_aux=True)(x)

    gradient, output = trial.call_inside(body, trial.tensor(host), trial.tensor(np.array(weights, "float32")))
    return gradient, output


def _falling(power: float, degree: int) -> float:
    return math.prod(power - step for step in range(degree))


def _log_derivative(x: Any, degree: int) -> Any:
    return np.log(x) if degree == 0 else (-1) ** (degree - 1) * math.factorial(degree - 1) / x**degree


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "exp": lambda x, degree: np.exp(x),
    "log": _log_derivative,
    "sqrt": lambda x, degree: _falling(0.5, degree) * x ** (0.5 - degree),
    "power": lambda x, degree, power: _falling(power, degree) * x ** (power - degree),
}


def _convolve_pull(weights: Sequence[Any], a: Any, v: Any) -> Sequence[Any]:
    """Each weight of the full convolution goes to the pairs whose places add up to its own; "same" is its middle."""
    before = (len(v) - 1) // 2
    full = weights[0] + np.pad(weights[1], (before, len(v) - 1 - before))
    return [np.correlate(full, v, mode="valid"), np.correlate(full, a, mode="valid")]


def _placed(shape: Sequence[int], places: Any, values: Any) -> Any:
    """Return zeros with the values at the places of an axis-wise or boolean index."""
    back = np.zeros(shape)
    back[places] = values
    return back


def _average_value(x: Any, weights: Any) -> Any:
    return (x * weights).sum(axis=1) / weights.sum()


RULES: dict[str, Rule] = {
    "array": Rule(
        lambda f, x, y: f([[x, 2.0, y], [y, x * x, x]]),
        lambda x, y: np.stack([np.stack([x, 2 + 0 * x, y]), np.stack([y, x * x, x])]),
        lambda w, x, y: [w[0][0, 0] + w[0][1, 1] * 2 * x + w[0][1, 2], w[0][0, 2] + w[0][1, 0]],
    ),
    "add": Rule(
        lambda f, x, y: f(f(x, x), y),
        lambda x, y: 2 * x + y,
        lambda w, x, y: [2 * w[0].sum(axis=1, keepdims=True), w[0].sum(axis=0)],
    ),
    "power": Rule(
        lambda f, x, y: f(x, y),
        lambda x, y: x**y,
        lambda w, x, y: [(w[0] * y * x ** (y - 1)).sum(axis=1, keepdims=True), (w[0] * np.log(x) * x**y).sum(axis=0)],
        low=0.5,
    ),
    "sum": Rule(
        lambda f, x, start: f(x, axis=(0, 2), where=x > -0.5, initial=start),
        lambda x, start: start + np.where(x > -0.5, x, 0).sum(axis=(0, 2)),
        lambda w, x, start: [np.where(x > -0.5, w[0][:, None], 0), w[0].sum()],
    ),
    "mean": Rule(
        lambda f, x: f(x, axis=1, keepdims=True),
        lambda x: x.mean(axis=1, keepdims=True),
        lambda w, x: [np.broadcast_to(w[0] / x.shape[1], x.shape)],
    ),
    "var": Rule(
        lambda f, x: f(x, axis=1, ddof=1),
        lambda x: x.var(axis=1, ddof=1),
        lambda w, x: [2 * w[0][:, None] * (x - x.mean(axis=1, keepdims=True)) / (x.shape[1] - 1)],
    ),
    "prod": Rule(
        lambda f, x: f(x, axis=0),
        lambda x: x.prod(axis=0),
        lambda w, x: [w[0] * x.prod(axis=0) / x],
    ),
    "max": Rule(
        lambda f, x: f(x, axis=-1),
        lambda x: x.max(axis=-1),
        lambda w, x: [np.where(x == x.max(axis=-1, keepdims=True), w[0][..., None], 0)],
    ),
    "average": Rule(
        lambda f, x, weights: f(x, axis=1, weights=weights),
        _average_value,
        lambda w, x, weights: [
            w[0][:, None] * weights / weights.sum(),
            (w[0][:, None] * (x - _average_value(x, weights)[:, None]) / weights.sum()).sum(axis=0),
        ],
        high=-0.5,
    ),
    "reshape": Rule(
        lambda f, x: f(x, (-1, 6), order="F"),
        lambda x: x.reshape((-1, 6), order="F"),
        lambda w, x: [w[0].reshape(x.shape, order="F")],
    ),
    "stack": Rule(
        lambda f, x, y: f([x, y, x], axis=1),
        lambda x, y: np.stack([x, y, x], axis=1),
        lambda w, x, y: [w[0][:, 0] + w[0][:, 2], w[0][:, 1]],
    ),
    "split": Rule(
        lambda f, x: f(x, (2, 5), axis=1),
        lambda x: [x[:, :2], x[:, 2:5], x[:, 5:]],
        lambda w, x: [np.concatenate(w, axis=1)],
    ),
    "flip": Rule(lambda f, x: f(x, (0, 2)), lambda x: x[::-1, :, ::-1], lambda w, x: [w[0][::-1, :, ::-1]]),
    "fliplr": Rule(lambda f, x: f(x), lambda x: x[:, ::-1], lambda w, x: [w[0][:, ::-1]]),
    "tril": Rule(
        lambda f, x: f(x, 1),
        lambda x: x * np.tri(*x.shape[-2:], 1),
        lambda w, x: [w[0] * np.tri(*x.shape[-2:], 1)],
    ),
    "delete": Rule(
        lambda f, x: f(x, np.array([1, -1]), axis=0),
        lambda x: x[[0, *range(2, len(x) - 1)]],
        lambda w, x: [_placed(x.shape, [0, *range(2, len(x) - 1)], w[0])],
    ),
    "compress": Rule(
        lambda f, x: f(np.array([False, True, True, False, True]), x, axis=0),
        lambda x: x[[1, 2, 4]],
        lambda w, x: [_placed(x.shape, [1, 2, 4], w[0])],
    ),
    "convolve": Rule(
        lambda f, a, v: [f(a, v), f(a, v, mode="same")],
        lambda a, v: [np.convolve(a, v), np.convolve(a, v, mode="same")],
        _convolve_pull,
    ),
}

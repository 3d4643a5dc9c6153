"""Elementwise functions, sums and outer products, where a ``call`` test is not enough."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_SLOPES: dict[str, Callable[[Any], Any]] = {
    "log1p": lambda x: 1 / (1 + x),
    "round": np.zeros_like,
}

# An element is rounded up to three times: after the product, after the other scaling and after the sum.
_THREE_ROUNDINGS: dict[str, dict[str, float]] = {
    "float16": {"rtol": 3e-3, "atol": 1e-3},
    "bfloat16": {"rtol": 2.4e-2, "atol": 1e-2},
}


def seen(trial: Trial, array: Any, tensor: Any) -> Any:
    """Return the values that a function sees. For bfloat16, which NumPy lacks, these are the tensor's rounded values;
    otherwise the host array itself, so that a device that loses digits in the transfer is noticed."""
    return trial.numpy(tensor) if trial.dtype_name(tensor) == "bfloat16" else array


def slope(
    trial: Trial,
    name: str,
    shape: Sequence[int],
    dtype: str,
    low: float,
    high: float,
    layout: str = "contiguous",
    options: Mapping[str, Any] = {},
) -> None:
    """An elementwise function has the reference's values; its gradient is the incoming one times the derivative."""
    x = trial.random(*shape, dtype=dtype, seed=1, low=low, high=high)
    weights = trial.random(*shape, dtype=dtype, seed=2)
    tensor = trial.tensor(x, dtype, layout).requires_grad_()
    output = trial.call(tensor, **options)
    (output * trial.tensor(weights)).sum().backward()
    trial.close(output, references.find("numpy", name)(widened(x), **options), dtype=dtype)
    trial.close(tensor.grad, _SLOPES[name](widened(x)) * weights, dtype=dtype)


def special_values(
    trial: Trial, numpy: str, values: Sequence[Sequence[Any]], dtype: str, result: str, layout: str = "contiguous"
) -> None:
    """Infinities, NaN, zeros and nearby values (written as text) give NumPy's results, with the sign of zeros."""
    host = dtype.replace("bfloat16", "float32")
    arrays = [np.array([float(value) for value in argument]).astype(host) for argument in values]
    tensors = [trial.tensor(array, dtype, layout) for array in arrays]
    with np.errstate(all="ignore"):
        expected = references.find("numpy", numpy)(*map(widened, map(partial(seen, trial), arrays, tensors)))
    output = trial.call(*tensors)
    trial.close(output, expected, dtype=result)
    if result != "bool":
        zeros = expected == 0
        signs = np.signbit(np.asarray(trial.numpy(output)))[zeros]
        trial.equal(signs, np.signbit(expected)[zeros])


def addr(
    trial: Trial,
    shape: Sequence[int],
    dtype: str,
    sizes: Sequence[int] = (),
    factors: Mapping[str, Any] = {},
    layout: str = "contiguous",
    special: str | None = None,
    has_out: bool = False,
) -> None:
    """The output is beta * matrix + alpha * the outer product of the vectors; the matrix can be broadcast. A factor of
    two numbers is complex. ``has_out``: the result is also written into the tensor given as out=."""
    rows, columns = sizes or shape
    factors = {name: complex(*value) if isinstance(value, list) else value for name, value in factors.items()}
    parts = (shape, (rows,), (columns,))
    arrays = [trial.random(*part, dtype=dtype, seed=seed, special=special) for seed, part in enumerate(parts)]
    tensors = [trial.tensor(values, dtype, layout) for values in arrays]
    out = {"out": trial.tensor(np.full((rows, columns), 3), dtype)} if has_out else {}
    output = trial.call(*tensors, **factors, **out)
    expected = _addr(*map(widened, map(partial(seen, trial), arrays, tensors)), **factors)
    for found in (output, *out.values()):
        trial.check(not has_out or found is output, "the returned tensor is not the one given as out=")
        trial.close(found, expected, dtype=dtype, **_THREE_ROUNDINGS.get(dtype, {}))


def addr_promotes(trial: Trial, dtypes: Sequence[str], result: str) -> None:
    """With several dtypes the result has the dtype that can hold all of them, and its precision."""
    matrix, column, row = (
        trial.random(*shape, dtype=dtype, seed=seed)
        for seed, (shape, dtype) in enumerate(zip(((5, 4), (5,), (4,)), dtypes))
    )
    output = trial.call(trial.tensor(matrix), trial.tensor(column), trial.tensor(row))
    trial.close(output, widened(matrix) + np.outer(widened(column), widened(row)), dtype=result)


def addr_ignores_matrix(trial: Trial, dtype: str) -> None:
    """With beta=0 the matrix is ignored, also its NaN and infinities."""
    matrix = np.array([[np.nan, np.inf, 1], [2, -np.inf, np.nan]])
    column, row = trial.random(2, dtype=dtype, seed=1), trial.random(3, dtype=dtype, seed=2)
    output = trial.call(trial.tensor(matrix, dtype), trial.tensor(column), trial.tensor(row), beta=0, alpha=2)
    trial.close(output, 2 * np.outer(column, row), dtype=dtype)


def addr_gradients(trial: Trial, dtype: str, shape: Sequence[int] = (4, 3), layout: str = "contiguous") -> None:
    """The gradient goes to the matrix times beta, and to each vector times alpha, summed against the other vector. A
    broadcast matrix gets sums."""
    beta, alpha = 0.5, -2.0
    arrays = [trial.random(*part, dtype=dtype, seed=seed) for seed, part in enumerate((shape, (4,), (3,)))]
    weights = trial.random(4, 3, dtype=dtype, seed=9)
    tensors = [trial.tensor(values, layout=layout).requires_grad_() for values in arrays]
    output = trial.call(*tensors, beta=beta, alpha=alpha)
    (output * trial.tensor(weights).conj()).sum().real.backward()
    matrix, column, row = map(widened, arrays)
    trial.close(output, _addr(matrix, column, row, beta, alpha), dtype=dtype)
    axes = tuple(axis for axis in range(2) if axis < 2 - len(shape) or shape[axis - 2 + len(shape)] == 1)
    entering = beta * widened(weights).sum(axes, keepdims=True).reshape(shape)
    for tensor, expected in zip(tensors, (entering, alpha * weights @ row.conj(), alpha * column.conj() @ weights)):
        trial.close(tensor.grad, expected, dtype=dtype)


def addr_of_one_vector(trial: Trial, dtype: str) -> None:
    """If both vectors are the same tensor, it gets the gradients of both places."""
    matrix, vector, weights = (
        trial.random(*shape, dtype=dtype, seed=len(shape)) for shape in ((5, 5), (5,), (1, 5, 5))
    )
    tensor = trial.tensor(vector).requires_grad_()
    output = trial.call(trial.tensor(matrix), tensor, tensor, alpha=3)
    (output * trial.tensor(weights[0])).sum().backward()
    matrix, vector, weight = map(widened, (matrix, vector, weights[0]))
    trial.close(output, matrix + 3 * np.outer(vector, vector), dtype=dtype)
    trial.close(tensor.grad, 3 * (weight + weight.T) @ vector, dtype=dtype)


def sum_gradient(
    trial: Trial,
    shape: Sequence[int],
    dim: Sequence[int],
    keepdim: bool,
    dtype: str,
    layout: str = "contiguous",
    result: str | None = None,
) -> None:
    """Every summand gets the gradient of its sum, in its own dtype also if the sum has another one (``result``)."""
    values = trial.random(*shape, dtype=dtype, seed=1)
    tensor = trial.tensor(values, dtype, layout).requires_grad_()
    output = trial.call(tensor, dim, keepdim, **({"dtype": trial.dtype(result)} if result else {}))
    # Without dimensions all of them are summed.
    axes = tuple(dim) or tuple(range(len(shape)))
    expected = widened(values).sum(axes, keepdims=keepdim)
    weights = trial.random(*expected.shape, dtype=dtype, seed=2)
    (output * trial.tensor(weights).conj()).sum().real.backward()
    trial.close(output, expected, dtype=result or dtype)
    spread = weights if keepdim else np.expand_dims(weights, axes)
    trial.close(tensor.grad, np.broadcast_to(spread, shape), dtype=dtype)


def sum_gradient_of_view(trial: Trial, dtype: str) -> None:
    """The gradient of the sum of everything reaches every place that an expanded and transposed tensor comes from."""
    values = trial.random(5, 1, dtype=dtype, seed=1)
    tensor = trial.tensor(values).requires_grad_()
    output = trial.call((tensor.expand(5, 7) * tensor).T)
    output.backward()
    trial.close(output, 7 * (widened(values) ** 2).sum(), dtype=dtype)
    trial.close(tensor.grad, 14 * widened(values), dtype=dtype)


def _addr(matrix: Any, column: Any, row: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = np.outer(column, row)
    if matrix.dtype == bool:
        return np.logical_or(beta & matrix, alpha & product)
    return beta * matrix + alpha * product

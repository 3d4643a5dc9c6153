"""jax.vjp through one operation of each kind, compared with differences of its values in NumPy."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy import special

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.slopes import gradient_of


class Operation(NamedTuple):
    """A function of arrays of some shapes, in JAX and in NumPy."""

    function: Callable[..., Any]
    exact: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


_PLACES = np.array([2, 0, 2, 4])


def _scattered(x: Any, y: Any) -> Any:
    result = x.copy()
    np.add.at(result, _PLACES, y)
    return result


def _pooled(x: Any) -> Any:
    return np.stack([x[:, i : i + 3].max(axis=1) for i in range(0, x.shape[1] - 2, 2)], axis=1)


def _looped(carry: Any, rows: Any) -> Any:
    before = []
    for row in rows:
        before.append(carry)
        carry = np.sin(carry * row) + row
    return carry, np.stack(before)


def _spread(x: Any) -> Any:
    return np.pad(np.stack([x, 0 * x], 1).ravel()[:-1], (1, 2))


def _same(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Operation:
    """An operation whose function takes arrays of both libraries."""
    return Operation(function, function, shapes)


def _of_both(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Operation:
    """An operation that is written with the names which both libraries have."""
    return Operation(lambda *arrays: function(jnp, *arrays), lambda *arrays: function(np, *arrays), shapes)


OPERATIONS: Mapping[str, Operation] = {
    "gather": _same(lambda x: x[_PLACES], (5, 3)),
    "gather-pairs": _same(lambda x: x[_PLACES, :, np.array([1, 1, 0, 1])], (5, 2, 2)),
    "scatter-add": Operation(lambda x, y: x.at[_PLACES].add(y), _scattered, ((5, 3), (4, 3))),
    "scatter": Operation(
        lambda x, y: x.at[1:3].set(y), lambda x, y: np.concatenate([x[:1], y, x[3:]]), ((5, 3), (2, 3))
    ),
    "dynamic-slice": Operation(lambda x: lax.dynamic_slice(x, (1, 2), (3, 1)), lambda x: x[1:4, 2:3], ((5, 3),)),
    "pad": Operation(lambda x: lax.pad(x, jnp.float32(0), [(1, 2, 1)]), _spread, ((4,),)),
    "concatenate": _of_both(lambda lib, x, y: lib.concatenate([x, y, x], 1), (3, 2), (3, 1)),
    "transpose": _same(lambda x: x.transpose(2, 0, 1), (2, 3, 4)),
    "broadcast": _same(lambda x, y: x * y, (3, 1, 2), (4, 1)),
    "dot": _of_both(lambda lib, x, y: lib.einsum("bij,bkj->bik", x, y), (2, 3, 4), (2, 2, 4)),
    "convolution": _of_both(lambda lib, x, y: lib.convolve(x, y), (7,), (3,)),
    "cumulative-sum": _of_both(lambda lib, x: lib.cumsum(x, axis=1), (3, 5)),
    "cumulative-product": _of_both(lambda lib, x: lib.cumprod(x, axis=0), (5, 3)),
    "sort": _of_both(lambda lib, x: lib.sort(x, axis=0), (6, 3)),
    "max": _of_both(lambda lib, x: lib.max(x, axis=1), (3, 6)),
    "min": _of_both(lambda lib, x: lib.min(x), (3, 6)),
    "product": _of_both(lambda lib, x: lib.prod(x, axis=1), (3, 4)),
    "variance": _of_both(lambda lib, x: lib.var(x, axis=0), (5, 3)),
    "pool": Operation(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3), (1, 2), "VALID"), _pooled, ((2, 7),)),
    "softmax": Operation(lambda x: jax.nn.softmax(x, axis=0), lambda x: special.softmax(x, axis=0), ((5, 3),)),
    "log-sum-exp": Operation(
        lambda x: jax.scipy.special.logsumexp(30 * x, axis=1), lambda x: special.logsumexp(30 * x, axis=1), ((3, 5),)
    ),
    "clip": _of_both(lambda lib, x: lib.clip(x, -0.5, 0.5), (4, 5)),
    "where": _of_both(lambda lib, x, y: lib.where(x > y, x * y, y), (4, 5), (5,)),
    "absolute": _of_both(lambda lib, x: lib.abs(x), (4, 5)),
    "tanh": _of_both(lambda lib, x: lib.tanh(3 * x), (4, 5)),
    "logistic": Operation(lambda x: jax.nn.sigmoid(9 * x), lambda x: special.expit(9 * x), ((4, 5),)),
    "power": _of_both(lambda lib, x, y: lib.exp(x) ** y, (4, 5), (4, 1)),
    "quotient": _of_both(lambda lib, x, y: x / lib.exp(y), (4, 5), (5,)),
    "arc-tangent": _of_both(lambda lib, x, y: lib.arctan2(x, y), (4, 5), (4, 5)),
    "solve": _of_both(lambda lib, x, y: lib.linalg.solve(x + 4 * np.eye(3, dtype="float32"), y), (3, 3), (3, 2)),
    "determinant": _of_both(lambda lib, x: lib.linalg.det(x), (2, 3, 3)),
    "half": Operation(lambda x: (2 * x.astype("bfloat16")).astype("float32"), lambda x: 2 * x, ((4, 5),)),
    "loop": Operation(lambda x, y: lax.scan(lambda c, row: (jnp.sin(c * row) + row, c), x, y), _looped, ((3,), (4, 3))),
    "repeated": _of_both(lambda lib, x: lib.repeat(x, 3, axis=1), (3, 2)),
    "rolled": _of_both(lambda lib, x: lib.roll(x, 2, axis=0), (5, 3)),
}


def pulled_back(trial: Trial, operations: Sequence[str]) -> None:
    """Through a compiled function of all these operations the value of each is NumPy's, and each of two cotangents, one
    after the other, is pulled back to the gradient of its product with the values."""
    hosts = []
    for name in operations:
        shapes = OPERATIONS[name].shapes
        hosts.append([trial.random(*shape, seed=seed, low=-1.5, high=1.5) for seed, shape in enumerate(shapes)])
    trial.repeatable = False  # the steady time of each call is measured elsewhere
    function = _together(tuple(operations))
    moved = [list(map(trial.tensor, group)) for group in hosts]
    outputs, pull_back = trial.call(jax.jit(function), *moved)
    arrays = [list(map(widened, group)) for group in hosts]
    values = [_leaves(OPERATIONS[name].exact, group) for name, group in zip(operations, arrays)]
    structure = jax.tree_util.tree_structure(outputs)
    pulled, cotangents = [], []
    for seed in (10, 20):
        cotangents.append([[trial.random(*np.shape(x), seed=seed, low=0.5, high=1.5) for x in each] for each in values])
        leaves = [trial.tensor(leaf) for each in cotangents[-1] for leaf in each]
        pulled.append(pull_back(jax.tree_util.tree_unflatten(structure, leaves)))
    for number, name in enumerate(operations):
        # bfloat16 has eight digits.
        rtol = 1e-2 if name == "half" else 2e-5
        leaves = jax.tree_util.tree_leaves(outputs[number])
        trial.equal(len(leaves), len(values[number]))
        for leaf, wanted in zip(leaves, values[number]):
            trial.close(leaf, wanted, rtol=rtol, atol=2e-5, dtype="float32")
        for given, found in zip(cotangents, pulled):
            gradients = gradient_of(partial(_leaves, OPERATIONS[name].exact), arrays[number], given[number])
            trial.equal(len(found[number]), len(gradients))
            for part, exactly in zip(found[number], gradients):
                trial.close(part, exactly, rtol=rtol, atol=2e-5, dtype="float32")


@lru_cache(maxsize=None)
def _together(operations: tuple[str, ...]) -> Callable[..., Any]:
    """Return one function of the arrays of each operation; the same for the same operations, so that it is compiled
    once."""
    return lambda *groups: [OPERATIONS[name].function(*group) for name, group in zip(operations, groups)]


def _leaves(exact: Callable[..., Any], arrays: Sequence[Any]) -> list[Any]:
    return list(jax.tree_util.tree_leaves(exact(*arrays)))


def pulled_back_large(trial: Trial, rows: int) -> None:
    """Through operations that only move many rows, each element's cotangent comes from where it went: from each place
    if it went to several, and zero if it went to none. One compiled function has all of them."""
    host = trial.random(rows, 3, 2)
    places = np.random.RandomState(1).randint(0, rows, rows + 5)
    moves: Mapping[str, tuple[Callable[..., Any], Any]] = {
        "gathered": (lambda x: x[places], places),
        "sliced": (lambda x: x[5::2], np.arange(5, rows, 2)),
        "turned": (lambda x: x[::-1], np.arange(rows)[::-1]),
        "joined": (lambda x: jnp.concatenate([x[3:], x]), np.concatenate([np.arange(3, rows), np.arange(rows)])),
        "taken": (lambda x: jnp.take(x, places, axis=0), places),
    }
    trial.repeatable = False  # the steady time of each call is measured elsewhere
    trial.has_random_inputs = False  # other values would compile the same program again

    def together(*arrays: Any) -> Any:
        return [function(x) for (function, _), x in zip(moves.values(), arrays)]

    outputs, pull_back = trial.call(jax.jit(together), *[trial.tensor(host)] * len(moves))
    cotangents = [trial.random(len(kept), 3, 2, seed=1) for _, kept in moves.values()]
    pulled = pull_back(list(map(trial.tensor, cotangents)))
    trial.equal((len(outputs), len(pulled)), (len(moves), len(moves)))
    for (_, kept), output, cotangent, found in zip(moves.values(), outputs, cotangents, pulled):
        trial.exact(output, host[kept], "float32")
        expected = np.zeros(host.shape)
        np.add.at(expected, kept, widened(cotangent))
        trial.close(found, expected, dtype="float32")

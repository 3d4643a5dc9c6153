"""What a function keeps when another one traces, names, binds or evaluates it: each input, captured array and number.

``through`` is the function under test: how the work is given to it, and how its outputs are read.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.trial import Trial
from runners.jax.cases.abstract_values import evaluated
from runners.jax.cases.partial_evaluation import wrapped
from runners.jax.double import x64

Work = Callable[..., Any]
"""It takes arrays and returns a list of arrays."""

_MANY = 20
_LONG = 1030


def carried(trial: Trial, through: str, what: str) -> None:
    """The work gives what NumPy gives: each difference, product or sum is rounded once."""
    trial.repeatable = False  # some of these functions can be called only once
    _KEPT[what](trial, _THROUGH[through])


def effects(trial: Trial, through: str) -> None:
    """Callbacks of the work run each time, in a program too, also those without operands and without outputs."""
    trial.repeatable = False
    host = trial.random(3)
    seen: list[Any] = []

    def work(x: Any) -> list[Any]:
        jax.debug.callback(lambda: seen.append("alone"))
        jax.debug.callback(lambda x: seen.append(np.asarray(x).shape), x)
        return [lax.neg(x)]

    (output,) = _THROUGH[through](trial, work, trial.tensor(host))
    jax.effects_barrier()
    trial.exact(output, -host, "float32")
    trial.check("alone" in seen and (3,) in seen, f"expected both callbacks, got {seen}")


def _inputs(trial: Trial, through: Work) -> None:
    """Each of many inputs of one type keeps its place."""
    hosts = [trial.random(3, seed=seed) for seed in range(_MANY)]

    def work(*arrays: Any) -> list[Any]:
        return [*(lax.sub(one, two) for one, two in zip(arrays, arrays[1:])), *reversed(arrays)]

    outputs = through(trial, work, *map(trial.tensor, hosts))
    expected = [*(one - two for one, two in zip(hosts, hosts[1:])), *reversed(hosts)]
    trial.equal(len(outputs), len(expected))
    for output, wanted in zip(outputs, expected):
        trial.exact(output, wanted, "float32")


def _constants(trial: Trial, through: Work) -> None:
    """Captured arrays keep all elements, and arrays with the same ends and shape are not taken for each other."""
    x, long = trial.random(_LONG), trial.random(_LONG, seed=1)
    other = long.copy()
    other[1:-1] += 1
    counts = np.arange(_LONG, dtype="int32") + 2**30
    captured, same_ends, integers = map(trial.tensor, (long, other, counts))

    def work(x: Any) -> list[Any]:
        return [lax.mul(x, captured), lax.sub(x, same_ends), lax.neg(integers), jnp.asarray(long)]

    outputs = through(trial, work, trial.tensor(x))
    for output, wanted in zip(outputs, (x * long, x - other, -counts, long)):
        trial.exact(output, wanted, wanted.dtype.name)


def _numbers(trial: Trial, through: Work) -> None:
    """Numbers in the work keep all digits, their sign and their type."""
    x, n = trial.random(5), np.arange(5, dtype="int32")

    def work(x: Any, n: Any) -> list[Any]:
        return [x * 1.2345678, x - 0.1, n + 16777217, n - 2147483647, jnp.maximum(x, -0.0 * 2), x * np.float32(3.1e38)]

    outputs = through(trial, work, trial.tensor(x), trial.tensor(n))
    with np.errstate(over="ignore"):
        expected = [x * np.float32(1.2345678), x - np.float32(0.1), n + 16777217, n - 2147483647]
        expected += [np.maximum(x, np.float32(0)), x * np.float32(3.1e38)]
    for output, wanted in zip(outputs, expected):
        trial.exact(output, wanted, wanted.dtype.name)


def _again(trial: Trial, through: Work) -> None:
    """The same work, for arrays of other shapes and dtypes, uses what it captures for these, in any order."""
    tables = [trial.tensor(trial.random(2, seed=seed)) for seed in range(3)]
    hosts = [trial.random(2), trial.random(3, 2), trial.random(2, dtype="int32", low=-9, high=9)]

    def work(x: Any) -> list[Any]:
        table = tables[2 if x.dtype == np.int32 else x.ndim - 1]
        return [x * table, jnp.broadcast_to(table, (2, 2))]

    for number in (0, 1, 2, 0, 1):
        product, table = through(trial, work, trial.tensor(hosts[number]))
        exact = trial.numpy(tables[number])
        trial.exact(product, hosts[number].astype("float32") * exact, "float32")
        trial.exact(table, np.broadcast_to(exact, (2, 2)), "float32")


def _wide(trial: Trial, through: Work) -> None:
    """With 64-bit types enabled, inputs, captured arrays and numbers keep all 64 bits."""
    with x64():
        integers, fractions = np.array([2**53 + 1, -(2**62) - 1]), np.array([0.1, 1 + 2.0**-52])
        captured = jnp.asarray(integers)
        outputs = through(
            trial,
            lambda n, x: [lax.add(n, captured), n - 4611686018427387903, x * (1 / 3), -x],
            jnp.asarray(integers),
            jnp.asarray(fractions),
        )
        outputs = [np.asarray(output) for output in outputs]
    with np.errstate(over="ignore"):
        expected = [integers + integers, integers - 4611686018427387903, fractions * (1 / 3), -fractions]
    for output, wanted in zip(outputs, expected):
        trial.equal((output.dtype, output.tolist()), (wanted.dtype, wanted.tolist()))


def _settings(trial: Trial, through: Work) -> None:
    """Settings of JAX around it are in force in the work: the generator of keys, whose length says which it is, and
    whether arrays of other ranks are an error."""
    host, row = trial.random(2, 3), trial.random(3, seed=1)
    x, captured = trial.tensor(host), trial.tensor(row)

    def work(x: Any) -> list[Any]:
        key = jax.eval_shape(lambda: jax.random.PRNGKey(3))
        return [x * np.float32(key.size), x + captured]

    for generator, length in (("rbg", 4), ("threefry2x32", 2)):
        with jax.default_prng_impl(generator):
            scaled, total = through(trial, work, x)
        trial.exact(scaled, length * host, "float32")
        trial.exact(total, host + row, "float32")
    with jax.numpy_rank_promotion("raise"):
        try:
            through(trial, work, x)
        except ValueError as error:
            refused = str(error)
        else:
            refused = "no error"
    trial.check("rank" in refused, f"expected an error about the rank, got {refused}")


_KEPT: dict[str, Callable[[Trial, Work], None]] = {
    "inputs": _inputs,
    "constants": _constants,
    "numbers": _numbers,
    "again": _again,
    "wide": _wide,
    "settings": _settings,
}


def _named(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    def body(named_call: Callable[..., Any], *arrays: Any) -> Any:
        return jax.jit(named_call(work, name="carried"))(*arrays)

    return trial.call_inside(body, *arrays)  # type: ignore[no-any-return]


def _bound(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    half = (len(arrays) + 1) // 2
    partial = trial.call(work, *arrays[:half])
    return jax.jit(lambda partial, *rest: partial(*rest))(partial, *arrays[half:])  # type: ignore[no-any-return]


def _made(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    closed = trial.call_inside(lambda make_jaxpr, *arrays: make_jaxpr(work)(*arrays), *arrays)
    return list(map(jnp.asarray, jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arrays)))


def _traced(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    avals = [jax.core.ShapedArray(array.shape, array.dtype) for array in arrays]
    return list(map(jnp.asarray, evaluated(*trial.call(wrapped(work, len(avals)), avals), *arrays)))


def _pulled(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    outputs, _ = trial.call(work, *arrays)
    return outputs  # type: ignore[no-any-return]


def _eager(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    def body(disable_jit: Callable[..., Any], *arrays: Any) -> Any:
        with disable_jit():
            return jax.jit(work)(*arrays)

    return trial.call_inside(body, *arrays)  # type: ignore[no-any-return]


def _at_once(trial: Trial, work: Work, *arrays: Any) -> Sequence[Any]:
    """The work is done while another function is traced; its outputs are constants there."""
    found: list[Any] = []

    def body(eval_context: Callable[..., Any], *arrays: Any) -> Any:
        def outer(x: Any) -> Any:
            with eval_context():
                found[:] = work(*arrays)
            return x

        return jax.jit(outer)(arrays[0])

    trial.call_inside(body, *arrays)
    trial.check(not any(isinstance(output, jax.core.Tracer) for output in found), "an output is traced")
    return found


_THROUGH: dict[str, Callable[..., Sequence[Any]]] = {
    "named_call": _named,
    "Partial": _bound,
    "make_jaxpr": _made,
    "trace_to_jaxpr_dynamic": _traced,
    "vjp": _pulled,
    "disable_jit": _eager,
    "eval_context": _at_once,
}

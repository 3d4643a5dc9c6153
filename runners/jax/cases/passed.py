"""Arrays of unusual layouts, ranks and dtypes through the functions that trace, bind, nest or name other functions.

The work inside is a reversal along all axes: every element is moved, none is computed.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing import properties
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped


def unusual(trial: Trial) -> dict[str, Any]:
    """NumPy arrays with strides of all kinds, without axes, with six axes, without elements, and with values at the
    ends of their dtypes."""
    base = trial.random(6, 8)
    return {
        "strided": base[1::2, ::3],
        "transposed": base.T,
        "backwards": base[::-1, ::-2],
        "repeated": np.broadcast_to(base[0], (3, 8)),
        "without-axes": np.asarray(base[2, 3]),
        "six-axes": trial.random(33, 1, 2, 1, 1, 2, seed=1).transpose(5, 1, 3, 2, 4, 0),
        "empty": np.zeros((2, 0, 1, 3), "float32"),
        "bytes": np.array([0, 9, 127, 9, 128, 9, 255], "uint8")[::2],
        "words": np.array([2**31, 5, 2**32 - 1], "uint32")[::-1],
        "truths": trial.random(4, 7, dtype="bool", seed=2)[:, ::2],
        "special": np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 3.4e38, -1.5], "float32")[::-1],
        "half": np.array([65504, -2.5, 2.0**-24, np.nan, 1], "float16")[::2],
    }


def mapped(trial: Trial) -> None:
    """jax.tree_util.tree_map: each leaf is mapped by itself; leaves that are not touched are the same objects."""
    hosts = unusual(trial)
    _check(trial, trial.call(_reversed, {"inner": [hosts, None]})["inner"][0], hosts)
    kept = trial.call(lambda leaf: leaf, hosts)
    trial.check(all(kept[name] is hosts[name] for name in hosts), "a leaf was replaced")


def unflattened(trial: Trial) -> None:
    """jax.tree_util.tree_unflatten: the leaves are the given objects."""
    hosts = unusual(trial)
    leaves, structure = jax.tree_util.tree_flatten(hosts)
    moved = list(map(jnp.asarray, leaves))
    made = trial.call(structure, moved)
    trial.check(all(found is leaf for found, leaf in zip(made.values(), moved)), "a leaf was replaced")
    _check(trial, made, hosts, turned=False)


def bound(trial: Trial) -> None:
    """jax.tree_util.Partial: bound arrays reach the function, also as the argument of a compiled one."""
    hosts = unusual(trial)
    made = trial.call(_all_reversed, hosts)
    _check(trial, made(), hosts)
    _check(trial, jax.jit(lambda partial: partial())(made), hosts)


def named(trial: Trial) -> None:
    """jax.named_call: the named function gets and gives the arrays, compiled or not."""
    hosts = unusual(trial)

    def body(named_call: Callable[..., Any], arrays: Any) -> Any:
        made = named_call(jax.jit(_all_reversed), name="turned")
        return made(arrays), jax.jit(made)(arrays)

    for output in trial.call_inside(body, hosts):
        _check(trial, output, hosts)


def made_jaxpr(trial: Trial) -> None:
    """jax.make_jaxpr: the inputs have the arrays' shapes and dtypes; evaluated, the outputs are the values."""
    hosts = unusual(trial)
    closed = trial.call_inside(lambda make, arrays: make(_all_reversed)(arrays), hosts)
    leaves, structure = jax.tree_util.tree_flatten(hosts)
    trial.equal([(aval.shape, str(aval.dtype)) for aval in closed.in_avals], _types(leaves))
    outputs = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *map(jnp.asarray, leaves))
    _check(trial, jax.tree_util.tree_unflatten(structure, outputs), hosts)


def traced(trial: Trial) -> None:
    """trace_to_jaxpr_dynamic: the same of abstract values."""
    hosts = unusual(trial)
    leaves, structure = jax.tree_util.tree_flatten(hosts)
    trial.repeatable = False  # a wrapped function can be traced only once
    function = wrapped(lambda *arrays: list(map(_reversed, arrays)), len(leaves))
    avals = [jax.core.ShapedArray(leaf.shape, leaf.dtype) for leaf in leaves]
    jaxpr, outputs, constants = trial.call(function, avals)
    trial.equal([(aval.shape, str(aval.dtype)) for aval in outputs], _types(leaves))
    found = jax.core.eval_jaxpr(jaxpr, constants, *map(jnp.asarray, leaves))
    _check(trial, jax.tree_util.tree_unflatten(structure, found), hosts)


def known(trial: Trial) -> None:
    """PartialVal: of each array the known value and its abstract value."""
    hosts = unusual(trial)
    made = {name: trial.call((None, jnp.asarray(host))) for name, host in hosts.items()}
    avals = [made[name].get_aval() for name in hosts]
    trial.equal([(aval.shape, str(aval.dtype)) for aval in avals], _types(list(hosts.values())))
    _check(trial, {name: value.get_known() for name, value in made.items()}, hosts, turned=False)


def typed(trial: Trial) -> None:
    """get_aval: each array has its shape and dtype, however it lies in memory."""
    hosts = list(unusual(trial).values())
    avals = [trial.call(host) for host in hosts]
    trial.check(all(isinstance(aval, jax.core.ShapedArray) for aval in avals), "expected abstract values")
    trial.equal([(aval.shape, str(aval.dtype)) for aval in avals], _types(hosts))


def eager(trial: Trial) -> None:
    """jax.disable_jit: what is not compiled gives what the compiled function gives."""
    hosts = unusual(trial)

    def body(disable_jit: Callable[..., Any], arrays: Any) -> Any:
        compiled = jax.jit(_all_reversed)
        with disable_jit():
            inside = compiled(arrays)
        return inside, compiled(arrays)

    for output in trial.call_inside(body, hosts):
        _check(trial, output, hosts)


def evaluated(trial: Trial) -> None:
    """eval_context: within a trace the arrays outside of it are reversed at once."""
    hosts = unusual(trial)
    seen: list[bool] = []

    def body(eval_context: Callable[..., Any], arrays: Any) -> Any:
        def inner() -> Any:
            with eval_context():
                found = _all_reversed(arrays)
            seen[:] = [isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(found)]
            return found

        return jax.jit(inner)()

    _check(trial, trial.call_inside(body, hosts), hosts)
    trial.equal(any(seen), False)


def stopped(trial: Trial) -> None:
    """jax.lax.stop_gradient: a tree of arrays comes back, plain and in a compiled function."""
    hosts = unusual(trial)
    tensors = jax.tree_util.tree_map(trial.tensor, hosts)
    output, compiled = trial.call_inside(lambda stop, x: (stop(x), jax.jit(lambda x: stop(x))(x)), tensors)
    _check(trial, output, hosts, turned=False)
    _check(trial, compiled, hosts, turned=False)


def pulled_back(trial: Trial) -> None:
    """jax.vjp: values and cotangents that are views, of a function that only moves them."""
    hosts = {name: host for name, host in unusual(trial).items() if host.dtype.kind == "f"}
    turned = jax.jit(_all_reversed)  # one program for all arrays
    outputs, pull_back = trial.call(turned, hosts)
    _check(trial, outputs, hosts)
    _check(trial, pull_back(hosts)[0], hosts)


def pulled_back_many(trial: Trial) -> None:
    """jax.vjp: of more rows than 16 bits can count each gets its own cotangent, and NaN stays where it is."""
    host, cotangent = trial.random(65_539, 2), trial.random(65_539, 2, seed=1)
    cotangent[65_537, 0] = np.nan
    output, pull_back = trial.call(lambda x: jnp.where(x > 0, x * x, -x), trial.tensor(host))
    x = host.astype("float64")
    trial.close(output, np.where(x > 0, x * x, -x), dtype="float32")
    slope = np.where(x > 0, 2 * x, -1)
    trial.close(pull_back(trial.tensor(cotangent))[0], cotangent * slope, dtype="float32")


def counted(trial: Trial) -> None:
    """jax.numpy.size: views have the size that they show, also one above 32 bits, along each axis."""
    for host in unusual(trial).values():
        trial.equal(trial.call(host), host.size)
        for axis in range(-host.ndim, host.ndim):
            trial.equal(trial.call(host, axis), host.shape[axis])
    trial.equal(trial.call(np.broadcast_to(np.float32(1), (70_000, 1, 70_000))), 4_900_000_000)


def scalars(trial: Trial) -> None:
    """jax.numpy.isscalar: numbers of all NumPy dtypes are scalars; arrays with axes are not, whatever their layout."""
    for dtype in ("float16", "float64", "uint8", "uint32", "int64", "complex64"):
        trial.equal(trial.call(np.dtype(dtype).type(1)), True)
    for value in (float("nan"), float("-inf"), -0.0, 2**70):
        trial.equal(trial.call(value), True)
    for host in unusual(trial).values():
        if host.ndim:
            trial.equal(trial.call(host), False)


def paths_of_views(trial: Trial) -> None:
    """jax.numpy.einsum_path: shapes alone decide, also of views and of more elements than 32 bits can count."""
    one = np.float32(1)
    many, thin = np.broadcast_to(one, (70_000, 70_000)), np.broadcast_to(one, (70_000, 2))
    path, facts = trial.call("ab,bc,cd->ad", many, many, thin, optimize="optimal")
    trial.equal([list(step) for step in path], [[1, 2], [0, 1]])
    trial.equal(int(facts.opt_cost), 2 * 2 * 2 * 70_000**2)
    base = trial.random(4, 6)
    path, _ = trial.call("ab,bc,cd->ad", base.T, base[:, ::-3], base[:2, 1:2])
    plain, _ = trial.call("ab,bc,cd->ad", *(trial.random(*shape) for shape in ((6, 4), (4, 2), (2, 1))))
    trial.equal([list(step) for step in path], [list(step) for step in plain])


def factored_in_a_row(trial: Trial, shape: Sequence[int], dtype: str, factors: str, calls: int = 4) -> None:
    """Batches of the same shape, factored one after the other, have their own factors, and earlier ones are kept.

    ``factors``: the property that they have.
    """
    hosts = [trial.random(*shape, dtype=dtype, seed=seed) for seed in range(calls)]
    outputs = [tuple(trial.call(trial.tensor(host))) for host in hosts]
    for host, output in zip(hosts, outputs):
        trial.equal([trial.dtype_name(part) for part in output], [dtype] * len(output))
        properties.find(factors)(trial, output, [widened(host)])


def _reversed(array: Any) -> Any:
    return jnp.flip(array)


def _all_reversed(arrays: Any) -> Any:
    return jax.tree_util.tree_map(_reversed, arrays)


def _types(arrays: Sequence[Any]) -> list[Any]:
    return [(array.shape, str(array.dtype)) for array in arrays]


def _check(trial: Trial, outputs: Any, hosts: Any, turned: bool = True) -> None:
    for name, output in outputs.items():
        trial.exact(output, np.flip(hosts[name]) if turned else hosts[name], hosts[name].dtype.name)

"""jax.lax.stop_gradient of every container and type: nothing passes in either direction, and values stay the same."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.containers import Labelled, Pair

_TYPES = ("float32", "float16", "bfloat16", "complex64")


def stopped_in_containers(trial: Trial) -> None:
    """In a list, tuple, dict, named tuple, registered class and in a list of them, of any floating or complex type, the
    gradient is zero and so is the tangent; what is beside the stopped part has its own. So it is of one type in every
    container, and of the others within a compiled function."""
    host = trial.random(3, low=0.5, high=2)
    wraps: dict[str, Any] = {
        "alone": (lambda x: x, lambda tree: tree),
        "list": (lambda x: [x, 2 * x], lambda tree: tree[0] + tree[1]),
        "tuple": (lambda x: (x, 3), lambda tree: tree[0] * tree[1]),
        "dict": (lambda x: {"a": x, "b": None}, lambda tree: tree["a"]),
        "named": (lambda x: Pair(x, x), lambda tree: tree.first + tree.second),
        "class": (lambda x: Labelled(x, "m"), lambda tree: tree.value),
        "nested": (lambda x: [{"a": (x, [x])}], lambda tree: tree[0]["a"][0] + tree[0]["a"][1][0]),
    }

    def body(stop_gradient: Callable[..., Any], *arrays: Any) -> Any:
        def derived(kind: str, x: Any) -> Any:
            wrap, unwrap = wraps[kind]

            def loss(x: Any) -> Any:
                return jnp.real(jnp.sum(unwrap(stop_gradient(wrap(x))) * x))

            def stopped(x: Any) -> Any:
                return unwrap(stop_gradient(wrap(x)))

            values, tangent = jax.jvp(stopped, (x,), (x,))
            return values, tangent, jax.grad(loss)(x), jax.vjp(stopped, x)[1](x)[0]

        def of_types(arrays: Any) -> Any:
            return [[derived(kind, x) for kind in wraps] for x in arrays]

        first, *others = arrays
        return [[derived(kind, first) for kind in wraps], *jax.jit(of_types)(others)]

    arrays = [trial.tensor(host * (1 + 1j) if name == "complex64" else host, name) for name in _TYPES]
    trial.has_random_inputs = False  # other values would compile the same program again
    for name, array, found in zip(_TYPES, arrays, trial.call_inside(body, *arrays)):
        wide = trial.numpy(array).astype("complex128" if name == "complex64" else "float64")
        rtol = {"bfloat16": 2e-2, "float16": 3e-3}.get(name, 1e-6)
        for kind, (values, tangent, gradient, pulled) in zip(wraps, found):
            factor = {"list": 3, "tuple": 3, "named": 2, "nested": 2}.get(kind, 1)
            trial.close(values, factor * wide, rtol=rtol, dtype=name)
            trial.close(gradient, factor * wide, rtol=rtol, dtype=name)
            trial.exact(tangent, np.zeros(3), name)
            trial.exact(pulled, np.zeros(3), name)


def kinds_as_they_are(trial: Trial) -> None:
    """Plain numbers, NumPy scalars and arrays and weakly typed arrays have their value and type afterwards: joined with
    an array of half precision, only plain and weakly typed numbers leave its type alone."""
    half = trial.tensor(np.ones(2), "float16")
    kinds = (
        *((2.5, "float16"), (3, "float16"), (True, "float16"), (np.float32(2.5), "float32")),
        *((np.array([1.5, 2], "float32"), "float32"), (np.float16(0.5), "float16"), (jnp.asarray(2.5), "float16")),
        *((np.int8(3), "float16"), (jnp.asarray(2), "float16"), (jnp.float32(2), "float32")),
    )
    trial.repeatable = False  # each call is one of a row
    for given, joined in kinds:
        output = trial.call(given)
        trial.equal(np.asarray(output).tolist(), np.asarray(given).tolist())
        trial.equal(np.shape(output), np.shape(given))
        trial.equal(trial.dtype_name(output + half), joined)
    for given in (None, (), [], {}):
        trial.equal(trial.call(given), given)
    with jax.enable_custom_prng(True):
        trace = jax.make_jaxpr(lambda make, seed: make({"a": jax.random.PRNGKey(seed)}), static_argnums=0)
        (key,) = trial.call_inside(lambda stop: trace(stop, 3)).out_avals
    trial.equal((key.shape, "key" in str(key.dtype)), ((), True))

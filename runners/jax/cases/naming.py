"""jax.named_call: a function whose operations carry a name in the compiled program."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def named_values(trial: Trial, dtype: str) -> None:
    """The named function returns the plain function's values."""
    left, right = (trial.tensor(trial.random(8, 6, dtype=dtype, seed=seed), dtype) for seed in (0, 1))

    def body(named_call: Callable[..., Any], left: Any, right: Any) -> Any:
        return named_call(lambda a, b: (jnp.where(a == b, a, b), a[0]), name="chosen")(left, right)

    chosen, row = trial.call_inside(body, left, right)
    trial.exact(chosen, trial.numpy(right), dtype)
    trial.exact(row, trial.numpy(left)[0], dtype)


def named_directly(trial: Trial) -> None:
    """It returns a function with the plain function's positional and keyword arguments."""
    a, b = trial.random(10), trial.random(10, seed=1)
    named = trial.call(lambda a, b, scale=1: (a - b) * scale, name="difference")
    trial.close(named(trial.tensor(a), b=trial.tensor(b), scale=3), 3 * (widened(a) - b), dtype="float32")
    trial.close(named(trial.tensor(b), trial.tensor(a)), widened(b) - a, dtype="float32")


def named_again(trial: Trial) -> None:
    """Outside of a trace the function runs at each call, with the arguments of that call, also if another one has the
    same name and code."""
    hosts = [trial.random(6, seed=seed) for seed in range(3)]
    seen: list[int] = []

    def multiplied(factor: int) -> Callable[..., Any]:
        def by_factor(tree: Any, shift: float = 0.5) -> Any:
            seen.append(factor)
            return [factor * tree["x"] + shift]

        return by_factor

    named = [trial.call(multiplied(factor), name="multiplied") for factor in (2, -3)]
    for host in hosts:
        moved = {"x": trial.tensor(host)}
        for factor, function in zip((2, -3), named):
            for shift in (0.5, 1.5):
                (output,) = function(moved, shift=shift)
                trial.close(output, factor * widened(host) + shift, dtype="float32")
            (output,) = function(moved)
            trial.close(output, factor * widened(host) + 0.5, dtype="float32")
    trial.equal(seen, [2, 2, 2, -3, -3, -3] * 3)


def name_in_program(trial: Trial, name: str) -> None:
    """The operations of the function, which can be any callable, carry the name in the compiled program; those outside
    of it do not, also after a named function that raised an error."""
    host = trial.random(16)

    class Layer:
        def __call__(self, x: Any) -> Any:
            return jnp.sin(x)

    def broken(x: Any) -> Any:
        raise KeyError("inside")

    def body(named_call: Callable[..., Any], x: Any) -> Any:
        inner, failing = named_call(Layer(), name=name), named_call(broken, name=name)

        def outer(x: Any) -> Any:
            with contextlib.suppress(KeyError):
                failing(x)
            return jnp.cos(inner(x))

        return _program(outer, x)

    text, output = trial.call_inside(body, trial.tensor(host))
    sines, cosines = (_operations(text, last) for last in ("sin", "cos"))
    trial.check(sines and all(f"/{name}/" in path for path in sines), f"the sine is not named {name}: {sines}")
    trial.check(cosines and not any(f"/{name}/" in path for path in cosines), f"the cosine has it too: {cosines}")
    trial.close(output, np.cos(np.sin(widened(host))), dtype="float32")


def name_of_function(trial: Trial) -> None:
    """Without a name it uses the function's own name."""
    host = trial.random(16)

    def of_its_own(x: Any) -> Any:
        return jnp.tanh(x)

    def body(named_call: Callable[..., Any], x: Any) -> Any:
        return _program(named_call(of_its_own), x)

    text, output = trial.call_inside(body, trial.tensor(host))
    paths = _operations(text, "tanh")
    trial.check(paths and all("/of_its_own/" in path for path in paths), f"the name is missing: {paths}")
    trial.close(output, np.tanh(widened(host)), dtype="float32")


def names_nested(trial: Trial) -> None:
    """Names nest, and one function under two names keeps both apart."""
    host = trial.random(16)

    def sine(x: Any) -> Any:
        return jnp.sin(x)

    def body(named_call: Callable[..., Any], x: Any) -> Any:
        inner, other = named_call(sine, name="inner"), named_call(sine, name="other")
        first = named_call(lambda x: inner(x), name="first")
        second = named_call(lambda x: jnp.cos(inner(x)), name="second")
        return _program(lambda x: (first(x), second(x + 1), other(x + 2)), x)

    text, (first, second, third) = trial.call_inside(body, trial.tensor(host))
    sines, cosines = (_operations(text, last) for last in ("sin", "cos"))
    for path in ("first/inner", "second/inner"):
        trial.check(any(f"/{path}/" in sine for sine in sines), f"no sine is named {path}: {sines}")
    alone = [sine for sine in sines if "/other/" in sine]
    trial.check(alone and not any("/inner/" in sine for sine in alone), f"no sine is named other alone: {sines}")
    trial.check(cosines and all("/second/cos" in path for path in cosines), f"the cosine is missing: {cosines}")
    trial.close(third, np.sin(widened(host) + 2), dtype="float32")
    trial.close(first, np.sin(widened(host)), dtype="float32")
    trial.close(second, np.cos(np.sin(widened(host) + 1)), dtype="float32")


def named_gradient(trial: Trial) -> None:
    """Derivatives pass through; their operations also carry the name, with a mark of the derivative."""
    host = trial.random(20)

    def body(named_call: Callable[..., Any], x: Any) -> Any:
        wave = named_call(lambda x: jnp.sin(x), name="wave")
        return _program(jax.vmap(jax.value_and_grad(lambda x: 3 * wave(x))), x)

    text, (value, slope) = trial.call_inside(body, trial.tensor(host))
    paths = _operations(text, "cos")
    trial.check(paths and all("jvp(wave)" in path for path in paths), f"the derivative is not named: {paths}")
    trial.close(value, 3 * np.sin(widened(host)), dtype="float32")
    trial.close(slope, 3 * np.cos(widened(host)), dtype="float32")


def named_with_plain_values(trial: Trial) -> None:
    """Arguments and outputs can have any type: a type, a text, a dict, None."""
    host = trial.random(4)
    seen: list[Any] = []

    def body(named_call: Callable[..., Any], x: Any) -> Any:
        seen.clear()

        def described(kind: Any, text: str, tree: Any) -> Any:
            seen.append((kind, text, sorted(tree)))
            return {"sum": tree["x"] + len(text), "none": None}

        return jax.jit(lambda x: named_call(described, name="described")(float, "four", {"x": x, "y": None}))(x)

    output = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [(float, "four", ["x", "y"])])
    trial.equal((sorted(output), output["none"]), (["none", "sum"], None))
    trial.close(output["sum"], widened(host) + 4, dtype="float32")


def _program(function: Callable[..., Any], x: Any) -> tuple[str, Any]:
    """Return the text of the compiled program, and its output. JAX does not cache this text."""
    program = jax.jit(lambda x: function(x)).lower(x).compile()
    return program.as_text(), program(x)


def _operations(text: str, last: str) -> list[str]:
    """Return the names of the program's operations that have this ending."""
    paths = [part.split('"')[0] for part in text.split('op_name="')[1:]]
    return [path for path in paths if path.endswith("/" + last)]

"""jax.disable_jit: inside the context compiled functions run as plain Python on values; after it they compile again."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def eager_branch(trial: Trial, sign: int) -> None:
    """Python can branch on a value inside a compiled function."""
    host = sign * trial.random(64, low=0.5, high=1.5)
    seen: list[bool] = []

    @jax.jit
    def absolute(x: Any) -> Any:
        seen.append(_traced(x))
        return x if x.sum() > 0 else -x

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        with disable_jit():
            return absolute(x)

    trial.close(trial.call_inside(body, trial.tensor(host)), np.abs(host), dtype="float32")
    trial.equal(seen, [False])
    _check_compiles_again(trial)


def eager_mask(trial: Trial) -> None:
    """A shape can depend on values: a compiled function can select elements by a mask."""
    host = trial.random(8, 16)

    @jax.jit
    def positive(x: Any) -> Any:
        return x[x > 0] * 2

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        with disable_jit():
            return positive(x)

    trial.close(trial.call_inside(body, trial.tensor(host)), 2 * host[host > 0], dtype="float32")
    _check_compiles_again(trial)


def eager_while(trial: Trial, start: int) -> None:
    """A while loop's body runs once for each iteration, on values: here the numbers of a Collatz sequence."""
    visited: list[int] = []

    def step(number: Any) -> Any:
        visited.append(int(number))
        return number // 2 if number % 2 == 0 else 3 * number + 1

    def body(disable_jit: Callable[..., Any], number: Any) -> Any:
        visited.clear()
        with disable_jit():
            return lax.while_loop(lambda number: number != 1, step, number)

    expected = [start]
    while expected[-1] != 1:
        expected.append(expected[-1] // 2 if expected[-1] % 2 == 0 else 3 * expected[-1] + 1)
    output = trial.call_inside(body, trial.tensor(np.int32(start)))
    trial.close(output, np.array(1), dtype="int32")
    trial.equal(visited, expected[:-1])
    _check_compiles_again(trial)


def eager_scan(trial: Trial) -> None:
    """A scan's body runs once for each element, on values, and its outputs are stacked."""
    host = trial.random(10)
    seen: list[bool] = []

    def step(total: Any, element: Any) -> Any:
        seen.append(_traced(total) or _traced(element))
        return total + element, total

    def body(disable_jit: Callable[..., Any], start: Any, elements: Any) -> Any:
        seen.clear()
        with disable_jit():
            return lax.scan(step, start, elements)

    total, before = trial.call_inside(body, trial.tensor(np.float32(0)), trial.tensor(host))
    sums = np.cumsum(widened(host))
    trial.equal(seen, [False] * 10)
    trial.close(total, sums[-1], dtype="float32")
    trial.close(before, np.concatenate([[0.0], sums[:-1]]), dtype="float32")
    _check_compiles_again(trial)


def eager_gradient(trial: Trial) -> None:
    """Derivatives work as usual, and the function runs for every call instead of coming from a cache."""
    host = trial.random(32)
    runs: list[int] = []

    @jax.jit
    def loss(x: Any) -> Any:
        runs.append(1)
        return jnp.sum(jnp.sin(x))

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        runs.clear()
        with disable_jit():
            return jax.grad(loss)(x), loss(x), loss(x)

    gradient, *losses = trial.call_inside(body, trial.tensor(host))
    trial.equal(len(runs), 3)
    trial.close(gradient, np.cos(widened(host)), dtype="float32")
    for value in losses:
        trial.close(value, np.sin(widened(host)).sum(), dtype="float32")
    _check_compiles_again(trial)


def eager_nested(trial: Trial) -> None:
    """Inside the context, disable_jit(False) compiles again until it ends; without an argument it means True."""
    host = trial.random(16)
    seen: list[bool] = []

    @jax.jit
    def twice(x: Any) -> Any:
        seen.append(_traced(x))
        return x * 2

    def body(disable_jit: Callable[..., Any], x: Any) -> Any:
        with disable_jit():
            first = twice(x)
            with disable_jit(False):
                second = twice(first)
            return first, second, twice(second)

    outputs = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [False, True, False])
    for factor, output in zip((2, 4, 8), outputs):
        trial.close(output, factor * widened(host), dtype="float32")
    _check_compiles_again(trial)


def eager_control_flow(trial: Trial) -> None:
    """Only the chosen branch of a cond runs, and the bodies of fori_loop and map run on values. An error ends the
    context as usual."""
    host = trial.random(6)
    seen: list[Any] = []

    def branch(name: str, factor: float) -> Callable[..., Any]:
        def multiplied(x: Any) -> Any:
            seen.append(name)
            return factor * x

        return multiplied

    def step(place: Any, total: Any) -> Any:
        seen.append(int(place))
        return 2 * total + place

    def each(number: Any) -> Any:
        seen.append(float(number) > 0)
        return number + 1

    def body(disable_jit: Callable[..., Any], x: Any, yes: Any) -> Any:
        seen.clear()
        outputs: list[Any] = []
        try:
            with disable_jit(disable=True):
                outputs.append(lax.cond(yes, branch("true", 3.0), branch("false", -5.0), x))
                outputs.append(lax.fori_loop(2, 5, step, x))
                outputs.append(lax.map(each, x))
                raise KeyError("inside")
        except KeyError:
            return outputs

    chosen, total, moved = trial.call_inside(body, trial.tensor(host), trial.tensor(np.bool_(True)))
    trial.equal(seen, ["true", 2, 3, 4, *(host > 0).tolist()])
    trial.close(chosen, 3 * widened(host), dtype="float32")
    trial.close(total, 8 * widened(host) + 18, dtype="float32")
    trial.close(moved, widened(host) + 1, dtype="float32")
    _check_compiles_again(trial)


def _check_compiles_again(trial: Trial) -> None:
    """Check that after the context functions are traced again, as before."""
    seen: list[bool] = []

    @jax.jit
    def unchanged(x: Any) -> Any:
        seen.append(_traced(x))
        return x

    unchanged(trial.tensor(np.float32(0)))
    trial.equal(seen, [True])


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

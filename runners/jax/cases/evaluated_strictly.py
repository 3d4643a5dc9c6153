"""jax.core.eval_context in several threads, and under settings that turn more into errors."""

from __future__ import annotations

import threading
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.trial import Trial


def evaluated_in_threads(trial: Trial) -> None:
    """The context holds in the thread that entered it, whichever it is, and in no other one. It gives nothing to its
    block, which can be left by a return, and can be entered again."""
    seen: list[Any] = []

    def body(eval_context: Callable[..., Any]) -> None:
        seen.clear()

        def wave() -> bool:
            return _traced(jnp.cos(jnp.float32(0.5)))

        def left() -> Any:
            with eval_context() as given:
                return given, wave()

        def beside(x: Any) -> Any:
            seen.append((left(), wave()))
            return x

        def on_the_device() -> None:
            # The default device is that of a thread, too.
            with jax.default_device(trial.device):
                jax.jit(beside)(1.0)

        def mixed(x: Any) -> Any:
            with eval_context():
                thread = threading.Thread(target=on_the_device)
                thread.start()
                thread.join()
                seen.append(wave())
            seen.append((left(), wave()))
            return x

        jax.jit(mixed)(1.0)

    trial.call_inside(body)
    trial.equal(seen, [((None, False), True), False, ((None, False), True)])


def evaluated_under_strict_settings(trial: Trial) -> None:
    """In force inside are also: infinities and mixed dtypes as errors, the precision of matrix products, and running
    without compilation."""
    count = trial.tensor(trial.random(3, dtype="int32"))

    def body(eval_context: Callable[..., Any], setting: Any, value: Any, work: Callable[[], Any]) -> Any:
        found: list[Any] = []

        def inside(x: Any) -> Any:
            with eval_context():
                found.append(work())
            return x

        with setting(value):
            jax.jit(inside)(1.0)
        return found

    def precision() -> str:
        (equation,) = jax.make_jaxpr(lambda x: lax.dot(x, x))(np.zeros((2, 2), "float32")).eqns
        return str(equation.params["precision"])

    def runs_traced() -> bool:
        seen: list[bool] = []
        jax.jit(lambda x: seen.append(_traced(x)))(jnp.float32(1))
        return seen[0]

    trial.raises_inside(["FloatingPointError"], "inf", body, jax.debug_infs, True, lambda: jnp.exp(jnp.float32(1000)))
    trial.raises_inside(
        ["TypePromotionError"], "promotion", body, jax.numpy_dtype_promotion, "strict", lambda: count + jnp.float32(1)
    )
    with jax.default_matmul_precision("float32"):
        highest = precision()
    trial.equal(trial.call_inside(body, jax.default_matmul_precision, "float32", precision), [highest])
    trial.check(highest != precision(), "the setting does not change the precision")
    trial.equal(trial.call_inside(body, jax.disable_jit, True, runs_traced), [False])
    trial.equal(trial.call_inside(body, jax.disable_jit, False, runs_traced), [True])


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)

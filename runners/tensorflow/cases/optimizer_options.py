"""tf.keras.optimizers.experimental.Adadelta with several options and kinds of weights at once."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.optimizers import expected_steps

_STEPS = 3


def _rate(kind: str, rate: float) -> tuple[Any, list[float]]:
    """The learning rate as it is given, and its value in each step."""
    if kind == "schedule":
        schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([0, 1], [rate, rate / 4, rate * 2])
        return schedule, [rate, rate / 4, rate * 2]
    return rate, [rate, rate / 2, rate / 2] if kind == "assigned" else [rate] * _STEPS


def steps(
    trial: Trial,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str],
    rows: Sequence[int] | None,
    rate: float = 1.0,
    rate_kind: str = "number",
    rho: float = 0.95,
    epsilon: float = 1e-3,
    limits: Mapping[str, float] = {},
    traced: bool = False,
) -> None:
    """Three steps on weights of several shapes and dtypes match the update rule in float64 with the rate of each step.
    With ``rows``, the gradients of the first weight are for some rows alone, others in each step."""
    starts = [trial.random(*shape, dtype=dtype, seed=1 + i) for i, (shape, dtype) in enumerate(zip(shapes, dtypes))]
    given, rates = _rate(rate_kind, rate)
    slopes: list[list[Any]] = [[] for _ in starts]
    tensors: list[list[Any]] = []
    for step in range(_STEPS):
        tensors.append([])
        for number, start in enumerate(starts):
            host = trial.random(*start.shape, dtype=start.dtype.name, seed=50 * step + 10 + number)
            wide = host.astype("float64")
            slope: Any = trial.tensor(host)
            if rows is not None and number == 0:
                kept = sorted({(row + step) % start.shape[0] for row in rows}, reverse=True)
                wide = np.zeros(start.shape)
                wide[kept] = host[kept]
                slope = tf.IndexedSlices(
                    trial.tensor(host[kept]), trial.tensor(np.asarray(kept)), tf.constant(start.shape, tf.int64)
                )
            if "clipvalue" in limits:
                wide = np.clip(wide, -limits["clipvalue"], limits["clipvalue"])
            if "clipnorm" in limits:
                wide = wide * min(1.0, limits["clipnorm"] / np.linalg.norm(wide))
            slopes[number].append(wide)
            tensors[-1].append(slope)

    def body(adadelta: Callable[..., Any]) -> Any:
        weights = [tf.Variable(trial.tensor(start)) for start in starts]
        optimizer = adadelta(learning_rate=given, rho=rho, epsilon=epsilon, **limits)
        optimizer.build(weights)

        def step(*slopes: Any) -> None:
            optimizer.apply_gradients(list(zip(slopes, weights)))

        apply = tf.function(step, autograph=False) if traced else step
        found = []
        for number, each in enumerate(tensors):
            if number == 1 and rate_kind == "assigned":
                optimizer.learning_rate.assign(rate / 2)
            apply(*each)
            found.append([tf.convert_to_tensor(weight) for weight in weights])
        return found

    for step, found in enumerate(trial.call_inside(body)):
        for start, weight, row in zip(starts, found, slopes):
            expected = expected_steps(start, row[: step + 1], lambda place: rates[place], rho, epsilon)[-1]
            rtol, atol = (1e-5, 1e-6) if start.dtype == np.float32 else (1e-6, 1e-7)
            trial.close(weight, expected, rtol, atol, dtype=start.dtype.name)

"""Additions placed on purpose on the device, on the host, or some on each, with known placement verdicts.

These are the only cases that name a device other than the target's. On the target cpu all of them are on the device.
"""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial


def on_device(trial: Trial) -> None:
    """Two sums, both on the device."""
    _check(trial, lambda add, x, y: add(add(x, y), y))


def on_host(trial: Trial) -> None:
    """Two sums on the host's CPU; the result is moved to the device."""

    def body(add: Callable[..., Any], x: Any, y: Any) -> Any:
        x, y = jax.device_put((x, y), _host())
        return jax.device_put(add(add(x, y), y), trial.device)

    _check(trial, body)


def on_both(trial: Trial) -> None:
    """One sum on the host's CPU, one on the device."""

    def body(add: Callable[..., Any], x: Any, y: Any) -> Any:
        first = add(*jax.device_put((x, y), _host()))
        return add(jax.device_put(first, trial.device), y)

    _check(trial, body)


def in_numpy(trial: Trial) -> None:
    """One sum on the device, one in NumPy, which reads the array back from the device."""
    _check(trial, lambda add, x, y: jax.device_put(np.add(add(x, y), y), trial.device))


def in_callback(trial: Trial) -> None:
    """One sum on the device, one in Python, called by the compiled program."""

    def body(add: Callable[..., Any], x: Any, y: Any) -> Any:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)

        @jax.jit
        def program(x: Any, y: Any) -> Any:
            return jax.pure_callback(lambda a, b: np.asarray(a) + np.asarray(b), shape, add(x, y), y)

        return program(x, y)

    _check(trial, body)


def _host() -> Any:
    return jax.local_devices(backend="cpu")[0]


def _check(trial: Trial, body: Callable[..., Any]) -> None:
    one, two = trial.random(64, 64), trial.random(64, 64, seed=1)
    output = trial.call_inside(body, trial.tensor(one), trial.tensor(two))
    trial.close(output, one.astype("float64") + two + two, dtype="float32")

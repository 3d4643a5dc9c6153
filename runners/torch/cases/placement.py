"""The same sums on the device, on the host, and half on each: the placement must be recorded correctly.

The results of all three are on the device and right, so only tracing the call shows where it ran.
"""

from __future__ import annotations

from typing import Any

from runners.core.testing.trial import Trial

_SHAPE = (64, 32)


def on_device(trial: Trial) -> None:
    """The sum is computed where its tensors are."""
    a, b = (trial.random(*_SHAPE, seed=seed) for seed in (1, 2))
    trial.close(trial.call(trial.tensor(a), trial.tensor(b)), a + b)


def on_host(trial: Trial) -> None:
    """The tensors are read back and added on the host, and the sum is moved to the device."""
    a, b = (trial.random(*_SHAPE, seed=seed) for seed in (1, 2))

    def body(add: Any, x: Any, y: Any) -> Any:
        return add(x.cpu(), y.cpu()).to(trial.device)

    trial.close(trial.call_inside(body, trial.tensor(a), trial.tensor(b)), a + b)


def on_both(trial: Trial) -> None:
    """Half of the sum is computed on the device, half as in on_host."""
    a, b = (trial.random(*_SHAPE, seed=seed) for seed in (1, 2))
    half = _SHAPE[0] // 2

    def body(add: Any, x: Any, y: Any) -> Any:
        return add(x[:half], y[:half]), add(x[half:].cpu(), y[half:].cpu()).to(trial.device)

    first, second = trial.call_inside(body, trial.tensor(a), trial.tensor(b))
    trial.close(first, (a + b)[:half])
    trial.close(second, (a + b)[half:])

"""Schedules of the learning rate, of six epochs, against closed forms."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.optim.lr_scheduler

from runners.core.testing.written import Call

_EPOCHS = 6
_RATE = 0.5


def _rates(scheduler: Any, optimizer: Any, *metrics: Any) -> Any:
    found = []
    for _ in range(_EPOCHS):
        found.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step(*metrics)
    return found


def _optimizer() -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=_RATE, momentum=0.9)


def _scheduled(make: Any, *metrics: Any) -> Any:
    def body(f: Any) -> Any:
        optimizer = _optimizer()
        return _rates(make(f, optimizer), optimizer, *metrics)

    return body


def table(call: Call) -> None:
    module = torch.optim.lr_scheduler
    for name, make, rate in (
        ("LambdaLR", lambda f, o: f(o, lambda epoch: 1 / (epoch + 1)), lambda e: 1 / (e + 1)),
        ("MultiplicativeLR", lambda f, o: f(o, lambda e: 0.5), lambda e: 0.5**e),
        ("StepLR", lambda f, o: f(o, 2, 0.1), lambda e: 0.1 ** (e // 2)),
        ("MultiStepLR", lambda f, o: f(o, [1, 4], 0.1), lambda e: 0.1 ** ((e >= 1) + (e >= 4))),
        ("ConstantLR", lambda f, o: f(o, 0.25, 3), lambda e: 0.25 if e < 3 else 1.0),
        ("LinearLR", lambda f, o: f(o, 0.2, 1.0, 4), lambda e: 0.2 + 0.8 * min(e, 4) / 4),
        ("ExponentialLR", lambda f, o: f(o, 0.9), lambda e: 0.9**e),
        ("PolynomialLR", lambda f, o: f(o, 4, 2.0), lambda e: (1 - min(e, 4) / 4) ** 2),
        ("CosineAnnealingLR", lambda f, o: f(o, 8), lambda e: (1 + math.cos(math.pi * e / 8)) / 2),
        ("CosineAnnealingWarmRestarts", lambda f, o: f(o, 4), lambda e: (1 + math.cos(math.pi * (e % 4) / 4)) / 2),
        (
            "SequentialLR",
            lambda f, o: f(o, [module.ConstantLR(o, 0.1, 9), module.ExponentialLR(o, 0.9)], [2]),
            lambda e: 0.1 if e < 2 else 0.9 ** (e - 2),
        ),
        (
            "ChainedScheduler",
            lambda f, o: f([module.ExponentialLR(o, 0.9), module.ExponentialLR(o, 0.5)]),
            lambda e: 0.45**e,
        ),
    ):
        call(f"torch.optim.lr_scheduler.{name}", _scheduled(make), expect=[_RATE * rate(e) for e in range(_EPOCHS)])
    cyclic = [0.1 + 0.4 * (1 - abs(e % 4 / 2 - 1)) for e in range(_EPOCHS)]
    call("torch.optim.lr_scheduler.CyclicLR", _scheduled(lambda f, o: f(o, 0.1, 0.5, step_size_up=2)), expect=cyclic)
    plateau = [_RATE * 0.1 ** max(0, (e - 1) // 2) for e in range(_EPOCHS)]
    call("torch.optim.lr_scheduler.ReduceLROnPlateau", _scheduled(lambda f, o: f(o, patience=1), 3.0), expect=plateau)
    once = _scheduled(lambda f, o: f(o, 1.0, total_steps=7, pct_start=0.5))
    call("torch.optim.lr_scheduler.OneCycleLR", once, expect=[_one_cycle(e) for e in range(_EPOCHS)])
    call(
        "torch.optim.swa_utils.SWALR", _scheduled(lambda f, o: f(o, 0.1, 2, "linear")), expect=[_RATE, 0.3, *[0.1] * 4]
    )


def _one_cycle(epoch: int) -> float:
    """Up to 1 from a 25th of it in 2.5 steps, and down to a ten-thousandth of that, each along a cosine."""
    rise = 0.5 * 7 - 1
    if epoch <= rise:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * epoch / rise)) / 2
    share = (epoch - rise) / (6 - rise)
    return 4e-6 + (1 - 4e-6) * (1 + math.cos(math.pi * share)) / 2

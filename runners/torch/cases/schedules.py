"""torch.optim.lr_scheduler.ExponentialLR, compared with its closed form."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_EXACT = {"rtol": 1e-12, "atol": 0.0}
"""Rates are Python floats, multiplied once per step."""


def _optimizer(trial: Trial, rates: Sequence[float], **options: Any) -> Any:
    """Create an optimizer with one group of a parameter for each rate, and gradients to step with."""
    groups = []
    for number, rate in enumerate(rates):
        parameter = torch.nn.Parameter(trial.tensor(trial.random(3, seed=number)))
        parameter.grad = trial.tensor(trial.random(3, seed=10 + number))
        groups.append({"params": [parameter], "lr": rate, **options})
    return torch.optim.SGD(groups, lr=1.0)


def _rates(optimizer: Any) -> list[Any]:
    return [group["lr"] for group in optimizer.param_groups]


def _check_rates(trial: Trial, found: Any, expected: Sequence[float]) -> None:
    trial.check(
        isinstance(found, list) and all(type(rate) is float for rate in found),
        f"not a list of floats: {found}",
    )
    trial.close(found, np.array(expected), **_EXACT)


def exponential_rates(trial: Trial, rates: Sequence[float], gamma: float, steps: int) -> None:
    """After n steps every group's rate is its first rate times gamma**n."""
    optimizer = _optimizer(trial, rates)
    scheduler = trial.make(optimizer, gamma)
    trial.repeatable = False
    for step in range(1, steps + 1):
        optimizer.step()
        trial.check(trial.call_method(scheduler, "step") is None, "expected None to be returned")
        expected = [rate * gamma**step for rate in rates]
        _check_rates(trial, _rates(optimizer), expected)
        _check_rates(trial, scheduler.get_last_lr(), expected)
        trial.equal(scheduler.last_epoch, step)


def exponential_last_rates(trial: Trial, rates: Sequence[float], gamma: float, steps: int) -> None:
    """It returns the rates of all groups after its last step."""
    optimizer = _optimizer(trial, rates)
    scheduler = trial.make(optimizer, gamma)
    for step in range(steps + 1):
        _check_rates(trial, trial.call_method(scheduler, "get_last_lr"), [rate * gamma**step for rate in rates])
        optimizer.step()
        scheduler.step()


def exponential_new(trial: Trial, gamma: float) -> None:
    """A new schedule is at epoch 0, leaves the rates unchanged and remembers them."""
    optimizer = _optimizer(trial, [0.5, 0.02])
    scheduler = trial.call(optimizer, gamma=gamma)
    trial.check(isinstance(scheduler, trial.function), f"not an instance of the class: {type(scheduler).__name__}")
    trial.check(scheduler.optimizer is optimizer, "the schedule does not hold its optimizer")
    trial.equal([scheduler.gamma, scheduler.last_epoch], [gamma, 0])
    trial.equal(list(scheduler.base_lrs), [0.5, 0.02])
    trial.equal(_rates(optimizer), [0.5, 0.02])
    trial.equal([group["initial_lr"] for group in optimizer.param_groups], [0.5, 0.02])


def exponential_state(trial: Trial) -> None:
    """The state holds gamma, epoch and first rates; a schedule that loads it continues in the same way."""
    optimizer = _optimizer(trial, [0.5, 0.02])
    scheduler = trial.make(optimizer, 0.8)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    state = trial.call_method(scheduler, "state_dict")
    trial.equal([state["gamma"], state["last_epoch"]], [0.8, 3])
    trial.equal(list(state["base_lrs"]), [0.5, 0.02])
    trial.check("optimizer" not in state, "the state holds the optimizer")
    other = _optimizer(trial, [7.0, 9.0])
    later = trial.make(other, 0.1)
    other.load_state_dict(optimizer.state_dict())
    later.load_state_dict(state)
    later.step()
    _check_rates(trial, _rates(other), [0.5 * 0.8**4, 0.02 * 0.8**4])
    trial.equal([later.gamma, later.last_epoch], [0.8, 4])


def exponential_loaded(trial: Trial) -> None:
    """Loading a state changes gamma and epoch, and the next step multiplies by the loaded gamma."""
    earlier = trial.make(_optimizer(trial, [0.5]), 0.8)
    earlier.step()
    earlier.step()
    optimizer = _optimizer(trial, [3.0])
    scheduler = trial.make(optimizer, 0.1)
    returned = trial.call_method(scheduler, "load_state_dict", earlier.state_dict())
    trial.check(returned is None, "expected None to be returned")
    trial.equal([scheduler.gamma, scheduler.last_epoch], [0.8, 2])
    trial.equal(list(scheduler.base_lrs), [0.5])
    scheduler.step()
    _check_rates(trial, _rates(optimizer), [3.0 * 0.8])


def exponential_resumed(trial: Trial, epoch: int) -> None:
    """A schedule for an optimizer in the middle of training continues from its epoch; each step multiplies by gamma."""
    optimizer = _optimizer(trial, [0.25], initial_lr=1.0)
    trial.repeatable = False
    scheduler = trial.call(optimizer, 0.5, last_epoch=epoch)
    trial.check(isinstance(scheduler, trial.function), f"not an instance of the class: {type(scheduler).__name__}")
    trial.equal(scheduler.last_epoch, epoch + 1)
    trial.equal(list(scheduler.base_lrs), [1.0])
    (begin,) = _rates(optimizer)
    for step in (1, 2, 3):
        optimizer.step()
        scheduler.step()
        _check_rates(trial, _rates(optimizer), [begin * 0.5**step])
    trial.equal(scheduler.last_epoch, epoch + 4)


def exponential_at_epoch(trial: Trial, epoch: int) -> None:
    """A step to a given epoch (the older interface), forward or back, sets the rate by the closed form."""
    optimizer = _optimizer(trial, [0.5, 2.0])
    scheduler = trial.make(optimizer, 0.9)
    for _ in range(2):
        optimizer.step()
        scheduler.step()
    trial.check(trial.call_method(scheduler, "step", epoch) is None, "expected None to be returned")
    _check_rates(trial, _rates(optimizer), [0.5 * 0.9**epoch, 2.0 * 0.9**epoch])
    trial.equal(scheduler.last_epoch, epoch)


def exponential_changed(trial: Trial) -> None:
    """A rate that is changed between two steps is what the next step multiplies; other options stay."""
    optimizer = _optimizer(trial, [0.5, 0.02], momentum=0.75)
    scheduler = trial.make(optimizer, 0.8)
    trial.repeatable = False
    optimizer.step()
    trial.call_method(scheduler, "step")
    optimizer.param_groups[0]["lr"] = 4.0
    optimizer.step()
    trial.call_method(scheduler, "step")
    _check_rates(trial, _rates(optimizer), [4.0 * 0.8, 0.02 * 0.8**2])
    _check_rates(trial, trial.call_method(scheduler, "get_last_lr"), [4.0 * 0.8, 0.02 * 0.8**2])
    trial.equal([group["momentum"] for group in optimizer.param_groups], [0.75, 0.75])


def exponential_refuses_resumption(trial: Trial) -> None:
    """To continue from an epoch raises an error if the groups do not have their first rates."""
    trial.raises(["KeyError"], "initial_lr", _optimizer(trial, [0.5]), 0.9, last_epoch=3)


def exponential_training(trial: Trial, steps: int, dtype: str) -> None:
    """Gradient descent with the falling rate moves by the sum of the rates."""
    host, gradient = trial.random(4, 3, dtype=dtype, seed=1), trial.random(4, 3, dtype=dtype, seed=2)
    parameter = trial.tensor(host, dtype).requires_grad_()
    parameter.grad = trial.tensor(gradient, dtype)
    start, slope = widened(trial.numpy(parameter)), widened(trial.numpy(parameter.grad))
    optimizer = torch.optim.SGD([parameter], lr=0.4)
    scheduler = trial.make(optimizer, gamma=0.5)
    trial.repeatable = False
    for step in range(1, steps + 1):
        optimizer.step()
        trial.check(trial.call_method(scheduler, "step") is None, "expected None to be returned")
        expected = start - slope * sum(0.4 * 0.5**number for number in range(step))
        # bfloat16 is rounded after every step, by up to 2**-8 of numbers of about two.
        trial.close(parameter, expected, atol=2e-2 if dtype == "bfloat16" else None, dtype=dtype)


def exponential_chained(trial: Trial) -> None:
    """With a second schedule on the same optimizer both factors apply."""
    optimizer = _optimizer(trial, [1.0])
    scheduler, halved = trial.make(optimizer, 0.9), torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    trial.repeatable = False
    for step in range(1, 6):
        optimizer.step()
        trial.check(trial.call_method(scheduler, "step") is None, "expected None to be returned")
        halved.step()
        _check_rates(trial, _rates(optimizer), [0.9**step * 0.5 ** (step // 2)])


def exponential_in_turns(trial: Trial) -> None:
    """Two schedules of two optimizers in turns follow their own factors and steps; a saved state does not change."""
    rates, factors = ([0.5, 0.02], [3.0]), (0.8, 1.1)
    optimizers = [_optimizer(trial, each) for each in rates]
    schedules = [trial.make(optimizer, gamma) for optimizer, gamma in zip(optimizers, factors)]
    steps, saved = [0, 0], trial.call_method(schedules[0], "state_dict")
    trial.repeatable = False
    for number in (0, 1, 1, 0, 1):
        optimizers[number].step()
        trial.call_method(schedules[number], "step")
        steps[number] += 1
        for optimizer, schedule, begin, gamma, step in zip(optimizers, schedules, rates, factors, steps):
            _check_rates(trial, _rates(optimizer), [rate * gamma**step for rate in begin])
            _check_rates(trial, schedule.get_last_lr(), [rate * gamma**step for rate in begin])
            trial.equal([schedule.last_epoch, list(schedule.base_lrs)], [step, begin])
    trial.equal([saved["last_epoch"], list(saved["base_lrs"])], [0, [0.5, 0.02]])


def exponential_regrouped(trial: Trial) -> None:
    """A group that is added later takes part from then on, and gamma that is changed holds from the next step on."""
    optimizer = _optimizer(trial, [0.5])
    schedule = trial.make(optimizer, 0.8)
    trial.repeatable = False
    optimizer.step()
    trial.call_method(schedule, "step")
    optimizer.add_param_group({"params": [torch.nn.Parameter(trial.tensor(trial.random(2)))], "lr": 2.0})
    optimizer.step()
    trial.call_method(schedule, "step")
    _check_rates(trial, _rates(optimizer), [0.5 * 0.8**2, 2.0 * 0.8])
    schedule.gamma = 0.5
    optimizer.step()
    trial.call_method(schedule, "step")
    _check_rates(trial, _rates(optimizer), [0.5 * 0.8**2 * 0.5, 2.0 * 0.8 * 0.5])

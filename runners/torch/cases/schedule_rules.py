"""torch.optim.lr_scheduler.ExponentialLR: warnings, printed lines, loaded states and copies."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import warnings
from typing import Any, Callable, Mapping

from runners.core.testing.trial import Trial
from runners.torch.cases.schedules import _check_rates, _optimizer, _rates


def exponential_prints(trial: Trial) -> None:
    """With verbose it prints each new rate, else nothing. Later versions have no such option, and print nothing."""
    options = inspect.signature(trial.function).parameters
    for verbose in (False, True):
        optimizer = _optimizer(trial, [0.5])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler = trial.make(optimizer, 0.5, **({"verbose": verbose} if "verbose" in options else {}))
            optimizer.step()
            trial.repeatable = False
            trial.check(trial.call_method(scheduler, "step") is None, "expected None to be returned")
        lines = printed.getvalue().splitlines()
        trial.equal(len(lines), 2 if verbose and "verbose" in options else 0)
        for line, rate in zip(lines, ("5.0000e-01", "2.5000e-01")):
            trial.check(rate in line and "group 0" in line, f"expected group 0 and {rate} in {line!r}")
        _check_rates(trial, _rates(optimizer), [0.25])


def exponential_warns(trial: Trial) -> None:
    """A step before the first step of the optimizer warns, and so does get_lr outside of a step; a step after it does
    not."""
    optimizer = _optimizer(trial, [0.5])
    scheduler = trial.make(optimizer, 0.5)
    trial.repeatable = False
    found = _warnings(lambda: trial.call_method(scheduler, "step"))
    trial.check(any("optimizer.step()" in each for each in found), f"expected a warning of the order, got {found}")
    optimizer = _optimizer(trial, [0.5])
    scheduler = trial.make(optimizer, 0.5)
    optimizer.step()
    trial.equal(_warnings(lambda: trial.call_method(scheduler, "step")), [])
    found = _warnings(scheduler.get_lr)
    trial.check(any("get_last_lr" in each for each in found), f"expected a warning of get_lr, got {found}")
    trial.equal(_warnings(lambda: _check_rates(trial, trial.call_method(scheduler, "get_last_lr"), [0.25])), [])


def exponential_last(trial: Trial) -> None:
    """The last rates are those of its own last step, not of a later change by hand, and a loaded state has them. The
    optimizer returns what its closure returns, and the gradients and all other options stay."""
    optimizer = _optimizer(trial, [0.5, 0.02], weight_decay=0.25)
    gradients = [trial.numpy(group["params"][0].grad).copy() for group in optimizer.param_groups]
    options = [_others(group) for group in optimizer.param_groups]
    scheduler = trial.make(optimizer, 0.8)
    trial.equal(optimizer.step(lambda: 17.5), 17.5)
    trial.repeatable = False
    trial.call_method(scheduler, "step")
    optimizer.param_groups[0]["lr"] = 9.0
    _check_rates(trial, trial.call_method(scheduler, "get_last_lr"), [0.4, 0.016])
    trial.equal([_others(group) for group in optimizer.param_groups], options)
    for group, gradient in zip(optimizer.param_groups, gradients):
        trial.exact(group["params"][0].grad, gradient, "float32")
    later = trial.make(_optimizer(trial, [3.0, 4.0]), 0.1)
    later.load_state_dict(copy.deepcopy(trial.call_method(scheduler, "state_dict")))
    _check_rates(trial, trial.call_method(later, "get_last_lr"), [0.4, 0.016])


def exponential_refuses(trial: Trial) -> None:
    """A schedule without gamma raises an error, and leaves the rates as they are."""
    optimizer = _optimizer(trial, [0.5])
    trial.raises(["TypeError"], "gamma", optimizer)
    trial.equal(_rates(optimizer), [0.5])


def exponential_again(trial: Trial) -> None:
    """A copy of a schedule changes the rates of its own optimizer only. A new schedule of an optimizer that had one
    keeps the first rates and goes on from the present ones."""
    optimizer = _optimizer(trial, [0.5, 0.02])
    first = trial.make(optimizer, 0.5)
    optimizer.step()
    first.step()
    twin = copy.deepcopy(first)
    trial.repeatable = False
    _warnings(lambda: trial.call_method(twin, "step"))
    _check_rates(trial, _rates(twin.optimizer), [0.125, 0.005])
    _check_rates(trial, _rates(optimizer), [0.25, 0.01])
    second = trial.make(optimizer, 0.1)
    trial.equal([group["initial_lr"] for group in optimizer.param_groups], [0.5, 0.02])
    trial.equal([list(second.base_lrs), second.last_epoch], [[0.5, 0.02], 0])
    optimizer.step()
    trial.call_method(second, "step")
    _check_rates(trial, _rates(optimizer), [0.025, 0.001])


def _others(group: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key not in ("params", "lr", "initial_lr")}


def _warnings(work: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(each.message) for each in caught]

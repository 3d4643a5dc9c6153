"""What all optimizers share: groups that are added later, gradients that are missing, states that are stored."""

from __future__ import annotations

import io
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.optim import _Adamax
from runners.torch.cases.rprop import _Rprop

RULES: Mapping[str, Callable[..., Any]] = {"adamax": _Adamax, "rprop": _Rprop}
"""What follows the steps of each optimizer, on the host."""


def follow(trial: Trial, optimizer: Any, parameter: Any, followed: Any, steps: int) -> None:
    """Steps with random gradients of an optimizer of one parameter are those of its rule."""
    dtype = trial.dtype_name(parameter) or ""
    trial.repeatable = False
    for step in range(steps):
        gradient = trial.random(*parameter.shape, dtype=dtype, seed=20 + step)
        parameter.grad = trial.tensor(gradient)
        trial.call_method(optimizer, "step")
        trial.close(parameter, followed.step(gradient), dtype=dtype)


def uneven(trial: Trial, rule: str, options: Mapping[str, Any], dtype: str = "float32", stored: bool = False) -> None:
    """Every parameter follows its own steps and its group's options: one misses some gradients, one is added later.

    ``options``: those of the first group; a second one has the defaults. With ``stored``, another optimizer with other
    options reads the state from a file after the third step and goes on.
    """
    shapes = ((7, 33), (5,), (), (129,))
    host = [trial.random(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    rules = [RULES[rule](values, **(options if number < 2 else {})) for number, values in enumerate(host)]
    optimizer = trial.make([{"params": parameters[:2], **options}, {"params": parameters[2:3]}])
    trial.repeatable = False
    for step in range(6):
        if step == 2:
            optimizer.add_param_group({"params": parameters[3:]})
        if step == 3 and stored:
            optimizer = _through_a_file(trial, optimizer, parameters)
        for number, (parameter, followed) in enumerate(zip(parameters, rules)):
            if (number == 1 and step in (0, 3)) or (number == 3 and step < 2):
                parameter.grad = None
                continue
            gradient = trial.random(*parameter.shape, dtype=dtype, seed=50 + 10 * step + number)
            parameter.grad = trial.tensor(gradient)
            followed.step(gradient)
        trial.check(trial.call_method(optimizer, "step") is None, "expected None to be returned")
        for parameter, followed in zip(parameters, rules):
            trial.close(parameter, followed.values, dtype=dtype)
    optimizer.zero_grad()
    left = [parameter.grad for parameter in parameters if parameter.grad is not None]
    trial.check(all(not trial.numpy(gradient).any() for gradient in left), "zero_grad left a gradient")


def _through_a_file(trial: Trial, optimizer: Any, parameters: Sequence[Any]) -> Any:
    """Create another optimizer of the same groups, with other options, that loads the state of the first one."""
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    groups = (parameters[:2], parameters[2:3], parameters[3:])
    later = trial.make([{"params": group} for group in groups], lr=7.0)
    later.load_state_dict(torch.load(file))
    return later


def mixed(
    trial: Trial,
    rule: str,
    shapes: Sequence[Sequence[int]],
    dtypes: Sequence[str],
    layout: str = "contiguous",
    gradient_layout: str = "contiguous",
    repeats: int = 1,
    steps: int = 3,
    **options: Any,
) -> None:
    """Parameters of several dtypes and shapes in one group, also empty ones, and many if there are ``repeats``, each
    follow the rule in their own dtype."""
    kinds = [*zip(shapes, dtypes)] * repeats
    host = [trial.random(*shape, dtype=dtype, seed=seed) for seed, (shape, dtype) in enumerate(kinds)]
    parameters = [trial.tensor(values, layout=layout).requires_grad_() for values in host]
    rules = [RULES[rule](values, **options) for values in host]
    optimizer = trial.make(parameters, **options)
    trial.repeatable = False
    for step in range(steps):
        given = [
            trial.random(*shape, dtype=dtype, seed=1000 * (step + 1) + number)
            for number, (shape, dtype) in enumerate(kinds)
        ]
        for parameter, followed, gradient in zip(parameters, rules, given):
            parameter.grad = trial.tensor(gradient, layout=gradient_layout)
            followed.step(gradient)
        trial.call_method(optimizer, "step")
        for parameter, followed, gradient in zip(parameters, rules, given):
            trial.close(parameter, followed.values, dtype=gradient.dtype.name)
            trial.exact(parameter.grad, gradient, gradient.dtype.name)


def extreme_gradients(trial: Trial, rule: str, dtype: str, **options: Any) -> None:
    """Gradients of zero, very small and very large ones give the steps of the rule."""
    gradients = np.array(
        [[0.0, 1e-12, -1e12, 3e18, -1e-30], [-0.0, -1e-12, 1e12, 1e-8, 0.0], [0.0, 5.0, 1e-6, -2.0, 1]]
    )
    host = trial.random(5, dtype=dtype, seed=3)
    parameter, followed = trial.tensor(host).requires_grad_(), RULES[rule](host, **options)
    optimizer = trial.make([parameter], **options)
    trial.repeatable = False
    for gradient in gradients.astype(dtype):
        parameter.grad = trial.tensor(gradient)
        trial.call_method(optimizer, "step")
        trial.close(parameter, followed.step(gradient), dtype=dtype)


def nonfinite(trial: Trial, rule: str, dtype: str, many: bool = False, nan: bool = True, **options: Any) -> None:
    """NaN and infinity in a gradient or a parameter reach the elements that the rule says, then and in later steps, and
    no others.

    ``many``: the parameters are eleven instead of one. Without ``nan``, no gradient is NaN.
    """
    gradients = np.array(
        [[1, np.nan, np.inf, -np.inf, 0.5, -2, 1], [2, 1, 1, 1, np.nan, 1, -1], [1, -1, 2, 1, 1, 3, 1]]
    )
    gradients = gradients if nan else np.nan_to_num(gradients, nan=-1, posinf=np.inf, neginf=-np.inf)
    host = trial.random(7, dtype=dtype, seed=3)
    host[5:] = np.nan, -np.inf
    parameters = [trial.tensor(host).requires_grad_() for _ in range(11 if many else 1)]
    followed = RULES[rule](host, **options)
    optimizer = trial.make(parameters, **options)
    trial.repeatable = False
    for gradient in gradients.astype(dtype):
        for parameter in parameters:
            parameter.grad = trial.tensor(gradient)
        trial.call_method(optimizer, "step")
        with np.errstate(all="ignore"):
            expected = followed.step(gradient)
        for parameter in parameters:
            trial.close(parameter, expected, dtype=dtype)


def changed_state(trial: Trial, rule: str, dtype: str, entries: Mapping[str, str], **options: Any) -> None:
    """A step starts from the parameter and the state as they are, also if they were changed in place or replaced since
    the last step.

    ``entries``: the entries of the state, and how the rule calls them.
    """
    host = trial.random(4, 5, dtype=dtype, seed=1)
    parameter, followed = trial.tensor(host).requires_grad_(), RULES[rule](host, **options)
    optimizer = trial.make([parameter], **options)
    trial.repeatable = False
    for step in range(5):
        gradient = trial.random(4, 5, dtype=dtype, seed=20 + step)
        values = trial.random(4, 5, dtype=dtype, seed=40 + step)
        if step in (1, 3):
            with torch.no_grad():
                parameter.copy_(trial.tensor(values))
            followed.values = widened(values)
        if step == 2:
            parameter.data = trial.tensor(values)
            followed.values = widened(values)
        if step in (3, 4):
            for name, kept in entries.items():
                state = optimizer.state[parameter]
                if step == 3:
                    state[name].mul_(0.5)
                else:
                    state[name] = state[name] * 0.5
                setattr(followed, kept, getattr(followed, kept) * 0.5)
        parameter.grad = trial.tensor(gradient)
        trial.call_method(optimizer, "step")
        trial.close(parameter, followed.step(gradient), dtype=dtype)


def by_position(trial: Trial, rule: str, options: Mapping[str, Any], keywords: bool, dtype: str = "float64") -> None:
    """All ``options`` can be given by position, in the order of the documentation, or by keyword."""
    host = trial.random(4, 5, dtype=dtype, seed=1)
    parameter, followed = trial.tensor(host).requires_grad_(), RULES[rule](host, **options)
    optimizer = trial.make(params=[parameter], **options) if keywords else trial.make([parameter], *options.values())
    follow(trial, optimizer, parameter, followed, steps=3)


def without_rate(trial: Trial, rule: str, dtype: str, **options: Any) -> None:
    """A group with the rate 0 follows the rule, also where gradients are zero, beside a group with a rate."""
    host = [trial.random(5, dtype=dtype, seed=seed) for seed in (1, 2)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    rates = (0.0, 0.25)
    rules = [RULES[rule](values, lr=rate, **options) for values, rate in zip(host, rates)]
    groups = [{"params": [parameter], "lr": rate} for parameter, rate in zip(parameters, rates)]
    optimizer = trial.make(groups, **options)
    trial.repeatable = False
    for gradient in np.array([[0, 0.5, -2, 0, 1], [0, 0, 1, 3, 0]], dtype):
        for parameter in parameters:
            parameter.grad = trial.tensor(gradient)
        trial.call_method(optimizer, "step")
        for parameter, followed in zip(parameters, rules):
            trial.close(parameter, followed.step(gradient), dtype=dtype)


def refuses_sparse(trial: Trial) -> None:
    """A step with a sparse gradient raises an error."""
    parameter = trial.tensor(trial.random(3, 3)).requires_grad_()
    optimizer = trial.make([parameter])
    parameter.grad = trial.tensor(np.eye(3, dtype="float32")).to_sparse()
    trial.method_raises(optimizer, "step", ["RuntimeError"], "sparse")


def many_groups(trial: Trial, rule: str, count: int, dtype: str = "float64") -> None:
    """Each of many groups steps with its own rate, also the last one. The gradients stay as they are, and the
    parameters want gradients as before."""
    host = [trial.random(2, dtype=dtype, seed=number) for number in range(count)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    rates = [0.01 * (number + 1) for number in range(count)]
    rules = [RULES[rule](values, lr=rate) for values, rate in zip(host, rates)]
    optimizer = trial.make([{"params": [each], "lr": rate} for each, rate in zip(parameters, rates)])
    trial.repeatable = False
    for step in range(2):
        gradients = [trial.random(2, dtype=dtype, seed=count * (step + 1) + number) for number in range(count)]
        for parameter, followed, gradient in zip(parameters, rules, gradients):
            parameter.grad = trial.tensor(gradient)
            followed.step(gradient)
        trial.call_method(optimizer, "step")
        for parameter, followed, gradient in zip(parameters, rules, gradients):
            trial.close(parameter.detach(), followed.values, dtype=dtype)
            trial.exact(parameter.grad, gradient, dtype)
    trial.check(
        all(each.requires_grad and each.is_leaf for each in parameters), "a parameter wants no gradient any more"
    )

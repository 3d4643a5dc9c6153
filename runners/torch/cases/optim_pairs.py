"""Two optimizers in turns, options that change between steps, and states that are loaded: nothing is shared."""

from __future__ import annotations

import copy
from typing import Any, Mapping, Sequence

import numpy as np

from runners.core.testing.trial import Trial
from runners.torch.cases.lbfgs import _CURVATURE, _followed, _Problem
from runners.torch.cases.optim_groups import RULES


def side_by_side(trial: Trial, rule: str, options: Mapping[str, Any], dtype: str = "float32") -> None:
    """Two optimizers that step in turns, a different number of times, follow their own options and steps. One of them
    has the defaults."""
    shapes, own = ((7, 5), (3,)), ({**options}, {})
    host = [trial.random(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    rules = [RULES[rule](values, **given) for values, given in zip(host, own)]
    optimizers = [trial.make([parameter], **given) for parameter, given in zip(parameters, own)]
    trial.repeatable = False
    for step, number in enumerate((0, 1, 0, 0, 1, 0)):
        gradient = trial.random(*shapes[number], dtype=dtype, seed=50 + step)
        parameters[number].grad = trial.tensor(gradient)
        rules[number].step(gradient)
        trial.call_method(optimizers[number], "step")
        for parameter, followed in zip(parameters, rules):
            trial.close(parameter, followed.values, dtype=dtype)
    for number, optimizer in enumerate(optimizers):
        trial.check(list(optimizer.state) == [parameters[number]], "the state has other parameters")


def changed(trial: Trial, rule: str, dtype: str = "float32") -> None:
    """A learning rate that is changed between steps holds from the next step on, for its group only. Rprop uses it for
    the first step only."""
    optimizer = _changed(trial, rule, [{"lr": 0.25}, {"lr": 0.5}, {"lr": 0.5}, {"lr": 0.125}], {}, dtype)
    trial.equal([group["lr"] for group in optimizer.param_groups], [0.25, 0.125])


def changed_options(
    trial: Trial,
    rule: str,
    changes: Sequence[Mapping[str, Any]],
    kept: Mapping[str, str] = {},
    dtype: str = "float32",
) -> None:
    """Options of a group that are changed after each step hold from the next step on, for their group only.

    ``kept``: what the rule calls an option, where this is another name.
    """
    _changed(trial, rule, [{}, *changes], kept, dtype)


def _changed(trial: Trial, rule: str, changes: Sequence[Mapping[str, Any]], kept: Mapping[str, str], dtype: str) -> Any:
    """The optimizer of two groups, after a step for each of the changes, which are those of the second group."""
    host = [trial.random(5, dtype=dtype, seed=seed) for seed in (1, 2)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    rules = [RULES[rule](values, lr=0.25) for values in host]
    optimizer = trial.make([{"params": [parameter]} for parameter in parameters], lr=0.25)
    trial.repeatable = False
    for step, options in enumerate(changes):
        optimizer.param_groups[1].update(options)
        for name, value in options.items():
            setattr(rules[1], kept.get(name, name), value)
        for number, (parameter, followed) in enumerate(zip(parameters, rules)):
            gradient = trial.random(5, dtype=dtype, seed=60 + 10 * step + number)
            parameter.grad = trial.tensor(gradient)
            followed.step(gradient)
        trial.call_method(optimizer, "step")
        for parameter, followed in zip(parameters, rules):
            trial.close(parameter, followed.values, dtype=dtype)
    return optimizer


def loaded(trial: Trial, rule: str, options: Mapping[str, Any], dtype: str, copied: bool) -> None:
    """Two optimizers, one of which has loaded the state of the other, go on apart: steps of one do not reach the other.

    ``copied``: the state is copied before it is loaded; without it loading has to copy.
    """
    host = [trial.random(6, dtype=dtype, seed=seed) for seed in (1, 2)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    first, second = (RULES[rule](values, **options) for values in host)
    optimizer, later = (trial.make([parameter], **options) for parameter in parameters)
    trial.repeatable = False

    def step(number: int, made: Any, followed: Any, seed: int) -> None:
        gradient = trial.random(6, dtype=dtype, seed=seed)
        parameters[number].grad = trial.tensor(gradient)
        trial.call_method(made, "step")
        trial.close(parameters[number], followed.step(gradient), dtype=dtype)

    for seed in (70, 71, 72):
        step(0, optimizer, first, seed)
    state = optimizer.state_dict()
    later.load_state_dict(copy.deepcopy(state) if copied else state)
    # The second rule goes on from what the first one knows, with its own values.
    second.__dict__.update({**copy.deepcopy(vars(first)), "values": second.values})
    for number, made, followed, seed in (
        (0, optimizer, first, 73),
        (1, later, second, 74),
        (1, later, second, 75),
        (0, optimizer, first, 76),
        (1, later, second, 77),
    ):
        step(number, made, followed, seed)


def gradients_cleared(trial: Trial, grouped: bool = True) -> None:
    """zero_grad reaches the gradients of all groups of its optimizer, and no other ones: zeros, or None if that is
    asked for, in turns."""
    leaves = [trial.tensor(trial.random(4, seed=seed)).requires_grad_() for seed in range(3)]
    # LBFGS has one group only.
    optimizer = trial.make([{"params": leaf} for leaf in leaves[:2]] if grouped else leaves[:2])
    for to_none in (False, True, False):
        for seed, leaf in enumerate(leaves):
            leaf.grad = trial.tensor(trial.random(4, seed=10 + seed))
        kept = leaves[0].grad
        trial.check(trial.call_method(optimizer, "zero_grad", to_none) is None, "it returns something")
        for leaf in leaves[:2]:
            if to_none:
                trial.check(leaf.grad is None, "a gradient is left")
            else:
                trial.exact(leaf.grad, np.zeros(4), "float32")
        trial.check(to_none or leaves[0].grad is kept, "the gradient is another tensor")
        trial.exact(leaves[2].grad, trial.random(4, seed=12), "float32")


def lbfgs_side_by_side(trial: Trial) -> None:
    """Two optimizers that step in turns follow the rule with their own problems, options and histories."""
    problems = [_Problem(trial, "float64"), _Problem(trial, "float64", quartic=0.4)]
    own: Any = [{"lr": 0.8, "history_size": 2}, {"lr": 0.5, "history_size": 100}]
    points = [_followed(problem, 5, given["lr"], given["history_size"]) for problem, given in zip(problems, own)]
    optimizers = [trial.make(problem.parameters, max_iter=1, **given) for problem, given in zip(problems, own)]
    trial.repeatable = False
    steps = [0, 0]
    for number in (0, 1, 1, 0, 1, 0, 0):
        loss = trial.call_method(optimizers[number], "step", problems[number].closure)
        trial.close(loss, problems[number].value(points[number][steps[number]]), **_CURVATURE["float64"])
        steps[number] += 1
        for problem, path, step in zip(problems, points, steps):
            trial.close(problem.where(), path[step], **_CURVATURE["float64"])


def lbfgs_changed(trial: Trial) -> None:
    """Options that are changed between steps hold from the next step on: the rate and the number of iterations."""
    problem = _Problem(trial, "float64")
    optimizer = trial.make(problem.parameters, lr=1.0, max_iter=4)
    points = _followed(problem, 5, 1.0, 100)
    trial.repeatable = False
    for iterations, reached in ((2, 2), (1, 3), (2, 5)):
        optimizer.param_groups[0]["max_iter"] = iterations
        trial.call_method(optimizer, "step", problem.closure)
        trial.close(problem.where(), points[reached], **_CURVATURE["float64"])
    before = problem.where()
    optimizer.param_groups[0].update(lr=0.0, max_iter=1)
    trial.call_method(optimizer, "step", problem.closure)
    trial.equal(problem.where(), before)


def state_entries(trial: Trial, rule: str, options: Mapping[str, Any], entries: Mapping[str, str], dtype: str) -> None:
    """The state has the step and the moments of each parameter by its number over all groups, and the groups have their
    options; a parameter without a gradient has no state.

    ``entries``: the name of each entry, and what the rule calls it.
    """
    host = [trial.random(4, dtype=dtype, seed=seed) for seed in range(3)]
    parameters = [trial.tensor(values).requires_grad_() for values in host]
    rules = [RULES[rule](values, **options) for values in host]
    optimizer = trial.make([{"params": parameters[:1], "lr": 0.5}, {"params": parameters[1:]}], **options)
    rules[0] = RULES[rule](host[0], **{**options, "lr": 0.5})
    trial.repeatable = False
    for step in range(3):
        for number in (0, 2):
            gradient = trial.random(4, dtype=dtype, seed=80 + 10 * step + number)
            parameters[number].grad = trial.tensor(gradient)
            rules[number].step(gradient)
        optimizer.step()
    found = trial.call_method(optimizer, "state_dict")
    trial.equal([group["params"] for group in found["param_groups"]], [[0], [1, 2]])
    trial.equal([group["lr"] for group in found["param_groups"]], [0.5, options["lr"]])
    for name in set(options) - {"lr"}:
        wanted = options[name]
        for group in found["param_groups"]:
            trial.equal(list(group[name]) if isinstance(wanted, list) else group[name], wanted)
    trial.equal(sorted(found["state"]), [0, 2])
    for number in (0, 2):
        state = found["state"][number]
        trial.equal(float(state["step"]), 3.0)
        for name, known in entries.items():
            trial.close(state[name], getattr(rules[number], known), dtype=dtype)

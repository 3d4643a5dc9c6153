"""torch.optim.LBFGS: what ends a step, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.lbfgs import _CURVATURE, _direction, _followed, _Problem


def lbfgs_tolerance(trial: Trial, name: str) -> None:
    """It stops at the first point where the gradient is below its tolerance; or where the last step, the last change of
    the loss or the slope of the next direction is.

    ``name``: the option that ends the step; the other one is zero.
    """
    problem = _Problem(trial, "float64")
    points = _followed(problem, 12, 0.8, 100)
    if name == "tolerance_grad":
        sizes = [float(np.abs(problem.slope(point)).max()) for point in points[1:]]
    else:
        values = [float(problem.value(point)) for point in points]
        moves = [float(np.abs(later - point).max()) for point, later in zip(points, points[1:])]
        slopes = [problem.slope(point) for point in points]
        falls = [-slopes[k] @ _direction(slopes[: k + 1], points[: k + 1], 100) for k in range(1, len(points))]
        sizes = [min(move, abs(b - a), fall) for move, a, b, fall in zip(moves, values, values[1:], falls)]
    # The third new minimum ends it; the tolerance lies between it and the one before.
    lowest = [number for number, size in enumerate(sizes) if size < 0.5 * min([float("inf"), *sizes[:number]])]
    last, before = lowest[3], lowest[2]
    tolerance = (sizes[last] * min(sizes[:last])) ** 0.5
    trial.check(before < last, "the example has no place to stop")
    other = "tolerance_change" if name == "tolerance_grad" else "tolerance_grad"
    optimizer = trial.make(problem.parameters, lr=0.8, max_iter=50, **{name: tolerance, other: 0.0})
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", problem.closure)
    trial.close(returned, problem.value(problem.start), dtype="float64")
    trial.close(problem.where(), points[last + 1], **_CURVATURE["float64"])
    # The gradient is known after an evaluation at the new point, which is also that of the loss.
    trial.equal(problem.evaluations, last + 2)


def lbfgs_state(trial: Trial) -> None:
    """The state counts iterations and evaluations over all steps, and keeps no more steps than the history has."""
    problem = _Problem(trial, "float64")
    points = _followed(problem, 6, 0.9, 3)
    optimizer = trial.make(problem.parameters, lr=0.9, max_iter=2, max_eval=9, history_size=3)
    trial.repeatable = False
    for step in (1, 2, 3):
        returned = trial.call_method(optimizer, "step", problem.closure)
        trial.close(returned, problem.value(points[2 * step - 2]), **_CURVATURE["float64"])
        trial.close(problem.where(), points[2 * step], **_CURVATURE["float64"])
    (state,) = optimizer.state_dict()["state"].values()
    trial.equal([state["n_iter"], state["func_evals"]], [6, problem.evaluations])
    trial.equal([len(state["old_dirs"]), len(state["old_stps"])], [3, 3])


def lbfgs_refuses(trial: Trial, line_search: Any) -> None:
    """A step with another line search than strong_wolfe raises an error."""
    problem = _Problem(trial, "float32")
    optimizer = trial.make(problem.parameters, line_search_fn=line_search)
    trial.method_raises(optimizer, "step", ["RuntimeError"], "strong_wolfe", problem.closure)


def lbfgs_by_position(trial: Trial, keywords: bool, max_iter: int, max_eval: int) -> None:
    """All options can be given by position, in the order of the documentation, or by keyword. The iterations or the
    evaluations end the step after four iterations."""
    values: Any = {
        "lr": 0.6,
        "max_iter": max_iter,
        "max_eval": max_eval,
        "tolerance_grad": 0.0,
        "tolerance_change": 0.0,
    }
    values = {**values, "history_size": 2, "line_search_fn": None}
    problem = _Problem(trial, "float64")
    points = _followed(problem, 4, 0.6, 2)
    if keywords:
        optimizer = trial.make(params=problem.parameters, **values)
    else:
        optimizer = trial.make(problem.parameters, *values.values())
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", problem.closure)
    trial.close(returned, problem.value(problem.start), dtype="float64")
    trial.close(problem.where(), points[-1], **_CURVATURE["float64"])
    trial.equal(problem.evaluations, min(max_iter, max_eval))


def lbfgs_changed_parameters(trial: Trial, line_search: Any = None) -> None:
    """A step, also where gradients are off, starts from the parameters as they are, and returns the loss there."""
    problem = _Problem(trial, "float64")
    optimizer = trial.make(problem.parameters, lr=0.5, max_iter=3, line_search_fn=line_search)
    trial.repeatable = False
    for turn in range(3):
        before = problem.where()
        with torch.no_grad():
            returned = trial.call_method(optimizer, "step", problem.closure)
        trial.close(returned, problem.value(before), dtype="float64")
        trial.check(bool(np.abs(problem.where() - before).max() > 1e-9), "the step changed nothing")
        for number, parameter in enumerate(problem.parameters):
            values = trial.tensor(trial.random(*parameter.shape, dtype="float64", seed=30 + 2 * turn + number))
            with torch.no_grad():
                parameter.copy_(values)


def lbfgs_nan(trial: Trial) -> None:
    """A gradient that is NaN makes its element NaN."""
    parameter = trial.tensor(np.array([1.0, -2.0, 3.0])).requires_grad_()

    def closure() -> Any:
        parameter.grad = trial.tensor(np.array([0.5, np.nan, -1.0]))
        return (parameter**2).sum().detach()

    trial.repeatable = False
    returned = trial.call_method(trial.make([parameter], max_iter=1), "step", closure)
    trial.close(returned, 14.0, dtype="float64")
    trial.check(bool(np.isnan(trial.numpy(parameter)[1])), "the NaN is hidden")


def lbfgs_of_many(trial: Trial, count: int, line_search: str | None) -> None:
    """Of many parameters of different shapes each, also the last one, reaches its own target, and wants a gradient
    after the step as before."""
    shapes = [((), (3,), (2, 2))[number % 3] for number in range(count)]
    targets = [trial.random(*shape, dtype="float64", seed=100 + number) for number, shape in enumerate(shapes)]
    parameters = [trial.tensor(np.zeros(shape)).requires_grad_() for shape in shapes]
    target = np.concatenate([each.reshape(-1) for each in targets])
    aim, factors = trial.tensor(target), trial.tensor(np.arange(len(target)) % 2 + 1.0)
    optimizer = trial.make(parameters, lr=1.0, max_iter=8, line_search_fn=line_search)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (factors * (torch.cat([each.reshape(-1) for each in parameters]) - aim) ** 2).sum()
        loss.backward()
        return loss

    trial.repeatable = False
    first = trial.call_method(optimizer, "step", closure)
    trial.close(first.detach(), (trial.numpy(factors) * target**2).sum(), dtype="float64")
    for parameter, expected in zip(parameters, targets):
        trial.close(parameter.detach(), expected, rtol=1e-4, atol=1e-4, dtype="float64")
    trial.check(all(parameter.requires_grad for parameter in parameters), "a parameter wants no gradient any more")

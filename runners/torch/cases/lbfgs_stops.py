"""torch.optim.LBFGS: what ends a step, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

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

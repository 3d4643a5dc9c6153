"""torch.optim.LBFGS, compared with full matrices in NumPy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial

_CURVATURE = {"float32": {"rtol": 1e-3, "atol": 1e-3}, "float64": {"rtol": 1e-11, "atol": 1e-11}}
"""Steps divide differences of gradients by each other, which loses a few digits."""


class _Problem:
    """f(x) = x'Ax / 2 - b'x + sum(x**4) / 40 over the numbers of two parameters, on the device and on the host."""

    def __init__(self, trial: Trial, dtype: str, layout: str = "contiguous", quartic: float = 0.1) -> None:
        root = trial.random(8, 8, dtype=dtype, seed=1)
        self.matrix = root @ root.T / 8 + np.eye(8, dtype=dtype)
        self.linear = trial.random(8, dtype=dtype, seed=2)
        self.quartic = quartic
        host = [trial.random(2, 3, dtype=dtype, seed=3), trial.random(2, dtype=dtype, seed=4)]
        self.start = np.concatenate([widened(values).reshape(-1) for values in host])
        self.parameters = [trial.tensor(values, dtype, layout).requires_grad_() for values in host]
        self._trial = trial
        self._tensors = trial.tensor(self.matrix), trial.tensor(self.linear)
        self.evaluations = 0

    def closure(self) -> Any:
        for parameter in self.parameters:
            parameter.grad = None
        x = torch.cat([parameter.reshape(-1) for parameter in self.parameters])
        matrix, linear = self._tensors
        loss = (x @ (matrix @ x)) / 2 - linear @ x + self.quartic / 4 * (x**4).sum()
        loss.backward()
        self.evaluations += 1
        return loss

    def where(self) -> Any:
        return np.concatenate([widened(self._trial.numpy(parameter)).reshape(-1) for parameter in self.parameters])

    def value(self, x: Any) -> Any:
        matrix, linear = widened(self.matrix), widened(self.linear)
        return x @ matrix @ x / 2 - linear @ x + self.quartic / 4 * (x**4).sum()

    def slope(self, x: Any) -> Any:
        return widened(self.matrix) @ x - widened(self.linear) + self.quartic * x**3


def _direction(slopes: Sequence[Any], points: Sequence[Any], history: int) -> Any:
    """Return minus the inverse Hessian (Nocedal and Wright, Numerical Optimization, equation 7.16) times the
    gradient."""
    pairs = [(points[i + 1] - points[i], slopes[i + 1] - slopes[i]) for i in range(len(points) - 1)][-history:]
    inverse = np.eye(len(points[0]))
    if pairs:
        s, y = pairs[-1]
        inverse = inverse * (s @ y) / (y @ y)
    for s, y in pairs:
        turned = np.eye(len(s)) - np.outer(y, s) / (s @ y)
        inverse = turned.T @ inverse @ turned + np.outer(s, s) / (s @ y)
    return -inverse @ slopes[-1]


def _followed(problem: _Problem, iterations: int, lr: float, history: int) -> Any:
    """Return the points that the rule visits with fixed step lengths."""
    points, slopes = [problem.start], [problem.slope(problem.start)]
    for iteration in range(iterations):
        length = lr * (min(1.0, 1 / np.abs(slopes[0]).sum()) if iteration == 0 else 1.0)
        points.append(points[-1] + length * _direction(slopes, points, history))
        slopes.append(problem.slope(points[-1]))
    return points


def lbfgs_iterations(
    trial: Trial, iterations: int, dtype: str, layout: str = "contiguous", lr: float = 0.7, history_size: int = 100
) -> None:
    """One step with several iterations ends at the point of the rule and returns the loss at its start."""
    problem = _Problem(trial, dtype, layout)
    points = _followed(problem, iterations, lr, history_size)
    optimizer = trial.make(problem.parameters, lr=lr, max_iter=iterations, history_size=history_size)
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", problem.closure)
    trial.close(returned, problem.value(problem.start), dtype=dtype)
    trial.close(problem.where(), points[-1], **_CURVATURE[dtype])
    trial.equal([trial.dtype_name(parameter) for parameter in problem.parameters], [dtype, dtype])
    # The loss at the end of the last iteration is not evaluated.
    trial.equal(problem.evaluations, iterations)


def lbfgs_steps(trial: Trial, steps: int, dtype: str, history_size: int = 100) -> None:
    """Steps of one iteration each continue with the history of the earlier steps."""
    problem = _Problem(trial, dtype)
    points = _followed(problem, steps, 0.8, history_size)
    optimizer = trial.make(problem.parameters, lr=0.8, max_iter=1, history_size=history_size)
    trial.repeatable = False
    for before, after in zip(points, points[1:]):
        loss = trial.call_method(optimizer, "step", problem.closure)
        trial.close(loss, problem.value(before), dtype=dtype, **_CURVATURE[dtype])
        trial.close(problem.where(), after, **_CURVATURE[dtype])


def lbfgs_strong_wolfe(trial: Trial, steps: int, dtype: str) -> None:
    """With the line search every step follows the rule's direction and meets both Wolfe conditions."""
    problem = _Problem(trial, dtype, quartic=3.0)
    optimizer = trial.make(problem.parameters, max_iter=1, max_eval=30, line_search_fn="strong_wolfe")
    points, slopes = [problem.where()], [problem.slope(problem.start)]
    slack = 1e-3 if dtype == "float32" else 1e-9
    trial.repeatable = False
    for _ in range(steps):
        direction, here = _direction(slopes, points, 100), points[-1]
        loss = trial.call_method(optimizer, "step", problem.closure)
        trial.close(loss, problem.value(here), dtype=dtype, **_CURVATURE[dtype])
        points.append(problem.where())
        slopes.append(problem.slope(points[-1]))
        moved = points[-1] - here
        length = moved @ direction / (direction @ direction)
        trial.check(length > 0, "the step does not go along the direction")
        away = float(np.abs(moved - length * direction).max())
        trial.check(away <= slack * np.abs(moved).max() + slack, f"the step leaves its direction by {away:.3g}")
        falling = slopes[-2] @ direction
        enough = problem.value(here) + 1e-4 * length * falling + slack
        found = problem.value(points[-1])
        trial.check(found <= enough, f"expected a loss below {enough:.6g}, got {found:.6g}")
        flat = abs(slopes[-1] @ direction)
        trial.check(flat <= 0.9 * abs(falling) + slack, f"the slope fell from {falling:.4g} to {flat:.4g} only")


def lbfgs_quadratic(trial: Trial, dtype: str, line_search: Any = None) -> None:
    """On a quadratic function it finds the solution of the linear system."""
    problem = _Problem(trial, dtype, quartic=0.0)
    optimizer = trial.make(problem.parameters, max_iter=60, line_search_fn=line_search)
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", problem.closure)
    trial.close(returned, problem.value(problem.start), dtype=dtype)
    solution = np.linalg.solve(widened(problem.matrix), widened(problem.linear))
    # It stops when steps or losses change by less than 1e-9, or a float32 loss of about one by 1e-7: half the digits.
    trial.close(problem.where(), solution, rtol=0, atol=2e-3 if dtype == "float32" else 1e-4)


def lbfgs_rosenbrock(trial: Trial, dtype: str) -> None:
    """With the line search it follows the curved valley of Rosenbrock's function to the minimum at (1, 1)."""
    parameter = trial.tensor(np.array([-1.2, 1.0]), dtype).requires_grad_()

    def closure() -> Any:
        parameter.grad = None
        loss = (1 - parameter[0]) ** 2 + 100 * (parameter[1] - parameter[0] ** 2) ** 2
        loss.backward()
        return loss

    optimizer = trial.make([parameter], max_iter=100, line_search_fn="strong_wolfe")
    trial.repeatable = False
    trial.close(trial.call_method(optimizer, "step", closure), 24.2, dtype=dtype)
    trial.close(parameter, [1.0, 1.0], rtol=0, atol=1e-2 if dtype == "float32" else 1e-4, dtype=dtype)


def lbfgs_network(trial: Trial, steps: int, line_search: Any = None) -> None:
    """A small network's loss falls below a tenth, and every step returns the loss at its start."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(trial.device)
    with torch.no_grad():
        for seed, parameter in enumerate(net.parameters(), 1):
            parameter.copy_(trial.tensor(trial.random(*parameter.shape, seed=seed) / 2))
    x = trial.random(64, 2, seed=9)
    inputs, targets = trial.tensor(x), trial.tensor((np.sin(x[:, :1]) + x[:, 1:] ** 2 / 2).astype("float32"))

    def closure() -> Any:
        net.zero_grad()
        loss = ((net(inputs) - targets) ** 2).mean()
        loss.backward()
        return loss

    optimizer = trial.make(net.parameters(), lr=0.5 if line_search is None else 1.0, line_search_fn=line_search)
    trial.repeatable = False
    losses = []
    for _ in range(steps):
        before = float(trial.numpy(closure()))
        returned = trial.call_method(optimizer, "step", closure)
        trial.close(returned, before, dtype="float32")
        losses.append(before)
    losses.append(float(trial.numpy(closure())))
    trial.check(losses[-1] < 0.1 * losses[0], f"expected a last loss below a tenth of the first: {losses}")


def lbfgs_large(trial: Trial, size: int) -> None:
    """A quadratic function with three curvatures is solved in a few iterations, at any size."""
    weights = 1.0 + np.arange(size, dtype="float32") % 3
    centre = trial.random(size, seed=1)
    scale, target = trial.tensor(weights), trial.tensor(centre)
    parameter = trial.tensor(np.zeros(size, "float32")).requires_grad_()

    def closure() -> Any:
        parameter.grad = None
        # Divided, so that the short first step does not depend on the size.
        loss = (scale * (parameter - target) ** 2).mean()
        loss.backward()
        return loss

    optimizer = trial.make([parameter], lr=1, max_iter=12, line_search_fn="strong_wolfe", tolerance_change=1e-12)
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", closure)
    trial.close(returned, (widened(weights) * widened(centre) ** 2).mean(), rtol=1e-4, dtype="float32")
    trial.close(parameter, centre, rtol=0, atol=2e-3, dtype="float32")


def lbfgs_at_the_minimum(trial: Trial, dtype: str) -> None:
    """If the gradient is below its tolerance, it evaluates the loss once and changes nothing."""
    host = trial.random(4, dtype=dtype, seed=1)
    parameter, evaluations = trial.tensor(host).requires_grad_(), []

    def closure() -> Any:
        parameter.grad = None
        loss = 1e-3 * (parameter * trial.tensor(np.array([1.0, -2.0, 0.5, 0.25], dtype))).sum() + 3
        loss.backward()
        evaluations.append(1)
        return loss

    returned = trial.call_method(trial.make([parameter], tolerance_grad=0.01), "step", closure)
    expected = 3 + 1e-3 * (widened(host) @ [1.0, -2.0, 0.5, 0.25])
    trial.close(returned, expected, dtype=dtype)
    trial.exact(parameter, host, dtype)
    # The steady protocol calls it repeatedly.
    trial.equal(len(evaluations), 1)


def lbfgs_number(trial: Trial) -> None:
    """If a closure returns a plain number, step returns it."""
    problem = _Problem(trial, "float64")
    points = _followed(problem, 4, 1.0, 100)
    optimizer = trial.make(problem.parameters, max_iter=4)
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", lambda: float(trial.numpy(problem.closure())))
    trial.check(type(returned) is float, f"expected a plain number, got {type(returned).__name__}")
    trial.close(returned, problem.value(problem.start))
    trial.close(problem.where(), points[-1], **_CURVATURE["float64"])


def lbfgs_max_eval(trial: Trial, max_eval: int) -> None:
    """It stops after the allowed number of evaluations, before the iterations are used up."""
    problem = _Problem(trial, "float64")
    points = _followed(problem, max_eval - 1, 0.5, 100)
    optimizer = trial.make(problem.parameters, lr=0.5, max_iter=50, max_eval=max_eval)
    trial.repeatable = False
    returned = trial.call_method(optimizer, "step", problem.closure)
    trial.close(returned, problem.value(problem.start), dtype="float64")
    trial.equal(problem.evaluations, max_eval)
    trial.close(problem.where(), points[-1], **_CURVATURE["float64"])


def lbfgs_resumed(trial: Trial) -> None:
    """An optimizer that loads the state of another one continues in the same way."""
    problem = _Problem(trial, "float64")
    points = _followed(problem, 6, 1.0, 100)
    earlier = trial.make(problem.parameters, max_iter=4)
    earlier.step(problem.closure)
    later = trial.make(problem.parameters, lr=7.0)
    later.load_state_dict(earlier.state_dict())
    later.param_groups[0]["max_iter"] = 2
    trial.repeatable = False
    returned = trial.call_method(later, "step", problem.closure)
    trial.close(returned, problem.value(points[4]), dtype="float64")
    trial.close(problem.where(), points[-1], **_CURVATURE["float64"])


def lbfgs_idle(trial: Trial) -> None:
    """A parameter that the loss does not depend on stays unchanged; the other one follows the rule."""
    host = [trial.random(3, dtype="float64", seed=seed) for seed in (1, 2)]
    idle, parameter = (trial.tensor(values).requires_grad_() for values in host)

    def closure() -> Any:
        parameter.grad = None
        loss = (2 * parameter**2).sum()
        loss.backward()
        return loss

    trial.repeatable = False
    returned = trial.call_method(trial.make([idle, parameter], lr=0.5, max_iter=1), "step", closure)
    trial.close(returned, 2 * (host[1] ** 2).sum(), dtype="float64")
    slope = 4 * host[1]
    trial.close(parameter, host[1] - 0.5 * min(1.0, 1 / np.abs(slope).sum()) * slope, dtype="float64")
    trial.exact(idle, host[0], "float64")


def lbfgs_options(trial: Trial) -> None:
    """A new optimizer has the documented options, holds the given parameters and has not changed them."""
    host = trial.random(3)
    parameter = trial.tensor(host).requires_grad_()
    optimizer = trial.call([parameter], max_iter=16)
    trial.check(isinstance(optimizer, torch.optim.Optimizer), "not an Optimizer")
    (group,) = optimizer.param_groups
    names = ("lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size", "line_search_fn")
    trial.equal([group[name] for name in names], [1, 16, 20, 1e-7, 1e-9, 100, None])
    trial.check(len(group["params"]) == 1 and group["params"][0] is parameter, "the parameter is not in its group")
    trial.exact(parameter, host, "float32")

"""torch.optim.LBFGS: what a step does to gradients, frozen parameters and the optimizer, and how it searches."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.lbfgs import _CURVATURE, _followed, _Problem


def lbfgs_search_rate(trial: Trial, lr: float) -> None:
    """The line search first tries the step length of ``lr``, divided by the sum of the first gradient's sizes if that
    is above one."""
    problem, points = _Problem(trial, "float64"), []

    def closure() -> Any:
        points.append(problem.where())
        return problem.closure()

    optimizer = trial.make(problem.parameters, lr=lr, max_iter=1, line_search_fn="strong_wolfe")
    trial.repeatable = False
    trial.close(trial.call_method(optimizer, "step", closure), problem.value(problem.start), dtype="float64")
    slope = problem.slope(problem.start)
    trial.close(points[1], problem.start - lr * min(1.0, 1 / np.abs(slope).sum()) * slope, **_CURVATURE["float64"])


def lbfgs_sizes(trial: Trial, sizes: list[int], line_search: str | None = None) -> None:
    """Every element of parameters of odd sizes reaches its own target. The gradients that the closure leaves keep
    their values, and a frozen parameter among the others keeps its own and gets no gradient."""
    targets = [trial.random(size, dtype="float64", seed=size) for size in sizes]
    parameters = [trial.tensor(np.zeros(size)).requires_grad_() for size in sizes]
    values = trial.random(3, dtype="float64", seed=2)
    frozen = trial.tensor(values)
    aims, seen = [trial.tensor(target) for target in targets], []

    def closure() -> Any:
        for parameter in parameters:
            parameter.grad = None
        loss = sum(((parameter - aim) ** 2 * 1.5).sum() for parameter, aim in zip(parameters, aims))
        loss.backward()
        seen.extend((parameter.grad, parameter.grad.clone()) for parameter in parameters)
        return loss + frozen.sum()

    optimizer = trial.make([parameters[0], frozen, *parameters[1:]], max_iter=12, line_search_fn=line_search)
    trial.repeatable = False
    loss = trial.call_method(optimizer, "step", closure)
    trial.close(loss.detach(), values.sum() + 1.5 * sum((target**2).sum() for target in targets), dtype="float64")
    for parameter, target in zip(parameters, targets):
        trial.close(parameter.detach(), target, rtol=0, atol=1e-4, dtype="float64")
    for gradient, before in seen:
        trial.exact(gradient, trial.numpy(before), "float64")
    trial.exact(frozen, values, "float64")
    trial.equal([frozen.grad is None, frozen.requires_grad], [True, False])


def lbfgs_failed(trial: Trial) -> None:
    """An error of the closure leaves the step, which has changed nothing if it is the first evaluation. The next steps
    go on as if it had not been."""
    problem = _Problem(trial, "float64")
    points = _followed(problem, 3, 0.8, 100)
    optimizer = trial.make(problem.parameters, lr=0.8, max_iter=1)
    trial.repeatable = False

    def broken() -> Any:
        raise ArithmeticError("broken closure")

    for point, after in zip(points, points[1:]):
        trial.method_raises(optimizer, "step", ["ArithmeticError"], "broken closure", broken)
        trial.close(problem.where(), point, **_CURVATURE["float64"])
        trial.close(trial.call_method(optimizer, "step", problem.closure), problem.value(point), dtype="float64")
        trial.close(problem.where(), after, **_CURVATURE["float64"])
    trial.check(torch.is_grad_enabled(), "gradients are off after an error")


def lbfgs_saved(trial: Trial) -> None:
    """A state that was saved to a file is one of that time: another optimizer that loads it goes on from there with
    its own parameters, whatever the first one did in between, and the first one goes on too."""
    problem, later = _Problem(trial, "float64"), _Problem(trial, "float64")
    points = _followed(problem, 6, 0.8, 100)
    optimizer = trial.make(problem.parameters, lr=0.8, max_iter=4)
    optimizer.step(problem.closure)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    for own, other in zip(later.parameters, problem.parameters):
        own.data.copy_(other.data)
    optimizer.param_groups[0]["max_iter"] = 2
    trial.repeatable = False
    trial.close(trial.call_method(optimizer, "step", problem.closure), problem.value(points[4]), dtype="float64")
    resumed = trial.make(later.parameters, lr=5.0, max_iter=1)
    file.seek(0)
    resumed.load_state_dict(torch.load(file))
    trial.equal([resumed.param_groups[0][name] for name in ("lr", "max_iter", "max_eval")], [0.8, 4, 5])
    resumed.param_groups[0]["max_iter"] = 2
    trial.close(trial.call_method(resumed, "step", later.closure), problem.value(points[4]), dtype="float64")
    for each in (problem, later):
        trial.close(each.where(), points[6], **_CURVATURE["float64"])


def lbfgs_memory(trial: Trial, line_search: str | None) -> None:
    """Steps write into the memory of the parameters. They leave the gradient of the last evaluation,
    the state counts the evaluations, and the state that is taken has the very tensors of the optimizer."""
    problem = _Problem(trial, "float64")
    before = [each.data_ptr() for each in problem.parameters]
    optimizer = trial.make(problem.parameters, lr=0.8, max_iter=3, max_eval=50, line_search_fn=line_search)
    printed = repr(optimizer)
    for line in ("LBFGS", "lr: 0.8", "max_iter: 3", f"line_search_fn: {line_search}"):
        trial.check(line in printed, f"expected {line!r} in {printed}")
    trial.repeatable, points = False, []

    def closure() -> Any:
        points.append(problem.where())
        return problem.closure()

    for number in (1, 2):
        trial.call_method(optimizer, "step", closure)
        trial.equal([each.data_ptr() for each in problem.parameters], before)
        state = optimizer.state[problem.parameters[0]]
        trial.equal([state["func_evals"], state["n_iter"]], [problem.evaluations, 3 * number])
        found = np.concatenate([trial.numpy(each.grad).reshape(-1) for each in problem.parameters])
        trial.close(found, problem.slope(points[-1]), rtol=1e-11, atol=1e-11)
    taken = optimizer.state_dict()["state"][0]
    shared = [value is state[name] for name, value in taken.items() if isinstance(value, (torch.Tensor, list))]
    trial.equal(shared, [True] * len(shared))
    trial.check(len(shared) >= 3, f"the state has only {list(taken)}")


def lbfgs_sparse(trial: Trial, line_search: str | None) -> None:
    """Sparse gradients count like dense ones, beside a dense one: rows that are looked up reach their targets, the
    others keep their values."""
    aims = trial.random(3, 4, dtype="float64", seed=1)
    start, dense = trial.random(6, 4, dtype="float64", seed=2), trial.random(5, dtype="float64", seed=3)
    table, other = trial.tensor(start).requires_grad_(), trial.tensor(dense).requires_grad_()
    rows, wanted = [4, 0, 3], trial.tensor(aims)
    places = torch.tensor(rows, device=trial.device)
    optimizer = trial.make([table, other], max_iter=15, line_search_fn=line_search)

    def closure() -> Any:
        table.grad = other.grad = None
        found = torch.nn.functional.embedding(places, table, sparse=True)
        loss = ((found - wanted) ** 2).sum() * 1.5 + ((other - 2) ** 2).sum()
        loss.backward()
        return loss

    trial.repeatable = False
    loss = trial.call_method(optimizer, "step", closure)
    first = 1.5 * ((start[rows] - aims) ** 2).sum() + ((dense - 2) ** 2).sum()
    trial.close(loss.detach(), first, dtype="float64")
    expected = start.copy()
    expected[rows] = aims
    trial.close(table.detach(), expected, rtol=0, atol=1e-4, dtype="float64")
    trial.close(other.detach(), np.full(5, 2.0), rtol=0, atol=1e-4, dtype="float64")

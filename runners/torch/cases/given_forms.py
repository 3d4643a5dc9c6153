"""What is given: a generator, a prefix, factors by position, parameters that are kept, detached views."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import torch

from runners.core.testing.trial import Trial


def xavier_generator(trial: Trial) -> None:
    """A generator alone decides the draws, and the default one is not used."""
    if "generator" not in inspect.signature(torch.nn.init.xavier_uniform_).parameters:
        trial.skip("this version has no generator here")
    generator = torch.Generator(device=trial.device)
    trial.repeatable, trial.writes = False, True
    drawn = []
    for seed, default in ((5, 1), (5, 2), (6, 2)):
        torch.manual_seed(default)
        before = torch.get_rng_state()
        tensor = trial.tensor(np.zeros((20, 30), "float32"))
        trial.call(tensor, generator=generator.manual_seed(seed))
        trial.check(bool((torch.get_rng_state() == before).all()), "the default generator has moved")
        drawn.append(trial.numpy(tensor).tolist())
    trial.equal((drawn[0] == drawn[1], drawn[1] == drawn[2]), (True, False))


def state_dict_prefix(trial: Trial) -> None:
    """The prefix comes first in each name as it is, without a dot of its own, also of a new dictionary."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 3))
    for prefix in ("a", "a.", "a_b", "", "..", "a.b"):
        state = trial.call(net, prefix=prefix)
        trial.equal(list(state), [f"{prefix}0.weight", f"{prefix}0.bias"])


def address_of_detached(trial: Trial) -> None:
    """A view that is detached from a leaf or a result that wants a gradient has the address of its elements."""
    leaf = trial.tensor(trial.random(4, 6)).requires_grad_()
    for whole in (leaf, leaf * 2):
        begin = whole.storage().data_ptr()
        with torch.no_grad():
            inner = whole[1:]
        for view, offset in ((whole.detach(), 0), (whole.detach()[2], 48), (whole[1:].detach(), 24), (inner, 24)):
            trial.equal(trial.call(view), begin + offset)
        trial.equal(trial.call(whole.data), begin)


def saddmm_by_position(trial: Trial) -> None:
    """In the old form, beta comes before the first matrix and alpha before the second one."""
    hosts = [np.diag(trial.random(3, dtype="float64", seed=seed, low=1, high=2)) for seed in range(2)]
    right = trial.random(3, 3, dtype="float64", seed=2)
    added, left = (trial.tensor(host).to_sparse() for host in hosts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The form is deprecated.
        for beta, alpha in ((2.0, -3.0), (0.5, 4.0), (2, 5)):
            output = trial.call(beta, added, alpha, left, trial.tensor(right))
            trial.close(output.to_dense(), beta * hosts[0] + alpha * hosts[1] @ right, dtype="float64")


def von_mises_keeps(trial: Trial) -> None:
    """The parameters of the instance are those that were given, not copies: a change in place is seen."""
    loc, concentration = trial.tensor(np.array([0.5, 1.0])), trial.tensor(np.array([2.0, 3.0]))
    made = trial.call(loc, concentration)
    for kept, given in ((made.loc, loc), (made.concentration, concentration), (made.mean, loc)):
        trial.equal(kept.data_ptr(), given.data_ptr())


def lbfgs_nan_loss(trial: Trial) -> None:
    """A loss that is NaN is returned; the parameters follow their gradient, which is finite."""
    parameter = trial.tensor(np.array([1.0, -2.0, 3.0])).requires_grad_()
    slope = np.array([0.5, 1.0, -2.0])

    def closure() -> torch.Tensor:
        parameter.grad = trial.tensor(slope)
        return trial.tensor(np.array(np.nan))

    trial.repeatable = False
    returned = trial.call_method(trial.make([parameter], lr=0.5, max_iter=1), "step", closure)
    trial.check(bool(np.isnan(trial.numpy(returned))), "the loss is not NaN")
    # The first step is cut to a length of one in the sum of sizes.
    trial.close(parameter.detach(), np.array([1.0, -2.0, 3.0]) - 0.5 * min(1, 1 / 3.5) * slope, dtype="float64")

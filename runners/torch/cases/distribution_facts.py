"""torch.distributions.RelaxedOneHotCategorical: its attributes, copies, gradients and checks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial

_CLASSES = 3


def _logits(trial: Trial) -> Any:
    return trial.tensor(trial.random(2, _CLASSES, seed=1))


def relaxed_facts(trial: Trial) -> None:
    """It has the documented constraints, no finite support, normalized logits, and the parameter that was given. The
    methods that it lacks raise an error."""
    constraints = torch.distributions.constraints
    logits = _logits(trial)
    made = trial.call(torch.tensor(0.5).to(trial.device), logits=logits)
    trial.equal([made.has_rsample, made.has_enumerate_support, made.support.event_dim], [True, False, 1])
    trial.check(made.support is constraints.simplex, f"expected the simplex as support, got {made.support}")
    trial.check(made.arg_constraints["probs"] is constraints.simplex, "expected the simplex for probs")
    trial.equal(sorted(made.arg_constraints), ["logits", "probs"])
    trial.close(torch.logsumexp(made.logits, -1), np.zeros(2), atol=1e-6, dtype="float32")
    trial.close(made.logits - logits, np.tile(-trial.numpy(torch.logsumexp(logits, -1))[:, None], _CLASSES))
    trial.check("RelaxedOneHotCategorical(" in repr(made), f"expected the name of the class, got {made!r}")
    for name in ("enumerate_support", "mean", "variance"):
        try:
            found = getattr(made, name)
            found = found() if callable(found) else found
        except NotImplementedError:
            continue
        trial.check(False, f"expected NotImplementedError for {name}, got {found!r}")


def relaxed_draws(trial: Trial) -> None:
    """A draw without a shape has the batch's and the event's. It has no history from sample, and one that leads to
    the temperature and the logits from rsample; it is on the simplex, and its density is finite."""
    temperature, logits = torch.tensor(0.5).to(trial.device).requires_grad_(), _logits(trial).requires_grad_()
    made = trial.make(temperature, logits=logits)
    trial.repeatable = False
    for name, shape in (("sample", ()), ("rsample", ()), ("sample", (3,)), ("rsample", (2, 4))):
        draw = trial.call_method(made, name, torch.Size(shape))
        trial.equal([list(draw.shape), draw.requires_grad], [[*shape, 2, _CLASSES], name == "rsample"])
        trial.close(draw.detach().sum(-1), np.ones((*shape, 2)), dtype="float32")
        density = made.log_prob(draw.detach())
        trial.equal([list(density.shape), bool(torch.isfinite(density).all())], [[*shape, 2], True])
    plain = trial.call_method(made, "sample")
    trial.equal(list(plain.shape), [2, _CLASSES])
    weights = trial.tensor(trial.random(2, 4, 2, _CLASSES, seed=5))
    slopes = torch.autograd.grad((draw * weights).sum(), [temperature, logits])
    trial.check(all(trial.numpy(slope).any() for slope in slopes), "a parameter gets no gradient")


def relaxed_checks(trial: Trial) -> None:
    """validate_args decides whether values are checked, also after expand, which keeps the class and the
    temperature."""
    temperature = torch.tensor(0.5).to(trial.device)
    outside = trial.tensor(np.array([0.5, 0.25, 0.75], "float32"))
    for validated in (True, False):
        made = trial.make(temperature, logits=_logits(trial), validate_args=validated)
        wide = made.expand(torch.Size([4, 2]))
        trial.check(type(wide) is type(made), f"expand gave {type(wide).__name__}")
        trial.close(wide.temperature, np.float32(0.5), dtype="float32")
        for each in (made, wide):
            if validated:
                trial.method_raises(each, "log_prob", ["ValueError"], "", outside)
            else:
                density = trial.call_method(each, "log_prob", outside)
                trial.equal(list(density.shape), list(each.batch_shape))
                trial.close(density, trial.numpy(each.log_prob(outside)), dtype="float32")
    negative = trial.tensor(np.array([-0.5, 0.5, 0.75], "float32"))
    trial.raises(["ValueError"], "probs", temperature, probs=negative, validate_args=True)


def relaxed_copies(trial: Trial) -> None:
    """A deep copy and a pickled distribution have the density of the first one, also when its parameters change."""
    logits, temperature = _logits(trial), torch.tensor(0.5).to(trial.device)
    made = trial.make(temperature, logits=logits)
    point = trial.tensor(np.array([0.5, 0.25, 0.25], "float32"))
    # In PyTorch 1.12 a distribution whose density was computed cannot be pickled.
    others = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
    before = trial.numpy(made.log_prob(point)).copy()
    temperature.fill_(3.0)
    made.logits.fill_(0.0)
    trial.repeatable = False
    for other in others:
        trial.close(trial.call_method(other, "log_prob", point), before, dtype="float32")
        trial.equal([list(other.batch_shape), list(other.event_shape)], [[2], [_CLASSES]])

"""OptimizerInfo: PyTorch's own settings for its optimizers, in ``torch.testing._internal``. For PyTorch 2.3 and newer.

An optimizer takes a few steps with given gradients. Its parameters and its state are compared after the last. LBFGS and
others that call a closure get one whose gradients are those of a quadratic function.
"""

from __future__ import annotations

import operator
import warnings
from functools import lru_cache
from typing import Any, Mapping, NamedTuple, Sequence

import torch

from runners.core.testing.samples import Entry, Sample
from runners.torch.samples import internal
from runners.torch.samples.errors import refusal

PACKAGE = "torch"
NEEDS = "PyTorch 2.3 or newer"
_STEPS = 3
_SHAPES = ((4, 3), (3, 2))
_ERRORS = ".errors"
_DTYPES = ("float32", "float64")
_IN_BFLOAT16 = ("Muon",)
"""Optimizers whose steps are computed in bfloat16 whatever the parameters are: only their state is compared."""


def prepare() -> None:
    _database()


def entries() -> Sequence[Entry]:
    found = []
    for name, info in _database().items():
        found.append(Entry(name, "", [info.optim_cls], _DTYPES, ()))
        if info.optim_error_inputs_func:
            found.append(Entry(f"{name}{_ERRORS}", "errors", [info.optim_cls], ("float32",), ()))
    return found


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    refused = entry.endswith(_ERRORS)
    info = _database()[entry[: -len(_ERRORS)] if refused else entry]
    kind = getattr(torch, dtype)
    internal.seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if refused:
            return [_refused(each, kind) for each in info.optim_error_inputs_func("cpu", kind)]
        settings = info.optim_inputs_func(device="cpu")
    return [_sample(info, each.kwargs, kind) for each in settings if each.params is None]


def look(sample: Sample) -> str:
    assert isinstance(sample.body, (_Steps, _Made))
    refused = (sample.raises.kinds, sample.raises.word) if sample.raises else ()
    return internal.look((sample.args, sample.body.kwargs, refused))


class _Steps(NamedTuple):
    """A body that makes an optimizer of copies of parameters and takes steps with these gradients."""

    kwargs: Mapping[str, Any]
    closure: bool
    sparse: bool

    def __call__(self, function: Any, parameters: Sequence[Any], gradients: Sequence[Any]) -> Any:
        with torch.enable_grad():
            parameters = [each.detach().clone().requires_grad_() for each in parameters]
            optimizer = function(parameters, **self.kwargs)

            def closure() -> Any:
                optimizer.zero_grad()
                loss = sum(((one - goal) ** 2).sum() for one, goal in zip(parameters, gradients))
                loss.backward()
                return loss

            for step in range(_STEPS):
                for one, given in zip(parameters, gradients):
                    one.grad = (given * (step + 1)).to_sparse() if self.sparse else given * (step + 1)
                optimizer.step(*([closure] if self.closure else []))
        state = [[optimizer.state[one][key] for key in sorted(optimizer.state[one])] for one in parameters]
        return [each.detach() for each in parameters], state if not self.closure else []


class _Made(NamedTuple):
    """A body that only makes an optimizer of these parameters."""

    parameters: Any
    kwargs: Mapping[str, Any]

    def __call__(self, function: Any) -> Any:
        with warnings.catch_warnings():
            # Some are warnings, which the tests of PyTorch make errors.
            warnings.simplefilter("error", UserWarning)
            return function(self.parameters, **self.kwargs)


def _sample(info: Any, kwargs: Mapping[str, Any], kind: torch.dtype) -> Sample:
    parameters, gradients = ([torch.randn(shape, dtype=kind) for shape in _SHAPES] for _ in range(2))
    body = _Steps(kwargs, info.step_requires_closure, info.only_supports_sparse_grads)
    unique = operator.itemgetter(1) if info.optim_cls.__name__ in _IN_BFLOAT16 else lambda output: output
    return Sample((parameters, gradients), {}, unique, body=body)


def _refused(error: Any, kind: torch.dtype) -> Sample:
    made = error.optimizer_error_input
    parameters = [torch.nn.Parameter(torch.randn(2, 3, dtype=kind))] if made.params is None else made.params
    return Sample((), {}, lambda output: output, body=_Made(parameters, made.kwargs), raises=refusal(error))


@lru_cache(maxsize=None)
def _database() -> Mapping[str, Any]:
    """The entries by the names of their classes."""
    return {info.optim_cls.__name__: info for info in internal.internal("common_optimizers").optim_db}

"""ModuleInfo: PyTorch's own inputs for the modules of ``torch.nn``, in ``torch.testing._internal``.

For PyTorch 2.0 and newer. A module is in evaluation mode, so that dropout draws nothing, and its parameters are those
that it draws itself with a fixed seed. In entries that end in ``.training`` it is in training mode, and its buffers are
compared, too; with gradients, those of inputs and parameters.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Mapping, NamedTuple, Sequence

import torch

from runners.core.testing.samples import Entry, Sample
from runners.torch.samples import internal
from runners.torch.samples.built_modules import Built

PACKAGE = "torch"
NEEDS = "PyTorch 2.0 or newer"
_TRAINING = ".training"
_OF_TRAINING = "float32"


def prepare() -> None:
    _database()


def entries() -> Sequence[Entry]:
    found = []
    for name, info in _database().items():
        dtypes = sorted(str(dtype)[len("torch.") :] for dtype in info.dtypes)
        found.append(Entry(name, "", [info.module_cls], dtypes, ()))
        if _OF_TRAINING in dtypes:
            found.append(Entry(f"{name}{_TRAINING}", "training", [info.module_cls], (_OF_TRAINING,), (_OF_TRAINING,)))
    return found


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    training = entry.endswith(_TRAINING)
    info = _database()[entry[: -len(_TRAINING)] if training else entry]
    kind = getattr(torch, dtype)
    internal.seed()
    made = [each for each in internal.module_inputs(info, kind, training, gradient) if each.forward_input is not None]
    return [_trained(each, gradient) if training else _sample(each, kind) for each in made]


def look(sample: Sample) -> str:
    made = sample.body or sample.make
    assert isinstance(made, (_Module, Built))
    return internal.look((sample.args, sample.kwargs, made.args, made.kwargs))


class _Module(NamedTuple):
    """Makes a module of these arguments and this dtype."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    kind: torch.dtype

    def __call__(self, function: Any) -> Any:
        with torch.random.fork_rng(devices=[]):
            internal.seed()
            return function(*self.args, **self.kwargs).to(self.kind).eval()


def _sample(made: Any, kind: torch.dtype) -> Sample:
    settings, given = made.constructor_input, made.forward_input
    module = _Module(settings.args, settings.kwargs, kind)
    return Sample(given.args, given.kwargs, lambda output: output, make=module)


def _trained(made: Any, gradient: bool) -> Sample:
    settings, given = made.constructor_input, made.forward_input
    body = Built(settings.args, settings.kwargs, gradients=gradient)
    return Sample(given.args, given.kwargs, lambda output: output, body=body)


@lru_cache(maxsize=None)
def _database() -> Mapping[str, Any]:
    """The entries by name."""
    return {info.name: info for info in internal.internal("common_modules").module_db}

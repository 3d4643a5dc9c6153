"""What surrounds a call: modes and flags of PyTorch, and the random states. Cases compare them before and after."""

from __future__ import annotations

import contextlib
import functools
import random
import warnings
from typing import Any, Callable, ContextManager, Iterator, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing import tree
from runners.core.testing.trial import Trial


@contextlib.contextmanager
def _float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def _deterministic(wanted: bool) -> Iterator[None]:
    """A warning, and no error, comes from what has no deterministic algorithm on the device."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(wanted, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


SURROUNDINGS: Mapping[str, Callable[[], ContextManager[Any]]] = {
    "no gradients": torch.no_grad,
    "gradients": torch.enable_grad,
    "default dtype": _float64,
    "no gradients again": torch.no_grad,
    "anomalies": torch.autograd.detect_anomaly,
    "deterministic": functools.partial(_deterministic, True),
    "not deterministic": functools.partial(_deterministic, False),
    "inference": torch.inference_mode,
}


class _State(list):
    """The state of PyTorch's default generator, among other flags."""


def is_state(flag: Any) -> bool:
    """Whether it is the state of PyTorch's default generator."""
    return isinstance(flag, _State)


def flags_of(instance: Any, given: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """The flags of PyTorch, the random states of the host, and those of tensors and modules."""
    tensors = [leaf for leaf in tree.leaves([given, keywords]) if isinstance(leaf, torch.Tensor)]
    flags = [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        str(torch.get_default_dtype()),
        torch.is_anomaly_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.is_autocast_enabled(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.enabled,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        torch.get_num_threads(),
        str(np.geterr()),
        str(warnings.filters),
        _State(torch.get_rng_state().tolist()),
        str(np.random.get_state()),
        random.getstate(),
    ]
    if isinstance(instance, torch.nn.Module):
        tensors += [*instance.parameters(), *instance.buffers()]
        flags += [each.training for each in instance.modules()]
    return [*flags, *([each.requires_grad, each.is_leaf, each.grad is None, str(each.dtype)] for each in tensors)]


def check_flags(trial: Trial, before: Sequence[Any], after: Sequence[Any]) -> None:
    """Check that no flag has changed."""
    changed = [f"{one} became {other_one}" for one, other_one in zip(before, after) if one != other_one]
    trial.check(len(before) == len(after) and not changed, f"a flag has changed: {'; '.join(changed)[:200]}")

"""Repeats a recorded call: inputs with the recorded shapes, dtypes and facts; the host is the reference."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from runners.core.testing import derived_calls
from runners.core.testing.host_reference import compare_with_host
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial


def replay(
    trial: Trial,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    gradient: bool = False,
    autocast: str | None = None,
) -> None:
    """Calls the function with inputs made from their description, and compares with the host.

    With ``gradient``, gradients too. With ``autocast``, the call is made where PyTorch chooses this dtype for it.
    """

    def inputs(trial: Trial) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return on_device(trial, args, kwargs)

    trial.function = trial.as_function(trial.function)
    if autocast is not None:
        trial.function = _under_autocast(trial, trial.function, autocast)
    compare_with_host(trial, inputs, gradient)


def replay_of(
    trial: Trial, mutation: str, source: str, entry: str, position: int, sha256: str, **arguments: Any
) -> None:
    """Repeats a collected call, or the one that ``mutation`` derives from it (see runners.core.testing.derived_calls).

    ``source``, ``entry``, ``position`` and ``sha256`` say where the call was seen: which one of which docstring or
    file, with the digest of that text. Raises BadInput for a mutation that does not apply.
    """
    replay(trial, **derived_calls.of_arguments(arguments, mutation))


def _under_autocast(trial: Trial, function: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with trial.autocast(dtype):
            return function(*args, **kwargs)

    return call

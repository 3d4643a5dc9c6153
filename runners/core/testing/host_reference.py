"""Compares a call on the device with what the host computes from the same inputs.

The reference is the same function of the same version on the host's CPU, in float64 where it takes that. This is weaker
than an independent reference: what the framework computes wrong everywhere is not noticed. So results of such tests are
never pooled with others.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from runners.core.testing import compare, tree
from runners.core.testing.trial import Trial

_MARGIN = 10.0
"""An output may be this many times less precise than the host's own output in the same dtype."""

_OTHER_DRAW = 0.01
"""If most elements in float64 differ by more than this fraction, they are other random numbers."""

Inputs = Callable[[Trial], Tuple[Sequence[Any], Mapping[str, Any]]]
"""Makes the arguments of a call, positional and named, on the trial's present device and in its present precision."""


class _Outputs(NamedTuple):
    """What a call left: host arrays and plain values, each with the name of its dtype, or None for a plain value."""

    values: Sequence[Any]
    dtypes: Sequence[str | None]


class _Asked(NamedTuple):
    """What a test calls, and what of it is compared."""

    inputs: Inputs
    gradient: bool
    unique: Callable[[Any], Any]
    instance: Callable[[Trial], Any] | None
    body: Callable[..., Any] | None

    def on_device(self, trial: Trial) -> Any:
        """What the timed call returned, the gradients, and what it left of its arguments."""
        if self.instance is not None:
            return self._called(trial, functools.partial(trial.call_method, self.instance(trial), "__call__"))
        return self._called(trial, trial.call_inside if self._is_inside else trial.call)

    def on_host(self, trial: Trial) -> Any:
        """The same of a call that is not timed."""
        function = trial.function if self.instance is None else self.instance(trial)
        return self._called(trial, (lambda body: body(function)) if self._is_inside else function)

    @property
    def _is_inside(self) -> bool:
        return self.gradient or self.body is not None

    def _called(self, trial: Trial, call: Callable[..., Any]) -> Any:
        args, kwargs = self.inputs(trial)
        if not self._is_inside:
            return self.unique(call(*args, **kwargs)), (args, kwargs)

        def body(function: Callable[..., Any]) -> Any:
            called = function if self.body is None else functools.partial(self.body, function)
            if not self.gradient:
                return self.unique(called(*args, **kwargs)), (args, kwargs)
            return trial.with_gradients(lambda *args, **kwargs: self.unique(called(*args, **kwargs)), args, kwargs)

        return call(body)


def compare_with_host(
    trial: Trial,
    inputs: Inputs,
    gradient: bool = False,
    unique: Callable[[Any], Any] = lambda output: output,
    instance: Callable[[Trial], Any] | None = None,
    body: Callable[..., Any] | None = None,
) -> None:
    """Calls the trial's function on the device and on the host. Compares all that it returns or writes into.

    With ``gradient``, also the gradients of the sum of its outputs. ``unique`` gives the part of an output that is the
    same wherever it is computed. Where the function is a class, ``instance`` makes the object that is called, on the
    trial's present device; gradients need a function or a ``body``, which is called in its place with it and the
    arguments (see runners.core.testing.samples.Sample). If two calls on the host differ, as those of a
    random function do, only dtypes and shapes count. Skips the test if the host cannot repeat the call.
    """
    # A second call may get other arguments than the first, which wrote into them.
    trial.repeatable = False
    asked = _Asked(inputs, gradient, unique, instance, body)
    found = _read(trial, asked.on_device(trial))
    try:
        same = _on_host(trial, asked)
    except Exception as error:
        trial.skip(f"the CPU does not repeat the call: {type(error).__name__}: {str(error)[:200]}")
    is_random = getattr(trial.function, "draws_differ", False) or any(
        not _equal(same, _on_host(trial, asked, seed=seed)) for seed in range(1, 1 + _draws(trial.function))
    )
    try:
        wide = _on_host(trial, asked, wide=True)
    except Exception:
        # Not every function takes float64.
        wide = same
    _compare(trial, found, same, wide, is_random)


def _draws(function: Any) -> int:
    """With how many other seeds the host must give the same until a function counts as not random. One that turns an
    image or leaves it as it is gives the same with every second seed."""
    return 10 if "random" in getattr(function, "__name__", "").lower() else 1


def _read(trial: Trial, output: Any) -> _Outputs:
    leaves = list(tree.leaves(output))
    values = [trial.numpy(leaf) for leaf in leaves]
    names = [trial.dtype_name(leaf) for leaf in leaves]
    arrays = [value.dtype.name if isinstance(value, np.ndarray) else None for value in values]
    return _Outputs(values, [name or array for name, array in zip(names, arrays)])


def _on_host(trial: Trial, asked: _Asked, wide: bool = False, seed: int = 0) -> _Outputs:
    with trial.on_host(wide, seed):
        return _read(trial, asked.on_host(trial))


def _equal(first: _Outputs, second: _Outputs) -> bool:
    try:
        compare.check_equal(first.values, second.values)
    except compare.Mismatch:
        return False
    return True


def _compare(trial: Trial, found: _Outputs, same: _Outputs, wide: _Outputs, is_random: bool) -> None:
    count = len(same.values)
    trial.check(len(found.values) == count, f"expected {count} outputs, got {len(found.values)}")
    for actual, expected, reference, found_dtype, dtype in zip(
        found.values, same.values, wide.values, found.dtypes, same.dtypes
    ):
        if dtype is None:
            trial.check(is_random or _plain(actual) == _plain(expected), f"expected {expected!r}, got {actual!r}"[:300])
            continue
        actual = np.asarray(actual)
        trial.checks += 1
        compare.check_dtype(found_dtype, dtype)
        if actual.shape != expected.shape:
            raise compare.Mismatch(f"shape: expected {list(expected.shape)}, got {list(actual.shape)}")
        if not is_random:
            _close(actual, expected, np.asarray(reference), dtype)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, str, type(None))) else type(value).__name__


def _close(actual: Any, same: Any, wide: Any, dtype: str) -> None:
    """Compares with the reference in float64, by the tolerance of the dtype and by what the host's own output loses."""
    if dtype not in compare.TOLERANCES:
        compare.check_values(actual, same, dtype)
        return
    if wide.shape != same.shape or wide.dtype.kind != same.dtype.kind:
        wide = same
    rtol, atol = compare.TOLERANCES[dtype]
    with np.errstate(all="ignore"):
        wide = compare.with_overflow(actual, wide, dtype)
        lost = np.abs(wide - same)
        if lost.size and np.mean(lost > _OTHER_DRAW * np.abs(same)) > 0.5:
            # Other bits of a key are drawn for float64: the host's own draw is the reference.
            wide, lost = same, np.zeros(())
    finite = lost[np.isfinite(lost)]
    compare.check_values(actual, wide, dtype, rtol, max(atol, _MARGIN * float(np.max(finite, initial=0.0))))

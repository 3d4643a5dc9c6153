"""What a case gets: the function under test, the device, tensors, the clock and the checks.

A case is a Python function ``case(trial, **parameters)``. It builds its inputs with ``trial.tensor``, lets the
manifest's function work in ``trial.call`` or one of its siblings (only these are timed, and they call only that
function), reads back with ``trial.numpy`` and checks with ``trial.close``, ``trial.equal`` or ``trial.check``. A case
never names a device. A case that checks nothing fails.
"""

from __future__ import annotations

import functools
import mmap
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, NoReturn, Sequence

from runners.core.adapter import Adapter
from runners.core.result import PHASES, TimedCall
from runners.core.testing import timing, tree
from runners.core.testing.mutants import Mutant

if TYPE_CHECKING:
    from numpy import ndarray

_WAIT = PHASES.index("wait")


class Skip(Exception):
    """The test cannot run on this target; the message says why."""


class MisusedTrial(Exception):
    """A case broke the rules: it timed nothing, checked nothing, or timed something other than its function."""

    recorded_as = "runners.core.trial.MisusedTrial"


class _Timed(NamedTuple):
    call: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    repeatable: bool


Observer = Callable[[Callable[[], Any]], Any]
"""Makes the call that it is given, a functools.partial, and returns its output."""

_WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


class Trial:
    """One test in a worker.

    ``framework`` is a name, ``function`` the manifest's function, ``device`` the framework's device object. A case sets
    ``repeatable`` to False before a call that cannot be made twice with the same arguments: it has no steady time.

    With a ``mutant``, the mutated function is timed. ``wait`` ends a timed region; the default is the adapter's. An
    ``observer`` makes the calls instead, and nothing is timed. With ``float64_mode``, tensors are float64 or complex128
    even if the case asks for less precision.

    The worker reads ``calls``, the timed calls, and ``locations``, where outputs of the calls were.
    """

    def __init__(
        self,
        framework: str,
        function: Any,
        adapter: Adapter,
        device: Any,
        phase: mmap.mmap,
        clock: timing.Clock,
        mutant: Mutant | None = None,
        wait: Callable[[Any], None] | None = None,
        observer: Observer | None = None,
        float64_mode: bool = False,
    ) -> None:
        self.framework = framework
        self.function = function
        self.device = device
        self.repeatable = True
        self.calls: list[TimedCall] = []
        self.checks = 0
        self._adapter = adapter
        self._phase = phase
        self._clock = clock
        self._mutant = mutant
        self._wait = wait or adapter.wait
        self._observer = observer
        self._float64_mode = float64_mode
        self._timed: list[_Timed] = []
        self.locations: set[str] = set()
        self._enter("inputs")

    # Inputs

    def random(
        self,
        *shape: int,
        dtype: str = "float32",
        seed: int = 0,
        low: float | None = None,
        high: float | None = None,
    ) -> ndarray[Any, Any]:
        """A random host array: the same for the same arguments on every machine and version (see arrays.random)."""
        from runners.core.testing import arrays

        return arrays.random(shape, dtype, seed, low, high)  # type: ignore[no-any-return]

    def tensor(self, values: Any, dtype: str | None = None, layout: str = "contiguous") -> Any:
        """A tensor on the target's device with the values of a host array or nested list.

        ``dtype`` may be any that the framework has, also bfloat16; the default is the array's own.
        """
        import numpy as np

        array = np.asarray(values)
        before = self._enter("move")
        moved = self._adapter.tensor(array, self._dtype_of_mode(dtype or array.dtype.name), self.device, layout)
        self._adapter.wait(moved)
        self._phase[0] = before
        return moved

    def dtype(self, name: str) -> Any:
        """The framework's dtype object of a name such as ``bfloat16``."""
        return self._adapter.dtype(self._dtype_of_mode(name))

    def _dtype_of_mode(self, dtype: str) -> str:
        return _WIDER.get(dtype, dtype) if self._float64_mode else dtype

    # The function under test

    def make(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function without timing it, for an instance of a class whose methods are timed."""
        before = self._enter("call")
        made = self.function(*args, **kwargs)
        self._phase[0] = before
        return made

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Times one call of the function."""
        return self._time(self._under_test(self.function), args, kwargs)

    def call_method(self, instance: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Times one call of a method of ``instance``, which is an instance of the function (a class), or the function
        itself (a module). Raises MisusedTrial for anything else."""
        of_class = isinstance(self.function, type) and isinstance(instance, self.function)
        if not of_class and not (isinstance(instance, ModuleType) and instance is self.function):
            raise MisusedTrial(f"{type(instance).__name__} is no instance of the function under test")
        return self._time(self._under_test(getattr(instance, name)), args, kwargs)

    def call_inside(self, body: Callable[..., Any], *args: Any) -> Any:
        """Times ``body(function, *args)``, for a function that works only inside something else: a collective inside a
        mapped function, a context manager around a computation. Raises MisusedTrial if ``body`` did not call it."""
        reached = False
        function = self._under_test(self.function)

        def noted(*inner_args: Any, **inner_kwargs: Any) -> Any:
            nonlocal reached
            reached = True
            return function(*inner_args, **inner_kwargs)

        output = self._time(body, (noted, *args), {})
        if not reached:
            raise MisusedTrial("the timed body did not call the function under test")
        return output

    def _under_test(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._mutant.of(function) if self._mutant else function

    def _time(self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        adapter = self._adapter
        self._enter("move")
        # Work that began before must not end inside the timed region.
        adapter.wait((args, kwargs))
        self._enter("call")
        if self._observer is not None:
            output = self._observer(functools.partial(call, *args, **kwargs))
        else:
            output = self._timed_call(call, args, kwargs)
        self._enter("compare")
        self.locations.update(filter(None, map(adapter.location, tree.leaves(output))))
        return output

    def _timed_call(self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        def wait(output: Any) -> None:
            self._phase[0] = _WAIT
            self._wait(output)

        counted = self._adapter.counters()
        output, call_ns, wait_ns = timing.cold(self._clock, call, wait, args, kwargs)
        self._enter("compare")
        counters = timing.gained(counted, self._adapter.counters())
        cold = {"call_ns": call_ns, "wait_ns": wait_ns, "counters": counters}
        self.calls.append({"cold": cold, "steady": None, "observed": None})
        self._timed.append(_Timed(call, args, kwargs, self.repeatable))
        return output

    # Checks

    def numpy(self, output: Any) -> Any:
        """Brings a (nested) output to the host: the same nesting with NumPy arrays in place of tensors."""
        before = self._enter("read_back")
        adapter = self._adapter
        read = tree.mapped(lambda leaf: leaf if adapter.dtype_name(leaf) is None else adapter.to_numpy(leaf), output)
        self._phase[0] = before
        return read

    def dtype_name(self, tensor: Any) -> str | None:
        """``float32`` and so on; None for what is no tensor."""
        return self._adapter.dtype_name(tensor)

    def close(
        self, actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, dtype: str = ""
    ) -> None:
        """Checks a tensor against a host array: same dtype kind, same shape, values close. Raises Mismatch.

        The default tolerances are those of the tensor's dtype (see compare.TOLERANCES). With ``dtype``, the tensor must
        have exactly that dtype.
        """
        from runners.core.testing import compare

        self._enter("compare")
        self.checks += 1
        name = self._adapter.dtype_name(actual)
        if dtype:
            compare.check_dtype(name, dtype)
        compare.check_values(self.numpy(actual), expected, name or "float64", rtol, atol)

    def equal(self, actual: Any, expected: Any) -> None:
        """Checks that nested tensors, host arrays and plain values are the same. Raises Mismatch."""
        from runners.core.testing import compare

        self._enter("compare")
        self.checks += 1
        compare.check_equal(self.numpy(actual), self.numpy(expected))

    def check(self, condition: Any, message: str) -> None:
        """Checks a condition on the output. Raises AssertionError with the message, which should say what was expected
        and what was found."""
        self._enter("compare")
        self.checks += 1
        if not condition:
            raise AssertionError(message)

    def skip(self, reason: str) -> NoReturn:
        """Ends the test as skipped."""
        raise Skip(reason)

    # For the worker

    def measure_steady(self, budget_ns: int) -> None:
        """Measures the steady time of each repeatable call, after the case has passed."""
        self._enter("call")
        for record, timed in zip(self.calls, self._timed):
            if timed.repeatable:
                record["steady"] = timing.steady(
                    self._clock, timed.call, self._wait, timed.args, timed.kwargs, budget_ns, self._adapter.counters
                )

    def finish(self) -> None:
        """Raises MisusedTrial for a case that timed or checked nothing."""
        if not self.calls:
            raise MisusedTrial("the case did not call its function through the trial")
        if not self.checks:
            raise MisusedTrial("the case checked nothing")

    def _enter(self, phase: str) -> int:
        before = self._phase[0]
        self._phase[0] = PHASES.index(phase)
        return before

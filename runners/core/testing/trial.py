"""What a case gets: the function under test, the device, tensors, the clock and the checks.

A case is a Python function ``case(trial, **parameters)``. It builds its inputs with ``trial.tensor``, lets the
manifest's function work in ``trial.call`` or one of its siblings (only these are timed, and they call only that
function), reads back with ``trial.numpy`` and checks with ``trial.close``, ``trial.exact``, ``trial.equal`` or
``trial.check``. A case never names a device. A case that checks nothing fails.
"""

from __future__ import annotations

import contextlib
import functools
import math
import mmap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterator, Mapping, NamedTuple, NoReturn, Sequence

from runners.core.adapter import Adapter
from runners.core.programs import Program
from runners.core.result import PHASES, TimedCall
from runners.core.testing import timing, tree
from runners.core.testing.mutation import Mutation

if TYPE_CHECKING:
    from numpy import ndarray

    from runners.core.testing.repeats import Leaf

_WAIT = PHASES.index("wait")


class Skip(Exception):
    """The test cannot run on this target; the message says why."""


class MisusedTrial(Exception):
    """A case broke the rules: it timed nothing, checked nothing, or timed something other than its function."""

    recorded_as = "runners.core.trial.MisusedTrial"


class Accepted(Exception):
    """The function accepted what it must refuse, or refused it with another error."""

    recorded_as = "runners.core.trial.Accepted"


class _Timed(NamedTuple):
    call: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    repeatable: bool


class _Kept(NamedTuple):
    timed: _Timed
    output: Any
    copied: Sequence[Leaf]


Observer = Callable[[Callable[[], Any]], Any]
"""Makes the call that it is given, a functools.partial, and returns its output."""

MOST_STEADY = 2
"""How many calls of a test have a steady state. A test that makes more compares what its calls leave behind."""

_OTHER_SEEDS = 1_000_000

_WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


class Trial:
    """One test in a worker.

    ``framework`` is a name, ``function`` the manifest's function, ``device`` the framework's device object. A case sets
    ``repeatable`` to False before a call that cannot be made twice with the same arguments: it has no steady time. It
    sets ``writes`` to True before a call that may change its arguments: another one fails if it does.

    With a ``mutant``, the mutated function is timed. ``wait`` ends a timed region; the default is the adapter's. An
    ``observer`` makes the calls instead, and nothing is timed. With ``float64_mode``, tensors are float64 or complex128
    even if the case asks for less precision. With ``other_values``, random inputs have other values of the same shapes.

    The worker reads ``calls``, the timed calls, ``locations``, where outputs of the calls were, and ``bytes``, those of
    all tensors that the repeatable calls took and returned: it sets this to 0 before, if they shall be counted.
    ``has_random_inputs`` says whether the case would get others with ``other_values``.
    """

    def __init__(
        self,
        framework: str,
        function: Any,
        adapter: Adapter,
        device: Any,
        phase: mmap.mmap,
        clock: timing.Clock,
        mutant: Mutation | None = None,
        wait: Callable[[Any], None] | None = None,
        observer: Observer | None = None,
        float64_mode: bool = False,
        other_values: bool = False,
    ) -> None:
        self.framework = framework
        self.function = function
        self.device = device
        self.repeatable = True
        self.writes = False
        self.calls: list[TimedCall] = []
        self.checks = 0
        self.refusals = 0
        self.bytes: int | None = None
        self._adapter = adapter
        self._phase = phase
        self._clock = clock
        self._mutant = mutant
        self._wait = wait or adapter.wait
        self._observer = observer
        self._float64_mode = float64_mode
        self._seeds_from = _OTHER_SEEDS if other_values else 0
        self.has_random_inputs = False
        self._timed: list[_Timed] = []
        self._kept: list[_Kept] = []
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
        special: str | None = None,
    ) -> ndarray[Any, Any]:
        """A random host array: the same for the same arguments on every machine and version (see arrays.random).

        With ``special``, it has values at which devices differ (see arrays.with_special)."""
        from runners.core.testing import arrays

        array = arrays.random(shape, dtype, self.seed(seed), low, high)
        return arrays.with_special(array, dtype, special) if special else array  # type: ignore[no-any-return]

    def seed(self, number: int) -> int:
        """The seed to make random inputs from: the number itself, or another one if the trial has ``other_values``."""
        self.has_random_inputs = True
        return self._seeds_from + number

    def tensor(
        self,
        values: Any,
        dtype: str | None = None,
        layout: str = "contiguous",
        order: Sequence[int] | None = None,
        requires_grad: bool = False,
    ) -> Any:
        """A tensor on the target's device with the values of a host array or nested list.

        ``dtype`` may be any that the framework has, also bfloat16; the default is the array's own. ``order`` has the
        axes from the slowest to the fastest in memory. With ``requires_grad``, gradients of it are wanted.
        """
        import numpy as np

        array = np.asarray(values)
        before = self._enter("move")
        moved = self._adapter.tensor(array, self._dtype_of_mode(dtype or array.dtype.name), self.device, layout)
        if order is not None:
            moved = self._adapter.in_memory_order(moved, order)
        if requires_grad:
            moved = self._adapter.differentiable(moved)
        self._adapter.wait(moved)
        self._phase[0] = before
        return moved

    @property
    def is_on_host(self) -> bool:
        """Whether the target's device is the host's CPU."""
        return bool(self.device == self._adapter.host_device())

    def copied_to_device(self, value: Any) -> Any:
        """A nested value of the host with copies of its tensors on the target's device, with their strides where the
        device has any."""
        before = self._enter("move")
        copies = tree.mapped(lambda leaf: self._adapter.copied_to(leaf, self.device, self._dtype_of_mode), value)
        self._adapter.wait(copies)
        self._phase[0] = before
        return copies

    def dtype(self, name: str) -> Any:
        """The framework's dtype object of a name such as ``bfloat16``."""
        return self._adapter.dtype(self._dtype_of_mode(name))

    def _dtype_of_mode(self, dtype: str) -> str:
        return _WIDER.get(dtype, dtype) if self._float64_mode else dtype

    @contextlib.contextmanager
    def on_host(self, wide: bool = False, seed: int = 0) -> Iterator[None]:
        """A context in which tensors are made on the host's CPU, with ``wide`` as float64 or complex128.

        ``seed`` is that of the framework's random state.
        """
        before = self.device, self._float64_mode, self._enter("compare")
        self.device, self._float64_mode = self._adapter.host_device(), wide
        try:
            with contextlib.ExitStack() as stack:
                if wide:
                    stack.enter_context(self._adapter.float64_mode())
                stack.enter_context(self._adapter.scope(self.device))
                self._adapter.seed(seed)
                yield
        finally:
            self.device, self._float64_mode, self._phase[0] = before

    def with_gradients(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Output, gradients and arguments of a call (see runners.core.adapter.Adapter)."""
        return self._adapter.with_gradients(function, args, kwargs)

    def autocast(self, dtype: str) -> ContextManager[object]:
        """A context in which the framework chooses this dtype for calls that take it (PyTorch)."""
        return self._adapter.autocast(self.device, dtype)  # type: ignore[attr-defined, no-any-return]

    def as_function(self, found: Any) -> Callable[..., Any]:
        """A callable for what a recording names."""
        return self._adapter.as_function(found)

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

    def time_later(self, name: str, work: Callable[[], Any]) -> Any:
        """Does work that the last timed call has only prepared, and times it apart from that call: as the counters
        ``NAME_runs``, ``NAME_first_ns`` and ``NAME_ns``, the time of all runs, of its first call."""
        if not self.calls:
            return work()
        before = self._enter("call")
        begin = self._clock()
        output = work()
        took = self._clock() - begin
        self._phase[0] = before
        record = self.calls[-1]
        if record["cold"]:
            counters = {f"{name}_first_ns": took, **record["cold"]["counters"]}
            for key, gain in ((f"{name}_runs", 1), (f"{name}_ns", took)):
                counters[key] = counters.get(key, 0) + gain
            record["cold"] = {**record["cold"], "counters": counters}
        return output

    def raises(self, kinds: Sequence[str], word: str, *args: Any, **kwargs: Any) -> None:
        """Calls the function, untimed, and checks that it raises an error: one of the classes with these names or of a
        subclass, with the word in its message, in capitals or not. Raises Accepted if it does not.

        An error that arrives by the end of the wait or of reading the output counts, since accelerators compute later.
        Skips the test where the call is only predicted: whether a device refuses a call is known when it is made.
        """
        self._raises(kinds, word, functools.partial(self._under_test(self.function), *args, **kwargs))

    def raises_inside(
        self, kinds: Sequence[str], word: str, body: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        """The same of ``body(function, ...)``, for a class whose instance raises the error."""
        self._raises(kinds, word, functools.partial(body, self._under_test(self.function), *args, **kwargs))

    def method_raises(self, instance: Any, name: str, kinds: Sequence[str], word: str, *args: Any) -> None:
        """The same of a method of ``instance``, which is an instance of the function (a class). Raises MisusedTrial
        for anything else."""
        if not (isinstance(self.function, type) and isinstance(instance, self.function)):
            raise MisusedTrial(f"{type(instance).__name__} is no instance of the function under test")
        self._raises(kinds, word, functools.partial(self._under_test(getattr(instance, name)), *args))

    def _raises(self, kinds: Sequence[str], word: str, call: Callable[[], Any]) -> None:
        if self.is_predicted:
            self.skip("a call that must raise an error is not predicted")
        self._enter("call")
        try:
            output = self._observer(call) if self._observer else call()
            self._wait(output)
            self.numpy(output)
        except Exception as error:
            self._enter("compare")
            self.checks += 1
            self.refusals += 1
            names = {kind.__name__ for kind in type(error).__mro__}
            if names.isdisjoint(kinds):
                raise Accepted(f"expected {' or '.join(kinds)}, got {type(error).__name__}: {error}") from error
            if word.lower() not in str(error).lower():
                raise Accepted(f"expected {word!r} in the message of {type(error).__name__}: {error}") from error
        else:
            self._enter("compare")
            about = f" about {word!r}" if word else ""
            raise Accepted(f"expected {' or '.join(kinds)}{about}, got no error")

    def compile_program(self, modules: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        """Has a whole program compiled for the device, which is timed like a call; see Program. Raises Absent where
        there is none for the device, and what the framework raises."""
        self.repeatable = False
        compiler = getattr(self._adapter, "compile_program", None)
        self._time(Program(modules, folder, compiler and functools.partial(compiler, self.device)), (), {})
        self.checks += 1

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
            unchanged = self._remembered([args, {key: value for key, value in kwargs.items() if key != "out"}])
            output = self._timed_call(call, args, kwargs)
            unchanged()
        self._enter("compare")
        self.locations.update(filter(None, map(adapter.location, tree.leaves(output))))
        if self.bytes is not None and self.repeatable:
            self.bytes += sum(map(self._bytes_of, tree.leaves((args, kwargs, output))))
        return output

    def _remembered(self, arguments: Any) -> Callable[[], None]:
        """Copies the tensors among the arguments of a call, where a framework's tensors can be changed. What it returns
        raises repeats.Overwritten if the call has changed one."""
        if not getattr(self._adapter, "TENSORS_CHANGE", False) or self.writes or not self.repeatable:
            return lambda: None
        from runners.core.testing import compare

        def is_readable(leaf: Any) -> bool:
            name = self._adapter.dtype_name(leaf)
            return name is not None and (name in compare.TOLERANCES or name.startswith(("int", "uint", "bool")))

        tensors = list(filter(is_readable, tree.leaves(arguments)))
        before = [self._adapter.to_numpy(tensor).copy() for tensor in tensors]

        def check() -> None:
            from runners.core.testing import repeats

            self._enter("compare")
            for number, (tensor, array) in enumerate(zip(tensors, before)):
                repeats.check_unchanged(f"{number} that is a tensor", array, self._adapter.to_numpy(tensor))

        return check

    def _bytes_of(self, leaf: Any) -> int:
        from runners.core.testing import arrays

        name = self._adapter.dtype_name(leaf)
        return 0 if name is None else math.prod(leaf.shape) * arrays.item_bytes(name)

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

    @property
    def is_timed(self) -> bool:
        """Whether calls are made and timed here, not observed or predicted."""
        return self._observer is None

    @property
    def is_predicted(self) -> bool:
        """Whether calls are only looked at, for a device that is absent."""
        return bool(getattr(self._observer, "is_prediction", False))

    def keep(self, output: Any) -> None:
        """Keeps the output of the last timed call: ``check_repeats`` compares it with that of another call."""
        if self._timed:
            self._kept.append(_Kept(self._timed[-1], output, self._copied(output)))

    def _copied(self, output: Any) -> Sequence[Leaf]:
        import numpy as np

        from runners.core.testing.repeats import Leaf

        before = self._enter("read_back")
        copied = []
        for leaf in tree.leaves(output):
            name = self._adapter.dtype_name(leaf)
            if name is not None:
                # A copy: the framework may use the memory of the output again.
                copied.append(Leaf(name, np.array(self._adapter.to_numpy(leaf))))
            elif isinstance(leaf, (bool, int, float, complex, np.number)):
                copied.append(Leaf(type(leaf).__name__, np.array(leaf)))
        self._phase[0] = before
        return copied

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
        self,
        actual: Any,
        expected: Any,
        rtol: float | None = None,
        atol: float | None = None,
        dtype: str = "",
        signed_zeros: bool = False,
    ) -> None:
        """Checks a tensor against a host array: same dtype kind, same shape, values close. Raises Mismatch.

        The default tolerances are those of the tensor's dtype (see compare.TOLERANCES). With ``dtype``, the tensor must
        have exactly that dtype. With ``signed_zeros``, zeros must have the sign of the expected ones.
        """
        from runners.core.testing import compare

        self._enter("compare")
        self.checks += 1
        name = self._adapter.dtype_name(actual)
        if dtype:
            compare.check_dtype(name, dtype)
        found = self.numpy(actual)
        compare.check_values(found, expected, name or "float64", rtol, atol)
        if signed_zeros:
            compare.check_signs_of_zeros(found, expected)

    def exact(self, actual: Any, expected: Any, dtype: str = "") -> None:
        """Checks a tensor whose values were moved, not computed: every value is the same, and so are the signs of
        zeros. With ``dtype``, the tensor must have it. Raises Mismatch."""
        self.close(actual, expected, rtol=0.0, atol=0.0, dtype=dtype, signed_zeros=True)

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
        """Measures the steady time of the first MOST_STEADY repeatable calls, after the case has passed."""
        self._enter("call")
        repeatable = [(record, timed) for record, timed in zip(self.calls, self._timed) if timed.repeatable]
        for record, timed in repeatable[:MOST_STEADY]:
            record["steady"] = timing.steady(
                self._clock, timed.call, self._wait, timed.args, timed.kwargs, budget_ns, self._adapter.counters
            )

    def check_repeats(self, seed: int) -> None:
        """Makes each kept call once more, untimed. Raises Unstable if its output is another one. ``seed`` is that of
        the framework's random state before the test."""
        from runners.core.testing import repeats

        if self._mutant:
            self._mutant.is_repeat = True
        for timed, _, first in self._kept:

            def again(timed: _Timed = timed) -> Sequence[Leaf]:
                self._adapter.seed(seed)
                output = timed.call(*timed.args, **timed.kwargs)
                self._wait(output)
                return self._copied(output)

            self._enter("compare")
            repeats.check_same(first, again)

    def check_kept(self) -> None:
        """Checks that the outputs of the kept calls are still what they were. Raises Unstable for one that a later call
        has changed."""
        from runners.core.testing import repeats

        self._enter("compare")
        for kept in self._kept:
            repeats.check_kept(kept.copied, self._copied(kept.output))

    def finish(self) -> None:
        """Raises MisusedTrial for a case that timed or checked nothing."""
        if not self.calls and not self.refusals:
            raise MisusedTrial("the case did not call its function through the trial")
        if not self.checks:
            raise MisusedTrial("the case checked nothing")

    def _enter(self, phase: str) -> int:
        before = self._phase[0]
        self._phase[0] = PHASES.index(phase)
        return before

"""The calls of a test: of the function under test only, timed, observed or predicted, and made again."""

from __future__ import annotations

import functools
import math
import mmap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Protocol, Sequence

from runners.core.adapter import Adapter
from runners.core.programs import Program
from runners.core.result import PHASES, TimedCall
from runners.core.testing import timing, tree
from runners.core.testing.endings import MisusedTrial
from runners.core.testing.trial_inputs import Inputs

if TYPE_CHECKING:
    from runners.core.testing.repeats import Leaf

_WAIT = PHASES.index("wait")


class Mutation(Protocol):
    """What stands in for the function under test: runners.core.mutants has them. ``is_repeat``: the test is over, and
    its calls are made once more."""

    is_repeat: bool

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mutated function."""


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


class Calls(Inputs):
    """Calls ``function``, the manifest's, of ``framework``, a name.

    A case sets ``repeatable`` to False before a call that cannot be made twice with the same arguments: it has no
    steady time. It sets ``writes`` to True before a call that may change its arguments: another one fails if it does.

    With a ``mutant``, the mutated function is timed. ``wait`` ends a timed region; the default is the adapter's. An
    ``observer`` makes the calls instead, and nothing is timed.

    The worker reads ``calls``, the timed calls, ``locations``, where outputs of the calls were, and ``bytes``, those of
    all tensors that the repeatable calls took and returned: it sets this to 0 before, if they shall be counted; and
    ``lost_device``, whether the process can use its device no longer.
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
        super().__init__(adapter, device, phase, float64_mode, other_values)
        self.framework = framework
        self.function = function
        self.repeatable = True
        self.writes = False
        self.calls: list[TimedCall] = []
        self.checks = 0
        self.refusals = 0
        self.lost_device = False
        self.bytes: int | None = None
        self.locations: set[str] = set()
        self._clock = clock
        self._mutant = mutant
        self._wait = wait or adapter.wait
        self._observer = observer
        self._timed: list[_Timed] = []
        self._kept: list[_Kept] = []

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

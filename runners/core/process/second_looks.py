"""A worker's second looks at a test: runs it again, untimed, with its operations traced or its outputs recorded."""

from __future__ import annotations

from typing import Any, Callable

from runners.core import failure
from runners.core.adapter import Adapter, Operation
from runners.core.result import Message
from runners.core.triage import placement

SEED = 20230401
"""Seed of the framework's global random state, set before every test: the order of the tests changes no result."""


RunCase = Callable[..., None]
"""RequestHandler._run_case, which runs a test's case untimed while an observer makes its calls."""


class SecondLooks:
    """Handles the requests that run a test again. ``run`` runs its case, ``is_on_target`` says whether a location is on
    the device."""

    def __init__(self, adapter: Adapter, device: Any, run: RunCase, is_on_target: Callable[[str], bool]) -> None:
        self._adapter = adapter
        self._device = device
        self._run = run
        self._is_on_target = is_on_target

    def trace_ops(self, request: Message) -> Message:
        """Runs a test again with every operation traced. Returns its placement, and the counters of each call that cost
        too much in a timed call."""
        adapter, device = self._adapter, self._device
        operations: list[Operation] = []
        untraced: list[str] = []
        observed: list[Message] = []
        locations: set[str] = set()

        def observer(call: Callable[[], Any]) -> Any:
            with adapter.trace_ops(device, counts=request["timed"]) as trace:
                output = call()
                adapter.wait(output)
            operations.extend(trace.operations)
            untraced.extend(trace.untraced)
            observed.append({"counters": dict(trace.counters)})
            return output

        try:
            self._run(request, SEED, observer, locations=locations)
        except AssertionError:
            # A failed check. The calls before it were made.
            pass
        except Exception as error:
            return {"error": "{type}: {message}".format(**failure.facts_of(error))}
        found = placement.classify(locations, operations, self._is_on_target)
        return {"placement": placement.with_evidence(found, *dict.fromkeys(untraced)), "observed": observed}

    def record_outputs(self, request: Message) -> Message:
        """Runs a test again and stores the outputs of its calls in the file ``path``. Returns their coarsest floating
        dtype, or None if there are no outputs."""
        from runners.core.triage import outputs

        found, dtype = self._outputs(request, SEED)
        if found is None:
            return {"dtype": None}
        outputs.store(request["path"], found)
        return {"dtype": dtype}

    def classify_outputs(self, request: Message) -> Message:
        """Computes a test's calls here unchanged, with another seed and in float64, and classifies the stored outputs
        of the device by them."""
        from runners.core.triage import outputs, value_verdict

        device = outputs.load(request["path"])
        host, _ = self._outputs(request, SEED)
        other_seed, _ = self._outputs(request, SEED + 1)
        float64, _ = self._outputs(request, SEED, float64_mode=True)
        return value_verdict.classify(device, host, other_seed, float64, request["dtype"])

    def _outputs(self, request: Message, seed: int, float64_mode: bool = False) -> tuple[list[Any] | None, str]:
        """The outputs of all calls of a test as host arrays, and their coarsest floating dtype. None if the test did
        not reach the end of its last call; a check that fails after that does not matter."""
        from runners.core.triage import outputs

        recorder = outputs.Recorder(self._adapter)
        try:
            self._run(request, seed, recorder, float64_mode)
        except AssertionError:
            pass
        except Exception:
            return None, ""
        return recorder.arrays, recorder.dtype

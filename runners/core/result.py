"""The result of one test, as a run file holds it: the types of ``result`` in schema/run.schema.json.

Every step of a test's way from the plan to the journal uses these types; tests/unit/runner/test_result.py compares
them with the schema. Times are in nanoseconds, memory is in bytes. A field's meaning is described in the schema.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, TypedDict, Union

PHASES = ("inputs", "move", "call", "wait", "read_back", "compare")
"""Where a test can stop. Only ``call`` and ``wait`` are about the function under test."""

Message = Dict[str, Any]
"""What supervisor, zygote and worker send each other: one JSON object."""

Scalar = Union[str, int, float, bool, None]
"""One fact about a device, with its unit in its key."""


class Cause(TypedDict):
    """An exception that led to another one."""

    type: str
    message: str


class ErrorFacts(TypedDict):
    """An exception as text; ``causes`` has the nearest first."""

    type: str
    message: str
    traceback: str
    causes: list[Cause]


class ExitFacts(TypedDict):
    """How a worker ended. ``code`` and ``signal`` are both None where that is unknown."""

    code: int | None
    signal: str | None
    oom_killed: bool
    peak_memory_bytes: int | None


class Placement(TypedDict):
    """Where a test ran. ``verdict``: device, host, mixed or unknown."""

    verdict: str
    evidence: list[str]
    host_operations: list[str]


class Prediction(TypedDict):
    """What is predicted of a test. ``verdict``: accepted, refused or unknown. None: no figure is known."""

    verdict: str
    reason: str | None
    compile_ns: int | None
    flops: float | None
    bytes: float | None
    memory_bytes: int | None
    roofline_ns: float | None


class Deviation(TypedDict):
    """Relative differences on which the verdict on values is based. None: not finite, another shape, or not
    computed."""

    dtype: str
    device: float | None
    host: float | None
    other_seed: float | None


class Repeated(TypedDict):
    """How the same test ended when it ran again in another way."""

    outcome: str
    reason: str | None
    category: str | None
    error: ErrorFacts | None


class SyncCheck(TypedDict):
    """The synchronization check of a worker; see runners.core.triage.sync_check."""

    passed: bool
    reason: str | None
    units: int
    base_ns: int
    grown_ns: int
    ratio: float
    left_ns: int


class Size(TypedDict):
    """The size of a test of the protocol scaling. ``bytes``: of all tensors that its calls take and return, where they
    have a steady state; None: not known, or none."""

    n: int
    of: str
    flops: float | None
    bytes: int | None


class TimedCall(TypedDict):
    """One timed call of a test."""

    cold: Mapping[str, Any] | None
    steady: Mapping[str, Any] | None
    observed: Mapping[str, Any] | None


class Output(TypedDict):
    """What a worker wrote to stdout and stderr during a test."""

    text: str
    total_bytes: int


class _Required(TypedDict):
    function: str
    test: str
    run: int
    case: str
    outcome: str
    reason: str | None
    phase: str | None
    category: str | None
    error: ErrorFacts | None
    exit: ExitFacts | None
    placement: Placement
    calls: list[TimedCall]
    output: Output
    worker: int
    case_ns: int


class TestResult(_Required, total=False):
    """One test in one pass over the manifest.

    ``attempt`` fills everything down to ``size``, ``confirm`` adds ``contaminated`` and ``disturbed``, and triage
    adds the rest. ``sync_check`` is the synchronization check; ``value_verdict`` is the verdict on values.
    """

    successor_of: str | None
    sync_check: SyncCheck | None
    prediction: Prediction | None
    size: Size | None
    contaminated: Repeated | None
    disturbed: Repeated | None
    value_verdict: str | None
    deviation: Deviation | None
    cpu_control: Repeated | None
    full_precision: Repeated | None


def shown_outcome(result: Mapping[str, Any]) -> str:
    """The outcome as it is counted: ``removed`` for a test whose function this version does not have."""
    return "removed" if result["category"] == "removed" else str(result["outcome"])


def repeated(result: TestResult) -> Repeated:
    """What is kept of a result that another result replaces or refers to."""
    return Repeated(
        outcome=result["outcome"], reason=result["reason"], category=result["category"], error=result["error"]
    )


def is_oom_killed(result: TestResult) -> bool:
    """Whether the test's worker was ended because it was out of memory."""
    return result["exit"] is not None and result["exit"]["oom_killed"]

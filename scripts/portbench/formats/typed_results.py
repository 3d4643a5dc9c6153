"""Parses and checks the results of a run file in one pass, several times as fast as a parser and the schema.

The classes have the properties of ``$defs.result`` in schema/run.schema.json. They accept no file that the schema and
the rules of ``consistency`` reject. What they do not accept goes through ``documents.read_document``, which decides,
and writes the messages: files of older versions, predictions, and everything that is wrong or only unusual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
import orjson
from msgspec import UNSET, Meta, Struct, UnsetType

from portbench.formats.consistency import check_consistency
from portbench.formats.schemas import VERSIONS, fits
from portbench.util.strict_json import HIDDEN_COLON, has_countable_keys

_Name = Annotated[str, Meta(min_length=1, max_length=1000)]
_Text1000 = Annotated[str, Meta(max_length=1000)]
_Text4000 = Annotated[str, Meta(max_length=4000)]
_Sentence = Annotated[str, Meta(max_length=20_000)]
_Signal = Annotated[str, Meta(max_length=32, pattern="^SIG")]
_Ns = Annotated[int, Meta(ge=0, le=9_000_000_000_000_000)]
_Count = Annotated[int, Meta(ge=0, le=10**18)]
_Positive = Annotated[int, Meta(ge=1, le=10**18)]
# Integers beyond 64 bits, which the parser rejects, would become floating point numbers.
_Fraction = Annotated[float, Meta(ge=0, le=10**18)]
_Counters = Annotated[dict[Annotated[str, Meta(max_length=255)], _Count], Meta(max_length=1000)]
_Outcome = Literal["passed", "failed", "timed_out", "crashed", "skipped", "error"]
_Category = Literal["type", "not_implemented", "timeout", "memory", "precision", "crash", "removed", "other"]
_LEAST_RATIO = 2.5


_VERSIONS = (4, 5, VERSIONS["run"])
"""Versions of run files with the same results, but for those of the protocol scaling, which are in no study. Version 4
lacks ``cold`` of the protocol, which was test."""


class _Object(Struct, forbid_unknown_fields=True, gc=False):
    """An object without properties that the schema does not name. Nothing refers back to it."""


class _Cause(_Object):
    type: _Name
    message: _Sentence


class _Error(_Object):
    type: _Name
    message: _Sentence
    traceback: Annotated[str, Meta(max_length=60_000)]
    causes: list[_Cause]


class _Again(_Object):
    outcome: _Outcome
    reason: _Sentence | None
    category: _Category | None
    error: _Error | None


class _SyncCheck(_Object):
    passed: bool
    reason: _Sentence | None
    units: _Positive
    base_ns: _Ns
    grown_ns: _Ns
    ratio: _Fraction
    left_ns: _Ns


class _Exit(_Object):
    code: Annotated[int, Meta(ge=-(10**18), le=10**18)] | None
    signal: _Signal | None
    oom_killed: bool | None
    peak_memory_bytes: _Count | None


class _Placement(_Object):
    verdict: Literal["device", "host", "mixed", "unknown"]
    evidence: list[_Text4000]
    host_operations: list[_Text4000] | UnsetType = UNSET


class _Cold(_Object):
    call_ns: _Ns
    wait_ns: _Ns | None
    counters: _Counters


class _Steady(_Object):
    warmup_calls: _Positive
    calls_per_block: _Positive
    block_ns: Annotated[list[_Ns], Meta(min_length=1)]
    stable: bool
    unmet: list[Literal["blocks", "median_interval"]]
    median_interval_fraction: _Fraction | None
    counters: _Counters | UnsetType = UNSET


class _Observed(_Object):
    counters: _Counters


class _Call(_Object):
    cold: _Cold | None
    steady: _Steady | None
    observed: _Observed | UnsetType | None = UNSET


class _Deviation(_Object):
    dtype: _Text1000
    device: _Fraction | None
    host: _Fraction | None
    other_seed: _Fraction | None


class _Output(_Object):
    text: Annotated[str, Meta(max_length=65_536)]
    total_bytes: _Count


class _Result(_Object):
    function: _Name
    test: Annotated[str, Meta(min_length=1, max_length=4000)]
    run: _Positive
    case: Annotated[str, Meta(min_length=1, max_length=300)]
    outcome: _Outcome | None
    reason: _Sentence | None
    phase: Literal["inputs", "move", "call", "wait", "read_back", "compare"] | None
    category: _Category | None
    error: _Error | None
    exit: _Exit | None
    placement: _Placement
    calls: list[_Call]
    output: _Output
    worker: _Count | None
    case_ns: _Ns | None
    successor_of: _Text1000 | UnsetType | None = UNSET
    prediction: UnsetType | None = UNSET
    value_verdict: Literal["equal", "imprecise", "wrong", "unexpected", "random"] | UnsetType | None = UNSET
    deviation: _Deviation | UnsetType | None = UNSET
    cpu_control: _Again | UnsetType | None = UNSET
    full_precision: _Again | UnsetType | None = UNSET
    contaminated: _Again | UnsetType | None = UNSET
    disturbed: _Again | UnsetType | None = UNSET
    sync_check: _SyncCheck | UnsetType | None = UNSET
    # Not in the format: a file that has it has more colons than are counted, so that it is left to the slow parser.
    run_file: int = 0


class _Run(_Object):
    """A run file; ``_head`` checks everything but its results."""

    schema: Any
    schema_version: Any
    run_id: Any
    target: Any
    manifest: Any
    protocol: Any
    environment: Any
    started_at: Any
    ended_at: Any
    results: Annotated[list[_Result], Meta(min_length=1)]
    prediction: Any = UNSET
    imported: Any = UNSET


@dataclass(frozen=True)
class TypedRun:
    """A valid run file. ``head``: everything but the results; ``lines``: each result as a line of JSON, with its
    ``run_file``; ``cases``: the names of the cases of its results."""

    head: dict[str, Any]
    lines: bytes
    cases: frozenset[str]


def parse_run(content: bytes, run_file: int) -> TypedRun | None:
    """The run file with this text, if it is certainly a valid one of the present version; else None.

    ``run_file`` is the number that each line of a result gets.
    """
    if HIDDEN_COLON in content:
        return None
    try:
        run = _decoder().decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # ValueError: not UTF-8.
        return None
    if isinstance(run.prediction, dict):
        # The rules of predicted results are not here.
        return None
    head = _head(run)
    if head is None or not _are_consistent(head, run.results):
        return None
    text_of_head = _text(head)
    if text_of_head is None:
        return None
    for result in run.results:
        result.run_file = run_file
    lines = msgspec.json.Encoder().encode_lines(run.results)
    # A duplicate key is parsed once: the file has more colons than the values.
    added = len(run.results)
    if lines.count(b":") - added + text_of_head.count(b":") != content.count(b":"):
        return None
    return TypedRun(head, lines, frozenset(result.case for result in run.results))


@cache
def _decoder() -> msgspec.json.Decoder[_Run]:
    return msgspec.json.Decoder(_Run)


def _head(run: _Run) -> dict[str, Any] | None:
    """Everything but the results, checked by the schema and the rules; None if there may be something wrong."""
    if run.schema != "portbench/run" or run.schema_version not in _VERSIONS:
        return None
    fields = ((name, getattr(run, name)) for name in run.__struct_fields__ if name != "results")
    head = {name: value for name, value in fields if value is not UNSET}
    # The schema expects a result.
    first = msgspec.to_builtins(run.results[0])
    del first["run_file"]
    try:
        is_valid = fits("run", {**head, "results": [first]})
        return head if is_valid and not any(check_consistency("run", {**head, "results": []})) else None
    except RecursionError:
        return None


def _text(head: Mapping[str, Any]) -> bytes | None:
    """The head as JSON, with an empty list of results; None if it has integers beyond 64 bits."""
    try:
        text = orjson.dumps({**head, "results": []})
    except orjson.JSONEncodeError:
        return None
    return text if has_countable_keys(text) else None


def _are_consistent(head: Mapping[str, Any], results: list[_Result]) -> bool:
    """Whether the results keep the rules that their types do not express."""
    if head["protocol"]["name"] == "scaling":
        # Such run files are in no study, so that nobody waits for many of them.
        return False
    runs, is_imported = head["protocol"]["runs"], "imported" in head
    listed = {entry["name"] for entry in head["manifest"].get("functions", ())}
    keys = {(result.function, result.test, result.run) for result in results}
    return len(keys) == len(results) and all(
        result.run <= runs
        and (not listed or (result.successor_of or result.function) in listed)
        and (result.outcome is not None or is_imported)
        and _fits_outcome(result)
        and _fits_check(result)
        for result in results
    )


def _fits_outcome(result: _Result) -> bool:
    """Whether a result has what goes with its outcome, and nothing else."""
    outcome = result.outcome
    if outcome == "passed" or outcome is None:
        is_clean = result.error is None and result.category is None and result.phase is None and result.exit is None
        is_right = result.reason is None and result.value_verdict not in ("wrong", "unexpected")
        return is_clean and (is_right or outcome is None)
    if outcome == "failed":
        return result.error is not None and result.category is not None
    if outcome == "error":
        return result.error is not None and result.category is None and result.phase == "inputs"
    if outcome == "skipped":
        return result.reason is not None
    return result.exit is not None and result.category is not None and result.reason is not None


def _fits_check(result: _Result) -> bool:
    """Whether the synchronization check allows the times: without it the clock does not see the device's work."""
    check = result.sync_check
    if not isinstance(check, _SyncCheck):
        return True
    if check.passed:
        return check.ratio >= _LEAST_RATIO
    return all(call.cold is None and call.steady is None for call in result.calls)

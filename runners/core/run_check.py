"""The strict check of a run file on the runner's side: its schema, and the rules that a schema cannot express.

The host checks the same when it reads a run file (``portbench.formats``), with messages of its own. The files in
tests/examples/run show that both accept and refuse the same. Each function returns the first mistake as
'$.path: message', or an empty string.
"""

from __future__ import annotations

import datetime
from functools import lru_cache
from typing import Any, Iterator, Mapping, Tuple

from runners.core import documents

Data = Mapping[str, Any]
Key = Tuple[str, str, int]

_OUTCOMES_OF = {"accepted": ("passed",), "refused": ("failed", "timed_out", "crashed"), "unknown": ("skipped",)}


def mistake_in_run(run: Data) -> str:
    """The first mistake in a whole run file."""
    results = run.get("results")
    if not isinstance(results, list) or not results:
        return "$.results: expected a list with at least one result"
    header = {key: value for key, value in run.items() if key != "results"}
    return mistake_in_header(header) or next(_in_results(header, results), "")


def mistake_in_header(header: Data) -> str:
    """The first mistake in a run file's top level, which is given without its results."""
    return documents.first_mistake(_header_checker(), header) or next(_in_header(header), "")


def mistake_in_result(header: Data, result: Any) -> str:
    """The first mistake in one result of a run with this header, with paths from the result."""
    return documents.first_mistake(_result_checker(), result) or next(_in_result(header, result), "")


def key_of(result: Data) -> Key:
    """Function, test and pass: what no two results of a run share."""
    return (result["function"], result["test"], result["run"])


@lru_cache(maxsize=None)
def _header_checker() -> documents.Checker:
    schema = documents.schema("run")
    del schema["properties"]["results"]
    schema["required"].remove("results")
    return documents.checker_of(schema)


@lru_cache(maxsize=None)
def _result_checker() -> documents.Checker:
    schema = documents.schema("run")
    return documents.checker_of({"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": "#/$defs/result"})


def _in_results(header: Data, results: list[Any]) -> Iterator[str]:
    seen: set[Key] = set()
    for position, result in enumerate(results):
        mistake = mistake_in_result(header, result)
        if mistake:
            yield f"$.results[{position}]" + mistake[len("$") :]
        elif key_of(result) in seen:
            yield f"$.results[{position}]: a second result of the same test and run"
        else:
            seen.add(key_of(result))


def _in_header(header: Data) -> Iterator[str]:
    times = {}
    for key in ("started_at", "ended_at"):
        if header[key] is not None:
            try:
                times[key] = _instant(header[key])
            except ValueError as error:
                yield f"$.{key}: {header[key]!r} is not a point in time: {error}"
    if len(times) == 2 and times["ended_at"] < times["started_at"]:
        yield "$.ended_at: is before $.started_at"
    if _is_predicted(header) and "prediction" not in header:
        yield "$.target.device: is only predicted, expected $.prediction too"
    if not _is_predicted(header) and "prediction" in header:
        yield "$.prediction: expected none, since the device was present"


def _in_result(header: Data, result: Data) -> Iterator[str]:
    if result["run"] > header["protocol"]["runs"]:
        yield f"$.run: found {result['run']}, expected at most {header['protocol']['runs']}"
    if result["outcome"] is None and not header.get("imported"):
        yield "$.outcome: found null, expected an outcome"
    if (result.get("size") is not None) != (header["protocol"]["name"] == "scaling"):
        yield "$.size: expected a size in the protocol scaling, and none in others"
    check, prediction = result.get("sync_check"), result.get("prediction")
    if header["protocol"]["sync"] == "complete" and check and not check["passed"]:
        for position, call in enumerate(result["calls"]):
            if call["cold"] or call["steady"]:
                yield f"$.calls[{position}]: found times, expected none, since $.sync_check did not pass"
    if _is_predicted(header) and result["calls"]:
        yield "$.calls: found times, expected none, since the device is predicted"
    if prediction and not _is_predicted(header):
        yield "$.prediction: expected none, since the device was present"
    if prediction and result["outcome"] not in _OUTCOMES_OF[prediction["verdict"]]:
        yield f"$.outcome: found {result['outcome']}, but $.prediction says {prediction['verdict']}"


def _is_predicted(header: Data) -> bool:
    device = header["target"]["device"]
    return "predicted" in device or device.startswith(("tpu-", "tpu7x", "gpu-"))


def _instant(text: str) -> tuple[datetime.datetime, str]:
    """A point in time that can be compared: whole seconds, and the digits after them."""
    return datetime.datetime.fromisoformat(text[:19]), text[20:-1].rstrip("0")

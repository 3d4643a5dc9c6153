"""The types of results accept the run files that schema and rules accept, with the same values, and no others."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from portbench.errors import BadInput
from portbench.formats.consistency import check_consistency
from portbench.formats.documents import read_document
from portbench.formats.schemas import fits
from portbench.formats.typed_results import parse_run
from portbench.util.strict_json import has_countable_keys
from tests.bench.many_run_files import run_file
from tests.paths import EXAMPLES

TARGET = ("torch", "2.9.0", "gpu")
AGAIN = {"outcome": "failed", "reason": "why", "category": "other", "error": None}
DEVIATION = {"dtype": "float32", "device": 0.5, "host": None, "other_seed": 2}
NUMBERS = ("ratio", "device", "host", "other_seed", "median_interval_fraction")
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        -0.5,
        2.4,
        10**15,
        10**16,
        10**18 - 1,
        10**18 + 1,
        "",
        "passed",
        "failed",
        "wrong",
    ),
    *("SIGKILL", "inputs", "x" * 40, "x" * 300, "x" * 301, "x" * 1001, "é" * 1000, "x" * 4001, "x" * 20_001),
    *("y" * 60_001, "y" * 65_537, [], [None], [1], ["blocks"], ["x" * 4001], {}, {"a": 1}, {"a": 1.5}, {"b" * 256: 1}),
    {str(number): 1 for number in range(1001)},
)


def document() -> dict[str, Any]:
    """A run file with a result of each outcome, in which each optional property is there at least once."""
    data: dict[str, Any] = json.loads(run_file(TARGET, 0, 500, Random(7)))
    of_outcome = {result["outcome"]: result for result in data["results"]}
    of_outcome["error"] = {**of_outcome["failed"], "outcome": "error", "category": None, "phase": "inputs", "run": 3}
    of_outcome["error"]["test"] = "another"
    data["results"] = list(of_outcome.values())
    of_outcome["passed"] |= {"deviation": DEVIATION, "contaminated": AGAIN, "value_verdict": "imprecise"}
    of_outcome["passed"]["calls"][0]["observed"] = {"counters": {"kernel_ns": 1}}
    named = {result["function"] for result in data["results"]}
    data["manifest"]["functions"] = [entry for entry in data["manifest"]["functions"] if entry["name"] in named]
    cause = {"type": "KeyError", "message": "a"}
    of_outcome["failed"] |= {"full_precision": AGAIN, "disturbed": {**AGAIN, "error": of_outcome["error"]["error"]}}
    of_outcome["failed"]["error"]["causes"] = [cause]
    return data


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each object or list with a key or position in it, all levels."""
    if isinstance(value, dict | list):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places(item)


def is_valid(data: Any) -> bool:
    return fits("run", data) and not any(check_consistency("run", data))


def as_stored(entry: dict[str, Any]) -> dict[str, Any]:
    """An object with the numbers that the study stores as 64-bit floating point numbers."""
    return {key: float(value) if key in NUMBERS and value is not None else value for key, value in entry.items()}


def agree(data: dict[str, Any]) -> None:
    """Valid documents with long integers may be left to the slow parser."""
    text = json.dumps(data).encode()
    parsed = parse_run(text, 5)
    assert (parsed is not None) == is_valid(data) or (parsed is None and not has_countable_keys(text))
    if parsed:
        assert parsed.head == {key: value for key, value in data.items() if key != "results"}
        lines = [json.loads(line, object_hook=as_stored) for line in parsed.lines.splitlines()]
        results = json.loads(json.dumps(data["results"]), object_hook=as_stored)
        assert lines == [{**result, "run_file": 5} for result in results]


def test_every_change_of_every_place() -> None:
    data = document()
    agree(data)
    assert is_valid(data)
    for holder, key in places(data["results"]):
        before = holder[key]
        for value in ODD:
            holder[key] = value
            agree(data)
        if isinstance(holder, dict):
            del holder[key]
            agree(data)
            holder["unknown"] = before
            agree(data)
            del holder["unknown"]
        holder[key] = before


@pytest.mark.parametrize(
    ("key", "value"), [("run_id", "x"), ("started_at", "2027-01-01T00:00:00Z"), ("imported", {}), ("results", [])]
)
def test_the_head_is_checked_by_the_schema_and_the_rules(key: str, value: Any) -> None:
    data = document()
    data[key] = value
    assert not is_valid(data)
    agree(data)


def test_rules_over_several_results() -> None:
    data = document()
    data["results"].append(copy.deepcopy(data["results"][0]))
    assert not is_valid(data)
    agree(data)
    data["results"][-1]["run"] = 4
    agree(data)
    data["protocol"]["runs"] = 4
    agree(data)
    data["results"][-1]["function"] = "torch.unlisted"
    agree(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"case": "call"', '"case": "call", "case": "call"'),
        ('"case": "call"', '"case": "call", "run_file": 5'),
        ('"case": "call"', '"case": "call", "case": "\\u003acall"'),
        ('"stable": true', '"stable": true, "\\u0073table": true'),
        ('"kernel_ns": 1', '"kernel_ns": 1, "kernel_ns": 1'),
        ('"machine": "bench"', '"machine": "bench", "machine": "bench"'),
        ('"timeout_s": 900.0', '"timeout_s": 20000000000000000000'),
        ('"timeout_s": 900.0', '"timeout_s": 9223372036854775808'),
        ('"cpu_cores": 2', '"cpu_cores": 18446744073709551616'),
        ('"compilations": 1', '"compilations": 100000000000000000000'),
        ('"code": null', '"code": -9223372036854775809'),
        ('"other_seed": 2', '"other_seed": 9223372036854775808'),
        ('"other_seed": 2', '"other_seed": 1e400'),
        ('"other_seed": 2', '"other_seed": NaN'),
        ('"other_seed": 2', '"other_seed": 20000000000000000000'),
        ('"case": "call"', '"case": "\\ud800"'),
        ('"case": "call"', '"case": "a\nb"'),
        ('"schema_version": 4', '"schema_version": true'),
    ],
)
def test_what_strict_json_rejects(old: str, new: str) -> None:
    text = json.dumps(document())
    assert old in text
    assert parse_run(text.replace(old, new, 1).encode(), 5) is None


def test_bytes_that_are_no_text() -> None:
    content = json.dumps(document()).encode()
    assert parse_run(content.replace(b'"case": "call"', b'"case": "\xff"', 1), 5) is None
    assert parse_run(content[:-1], 5) is None
    assert parse_run(b"[" * 100_000, 5) is None


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("run/*/*.json")), ids=lambda file: file.stem)
def test_examples(file: Path) -> None:
    """Older versions and predictions are left to the schema."""
    parsed = parse_run(file.read_bytes(), 0)
    if parsed is None:
        return
    try:
        data = read_document(file, "run").data
    except BadInput as error:
        raise AssertionError(f"{file} was accepted") from error
    agree(data)


def test_a_predicted_run_with_measured_times_is_left_to_the_rules_that_refuse_it() -> None:
    run = json.loads((EXAMPLES / "run" / "valid" / "predicted.json").read_text("utf-8"))
    measured = document()["results"][0]
    run["manifest"].pop("functions", None)
    run["results"] = [{**measured, "run": 1}]
    assert "prediction" not in measured or measured["prediction"] is None
    assert any("nothing was computed" in found.sentence for found in check_consistency("run", run))
    assert parse_run(json.dumps(run).encode(), 0) is None

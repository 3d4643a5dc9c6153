"""The runner accepts and refuses the same example run files as the host (tests/unit/host/formats/test_examples.py)."""

from __future__ import annotations

import json

import pytest

from runners.core import documents, run_check
from tests.paths import EXAMPLES

RUNS = EXAMPLES / "run"


RENAMED = {"numbers": "value_verdict", "proof": "sync_check", "control": "cpu_control", "strict": "full_precision"}


def mistake(path):
    try:
        document = documents.parse(path.read_bytes())
    except ValueError as error:
        return str(error)
    if document["schema_version"] < 4:
        # The runner writes the present version alone. The mistakes are the same.
        document["schema_version"] = 4
        document["protocol"].setdefault("sync", "complete")
        for result in document["results"]:
            for old in set(result) & set(RENAMED):
                result[RENAMED[old]] = result.pop(old)
            result["category"] = "removed" if result["category"] == "unavailable" else result["category"]
    return run_check.mistake_in_run(document)


@pytest.mark.parametrize("path", sorted((RUNS / "valid").glob("*.json")), ids=lambda path: path.stem)
def test_a_valid_run_file_is_accepted(path):
    assert not mistake(path)


@pytest.mark.parametrize("path", sorted((RUNS / "invalid").glob("*.json")), ids=lambda path: path.stem)
def test_an_invalid_run_file_is_refused(path):
    assert mistake(path)


def test_a_run_file_without_results_is_refused():
    document = json.loads((RUNS / "valid/passed.json").read_text())
    assert "$.results" in run_check.mistake_in_run({**document, "results": []})
    del document["results"]
    assert "$.results" in run_check.mistake_in_run(document)

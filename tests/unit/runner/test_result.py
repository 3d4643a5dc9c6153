"""The types of a result have the fields of the schema of run files."""

from __future__ import annotations

import json

import pytest

from runners.core import result
from tests.paths import ROOT

DEFINITIONS = json.loads((ROOT / "schema" / "run.schema.json").read_text("utf-8"))["$defs"]
PROPERTIES = DEFINITIONS["result"]["properties"]


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (result.TestResult, DEFINITIONS["result"]),
        (result.ErrorFacts, DEFINITIONS["error"]),
        (result.Cause, DEFINITIONS["error"]["properties"]["causes"]["items"]),
        (result.ExitFacts, PROPERTIES["exit"]),
        (result.Placement, PROPERTIES["placement"]),
        (result.Prediction, PROPERTIES["prediction"]),
        (result.Deviation, PROPERTIES["deviation"]),
        (result.Repeated, DEFINITIONS["again"]),
        (result.SyncCheck, DEFINITIONS["sync_check"]),
        (result.TimedCall, PROPERTIES["calls"]["items"]),
        (result.Output, PROPERTIES["output"]),
    ],
)
def test_each_type_has_the_fields_of_the_schema(kind, schema):
    assert set(kind.__annotations__) == set(schema["properties"])


def test_the_required_fields_are_those_of_the_schema():
    assert set(result._Required.__annotations__) == set(DEFINITIONS["result"]["required"])


def test_the_phases_are_those_of_the_schema():
    assert (*result.PHASES, None) == tuple(PROPERTIES["phase"]["enum"])

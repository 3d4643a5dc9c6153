"""The verdict on where a test ran, from what was computed where and where the outputs lie."""

from __future__ import annotations

import pytest

from runners.core.adapter import HOST, Operation
from runners.core.triage.placement import classify

THERE = Operation("mul", "gpu:0")
ELSEWHERE = Operation("nonzero", HOST)


@pytest.mark.parametrize(
    ("outputs", "operations", "verdict", "host_operations"),
    [
        (["gpu:0"], [THERE], "device", []),
        (["gpu:0"], [THERE, ELSEWHERE], "mixed", ["nonzero"]),
        (["gpu:0"], [ELSEWHERE, ELSEWHERE], "host", ["nonzero"]),
        (["cpu"], [ELSEWHERE], "host", ["nonzero"]),
        ([], [THERE], "device", []),
        (["cpu"], [THERE], "device", []),
        (["gpu:0"], [], "device", []),
        (["cpu"], [], "host", []),
        (["cpu", "gpu:0"], [], "mixed", []),
        ([], [], "unknown", []),
    ],
)
def test_verdict(outputs, operations, verdict, host_operations):
    found = classify(outputs, operations, lambda location: location == "gpu:0")
    assert (found["verdict"], found["host_operations"]) == (verdict, host_operations)


def test_the_evidence_names_each_operation_once():
    found = classify(["gpu:0"], [THERE, THERE, ELSEWHERE], lambda location: location == "gpu:0")
    assert found["evidence"] == ["output on gpu:0", "mul on gpu:0 (2 times)", "nonzero on host"]


def test_the_evidence_stays_short():
    many = [Operation(f"op{number}", HOST) for number in range(1000)]
    found = classify([], many, lambda location: False)
    assert len(found["evidence"]) < 100
    assert found["evidence"][-1] == "and 950 other operations"
    assert len(found["host_operations"]) == 1000

"""The protocol scaling: a test at several sizes, and nothing but its steady state."""

from __future__ import annotations

import pytest

from runners.core import manifest
from runners.core.errors import BadInput
from tests.unit.runner.runner_cli import write_manifest

SIZES = {"n": [2, 8], "of": "numbers", "flops": [3, 2]}
SCALED = {
    "id": "sizes",
    "case": "call",
    "sizes": SIZES,
    "args": [{"tensor": {"shape": ["$n"], "dtype": "float64"}}],
    "expect": {"numpy": "multiply", "args": [{"arg": 0}, 1]},
}
PLAIN = {"id": "plain", "case": "fake.behaviours:passes", "params": {}}
BOTH = [{"function": "fake.identity", "tests": [SCALED, PLAIN]}]


def test_a_size_has_a_steady_state_and_says_what_it_is(run):
    finished = run(BOTH, "--protocol", "scaling", "--runs", "1", "--steady-budget", "0.001", schema_version=6)
    assert finished.document["protocol"]["name"] == "scaling"
    assert list(finished.results) == ["sizes[n=2]", "sizes[n=8]"]
    for n, result in zip(SIZES["n"], finished.results.values()):
        assert result["outcome"] == "passed"
        # An argument and the output: n numbers of 8 bytes each.
        assert result["size"] == {"n": n, "of": "numbers", "flops": 3.0 * n**2, "bytes": 2 * 8 * n}
        (call,) = result["calls"]
        assert call["cold"] is None
        assert call["steady"]["block_ns"]


@pytest.mark.parametrize(("factor", "is_timed"), [(1.001, True), (1.5, False)])
def test_values_in_a_coarser_precision_have_a_time(run, factor, is_timed):
    pytest.importorskip("numpy")
    test = {**SCALED, "expect": {"numpy": "multiply", "args": [{"arg": 0}, factor]}}
    entry = [{"function": "fake.identity", "tests": [test]}]
    finished = run(entry, "--protocol", "scaling", "--runs", "1", "--steady-budget", "0.001", schema_version=6)
    for result in finished.results.values():
        assert (result["outcome"], bool(result["calls"][0]["steady"])) == ("failed", is_timed)


@pytest.mark.parametrize("protocol", ["cold", "steady", "both"])
def test_no_other_protocol_runs_tests_with_sizes(run, protocol):
    finished = run(BOTH, "--protocol", protocol, "--runs", "1", "--steady-budget", "0.001", schema_version=6)
    assert list(finished.results) == ["plain"]
    assert finished.results["plain"].get("size") is None
    assert [entry["tests"] for entry in finished.document["manifest"]["functions"]] == [1]


@pytest.mark.parametrize(
    ("tests", "protocol", "message"),
    [([SCALED], "both", "has only tests with sizes"), ([PLAIN], "scaling", "has no test with sizes")],
)
def test_a_manifest_without_a_test_for_the_protocol_is_refused(tmp_path, tests, protocol, message):
    path = write_manifest(tmp_path, [{"function": "fake.identity", "tests": tests}], schema_version=6)
    with pytest.raises(BadInput, match=message):
        manifest.read(path, "fake", protocol=protocol)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": {"n": [1]}}, "found the key 'n'"),
        ({"args": [{"tensor": {"shape": [2], "dtype": "float64"}}]}, "'n' is not used"),
        ({"sizes": {"n": [0, 1], "of": "numbers"}}, "sizes"),
    ],
)
def test_a_mistake_in_sizes_is_named(tmp_path, changes, message):
    path = write_manifest(tmp_path, [{"function": "fake.identity", "tests": [{**SCALED, **changes}]}], schema_version=6)
    with pytest.raises(BadInput, match=message):
        manifest.read(path, "fake", protocol="scaling")


def test_sizes_vary_fastest_and_a_grid_may_be_there_too(tmp_path):
    test = {**SCALED, "grid": {"dtype": ["float32", "float64"]}}
    test["args"] = [{"tensor": {"shape": ["$n"], "dtype": "$dtype"}}]
    path = write_manifest(tmp_path, [{"function": "fake.identity", "tests": [test]}], schema_version=6)
    found = [one.id for one in manifest.read(path, "fake", protocol="scaling").tests]
    assert found == [f"sizes[dtype={dtype},n={n}]" for dtype in ("float32", "float64") for n in (2, 8)]

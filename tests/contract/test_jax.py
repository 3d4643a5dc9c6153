"""The paper's JAX functions on the CPU: checks beyond passing in the paper's version."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.contracts import (
    VERSIONS,
    current_of,
    findings,
    is_as_known,
    known_failures,
    removed,
    study_of,
    versions,
)

pytestmark = pytest.mark.frameworks

Run = Callable[..., dict[str, Any]]

STUDY, CURRENT = VERSIONS["jax"]

GONE = {"jax._src.core.get_aval", "jax.lax.infeed"}


@pytest.fixture
def study(run_manifest: Run) -> dict[str, Any]:
    return study_of(run_manifest, "jax")


@pytest.mark.slow(minutes=7)
def test_the_current_version_lacks_two_functions_and_changed_two(run_manifest: Run) -> None:
    # The other half runs through XLA.
    current = current_of(run_manifest, "jax", shard="1/2")
    assert is_as_known(current)
    assert removed(current) == GONE
    successors = {(result["function"], result["outcome"]) for result in current["results"] if result["successor_of"]}
    assert successors == {("jax.typeof", "passed")}
    tried = {(result["function"], result["test"]) for result in current["results"]}
    known = known_failures("jax", CURRENT)
    assert findings(current) == {test: category for test, category in known.items() if test in tried}


@pytest.mark.slow
@pytest.mark.xdist_group("study of jax")
def test_all_arrays_are_on_the_device(study: dict[str, Any]) -> None:
    assert {result["placement"]["verdict"] for result in study["results"]} == {"device", "unknown"}
    # Others of its tests compute no values: they ask for the type of an output alone.
    timed = [
        result["placement"]["verdict"]
        for result in study["results"]
        if result["function"] == "jax.numpy.cos" and any(call["cold"] for call in result["calls"])
    ]
    assert set(timed) == {"device"}


@pytest.mark.slow
@pytest.mark.xdist_group("study of jax")
def test_a_cold_call_compiles_and_says_so(study: dict[str, Any]) -> None:
    compiled = {
        result["test"]: [call["cold"]["counters"].get("compilations", 0) for call in result["calls"] if call["cold"]]
        for result in study["results"]
        if result["function"] == "jax.numpy.cos"
    }
    assert compiled["angles[dtype=float32]"] == [1]
    for result in study["results"]:
        # One test makes a jaxpr within a function that is compiled.
        if result["function"] == "jax.make_jaxpr" and result["test"] != "options-together":
            cold = [call["cold"]["counters"] for call in result["calls"] if call["cold"]]
            assert not any("compilations" in counters for counters in cold), result["test"]


@pytest.mark.slow
@pytest.mark.xdist_group("study of jax")
def test_steady_calls_of_collectives_do_not_compile(study: dict[str, Any]) -> None:
    for result in study["results"]:
        if result["test"] == "devices":
            (call,) = result["calls"]
            steady = min(call["steady"]["block_ns"]) / call["steady"]["calls_per_block"]
            assert steady < call["cold"]["counters"]["compile_ns"], result["function"]


@pytest.mark.parametrize("version", versions("jax"))
def test_collectives_span_the_devices(run_manifest: Run, version: str) -> None:
    options = {"env": {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}, "runs": 1, "protocol": "cold"}
    document = run_manifest("jax", version, "study", function="jax.lax.[ap]*", **options)
    assert document["environment"]["device"]["devices"] == 2
    # XLA of 0.4.13 takes the smallest normal number where all numbers are negative.
    assert set(findings(document)) == ({("jax.lax.pmax", "devices")} if version == STUDY else set())
    spanning = [result["placement"] for result in document["results"] if result["test"] == "devices"]
    assert [placement["verdict"] for placement in spanning] == ["device"] * 2
    assert [placement["evidence"] for placement in spanning] == [["output on cpu:0,cpu:1"]] * 2


def test_combinations_in_one_program_are_judged_one_by_one(run_manifest: Run, tmp_path: Path) -> None:
    tensor = {"tensor": {"shape": {"over": "shape"}, "dtype": "float32", "seed": 1}}
    over = {"shape": [[2, 3], [3, 2]], "axis": [0, 1]}

    def test(name: str, axis: Any, case: str = "call") -> dict[str, Any]:
        expect = {"numpy": "sum", "kwargs": {"axis": axis}}
        params = {"args": [tensor], "kwargs": {"axis": {"over": "axis"}}, "expect": expect}
        together = {"together": True, "case": case, "params": params, "over": over}
        return {"id": name, "case": "jax.combined:combinations", "params": together}

    tests = [test("right", {"over": "axis"}), test("wrong", 0), test("two-calls", {"over": "axis"}, "turns.in_a_row")]
    path = tmp_path / "together.json"
    head = {"schema": "portbench/manifest", "schema_version": 7, "name": "together", "framework": "jax"}
    path.write_text(json.dumps({**head, "functions": [{"function": "jax.numpy.sum", "tests": tests}]}), "utf-8")
    results = {result["test"]: result for result in run_manifest("jax", STUDY, path, runs=1)["results"]}
    assert results["right"]["outcome"] == "passed"
    assert len(results["right"]["calls"]) == 1
    assert results["wrong"]["outcome"] == "failed"
    assert 'combination {"shape": [2, 3], "axis": 1}' in results["wrong"]["output"]["text"]
    assert "must make one call" in results["two-calls"]["error"]["message"]

"""The study's JAX functions on the CPU: what holds beyond their passing in the study's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contracts import VERSIONS, outcomes

pytestmark = pytest.mark.frameworks

Run = Callable[..., dict[str, Any]]

STUDY, CURRENT = VERSIONS["jax"]

GIVES_NO_ARRAY = {
    ("jax.make_jaxpr", None),
    ("jax.tree_util.tree_map", "empty"),
    ("jax.tree_util.tree_map", "order"),
}


@pytest.fixture
def study(run_manifest: Run) -> dict[str, Any]:
    return run_manifest("jax", STUDY, "study", runs=2, protocol="both")


def test_the_current_version_has_every_function_and_changed_none(run_manifest: Run, study: dict[str, Any]) -> None:
    current = run_manifest("jax", CURRENT, "study", runs=2, protocol="cold")
    assert outcomes(current) == outcomes(study)


def test_arrays_come_back_on_the_device(study: dict[str, Any]) -> None:
    for result in study["results"]:
        function, test = result["function"], result["test"]
        without = {(function, None), (function, test)} & GIVES_NO_ARRAY
        assert result["placement"]["verdict"] == ("unknown" if without else "device"), (function, test)


def test_a_cold_call_compiles_and_says_so(study: dict[str, Any]) -> None:
    compiled = {
        result["test"]: [call["cold"]["counters"].get("compilations", 0) for call in result["calls"]]
        for result in study["results"]
        if result["function"] == "jax.numpy.cos"
    }
    assert compiled["angles[dtype=float32]"] == [1]
    for result in study["results"]:
        if result["function"] == "jax.make_jaxpr":
            assert all("compilations" not in call["cold"]["counters"] for call in result["calls"]), result["test"]


def test_steady_calls_of_collectives_do_not_compile(study: dict[str, Any]) -> None:
    for result in study["results"]:
        if result["test"] == "devices":
            (call,) = result["calls"]
            steady = min(call["steady"]["block_ns"]) / call["steady"]["calls_per_block"]
            assert steady < call["cold"]["counters"]["compile_ns"], result["function"]


def test_collectives_span_the_devices(run_manifest: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    for version in (STUDY, CURRENT):
        document = run_manifest("jax", version, "study", function="jax.lax.*", runs=1, protocol="cold")
        assert document["environment"]["device"]["devices"] == 2
        assert {result["outcome"] for result in document["results"]} == {"passed"}
        spanning = [result["placement"] for result in document["results"] if result["test"] == "devices"]
        assert spanning == [{"verdict": "device", "evidence": ["output on cpu:0,cpu:1"]}] * 2

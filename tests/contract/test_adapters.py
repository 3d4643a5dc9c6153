"""Promises that hold for every framework, version and device that images/ can make here."""

from __future__ import annotations

import subprocess

import pytest
from contracts import ROOT, TARGETS, VERSIONS, outcomes

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize("target", TARGETS)
def test_an_adapter_keeps_its_promises(environment_python, target):
    framework, version, _ = target.split("-")
    command = [str(environment_python(target)), "-m", "tests.contract.adapter_checks", framework, version]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("framework", VERSIONS)
def test_every_function_of_the_study_passes_on_the_cpu(run_manifest, framework):
    document = run_manifest(framework, VERSIONS[framework][0], "study", runs=2, protocol="both")
    failed = [
        (function, test, sorted(ends))
        for function, tests in outcomes(document).items()
        for test, ends in tests.items()
        if ends != {"passed"}
    ]
    assert failed == []
    assert len(outcomes(document)) == 12
    assert all(len(tests) >= 4 for tests in outcomes(document).values())
    assert {result["run"] for result in document["results"]} == {1, 2}


@pytest.mark.parametrize("framework", VERSIONS)
def test_both_protocols_leave_their_samples(run_manifest, framework):
    document = run_manifest(framework, VERSIONS[framework][0], "study", runs=2, protocol="both")
    for result in document["results"]:
        assert result["calls"], result["test"]
        assert all(call["cold"]["call_ns"] > 0 for call in result["calls"])
    steady = [call["steady"] for result in document["results"] for call in result["calls"] if call["steady"]]
    assert len(steady) > len(document["results"]) / 2
    assert all(sample["calls_per_block"] >= 1 and sample["block_ns"] for sample in steady)
    assert {result["placement"]["verdict"] for result in document["results"]} <= {"device", "unknown"}


@pytest.mark.parametrize("framework", VERSIONS)
def test_the_environment_is_recorded(run_manifest, framework):
    document = run_manifest(framework, VERSIONS[framework][0], "study", runs=2, protocol="both")
    environment = document["environment"]
    package = {"torch": "torch", "tensorflow": "tensorflow-cpu", "jax": "jax"}[framework]
    assert environment["packages"][package].split("+")[0] == VERSIONS[framework][0]
    assert document["target"] == {"framework": framework, "version": VERSIONS[framework][0], "device": "cpu"}
    assert environment["device"]["kind"] == "cpu"

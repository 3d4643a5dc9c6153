"""Promises that hold for every framework, version and device that images/ can make here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.contracts import (
    FUNCTIONS,
    ROOT,
    TARGETS,
    VERSIONS,
    known_failures,
    outcomes,
    study_of,
    timed_tests,
    versions,
)

pytestmark = pytest.mark.frameworks

NODES = {"gpu": ["nvidia[0-9]*"], "tpu": ["accel*", "vfio/[0-9]*"]}

NEEDS_ANOTHER_DEVICE = {"torch": {"torch.cuda", "torch.cuda.synchronize"}}

LATER_VERSIONS_ONLY = {
    "torch": {
        ("torch.multinomial", "large-weights[dtype=float16]"),
        ("torch.nn.init.xavier_uniform_", "generator"),
    },
    "jax": {("jax.random.PRNGKey", "named-generators")},
}
"""Tests of what the paper's versions do not have."""


AUDITED = [
    ("torch", "torch.sum"),
    ("torch", "torch.optim.Adamax"),
    ("tensorflow", "tf.linalg.svd"),
    ("tensorflow", "tf.keras.optimizers*"),
    ("jax", "jax.vjp"),
    ("jax", "jax.lax.select"),
]
"""A few of each kind: the whole audit takes longer than all other tests together."""


@pytest.mark.parametrize("target", TARGETS)
def test_an_adapter_keeps_its_promises(environment_python, target):
    command = [str(environment_python(target)), "-m", "tests.contract.adapter_checks", *target.split("-")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


WHOLE_STUDIES = [
    pytest.param(framework, marks=[pytest.mark.slow(minutes=minutes), pytest.mark.xdist_group(f"study of {framework}")])
    for framework, minutes in {"torch": 3, "tensorflow": 6, "jax": 12}.items()
]


@pytest.mark.parametrize("device", ["gpu", "tpu"])
@pytest.mark.parametrize(
    ("framework", "version"),
    [
        pytest.param(framework, *version.values, marks=version.marks)
        for framework in VERSIONS
        for version in versions(framework)
    ],
)
def test_a_device_that_is_not_there_is_one_sentence_and_leaves_no_file(
    environment_python, framework, version, device, tmp_path
):
    if any(path for pattern in NODES[device] for path in Path("/dev").glob(pattern)):
        pytest.skip("this machine has one")
    manifest = ROOT / "manifests" / "study" / f"{framework}.json"
    arguments = ["--framework", framework, "--device", device, "--manifest", str(manifest), "--out", str(tmp_path)]
    command = [str(environment_python(f"{framework}-{version}-cpu")), "-m", "runners", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr[-3000:]
    message, remedy = done.stderr.strip().splitlines()
    assert message.startswith(f"error: TensorFlow {version} " if framework == "tensorflow" else "error: ") and remedy
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("framework", WHOLE_STUDIES)
def test_every_function_of_the_study_passes_on_the_cpu_twice_and_in_any_order(run_manifest, framework):
    document = study_of(run_manifest, framework)
    found = outcomes(document)
    ends = {
        (function, test): end for function, tests in found.items() for test, end in tests.items() if end != {"passed"}
    }
    known = known_failures(framework, VERSIONS[framework][0])
    assert all(ends.pop(test, None) == {"failed"} for test in known)
    assert all(ends.pop(test, None) == {"skipped"} for test in LATER_VERSIONS_ONLY.get(framework, ()))
    assert {function for function, _ in ends} == NEEDS_ANOTHER_DEVICE.get(framework, set())
    assert set(map(tuple, ends.values())) <= {("skipped",)}
    reasons = {result["reason"] for result in document["results"] if result["outcome"] == "skipped"}
    assert all("CUDA" in reason or reason.startswith("this version") for reason in reasons), reasons
    assert len(found) == FUNCTIONS[framework]
    assert all(len(tests) >= 5 for tests in found.values())
    assert {result["run"] for result in document["results"]} == {1, 2}
    first, second = ([result["test"] for result in document["results"] if result["run"] == number] for number in (1, 2))
    assert first != second


@pytest.mark.slow(minutes=1)
@pytest.mark.parametrize(("framework", "function"), AUDITED)
def test_the_tests_notice_a_broken_function(framework, function):
    command = [sys.executable, "-m", "portbench", "mutation-test", "study", "--target", f"{framework}-cpu"]
    options = ["--function", function, "--backend", "venv", "--json"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert done.returncode == 0, {key: report[key] for key in ("survivors", "stale_explanations", "failing")}
    assert report["percent_noticed"] >= 98


@pytest.mark.parametrize(
    ("framework", "few"),
    [
        *(
            pytest.param(framework, True, marks=pytest.mark.xdist_group(f"few of {framework}"))
            for framework in VERSIONS
        ),
        *(pytest.param(*param.values, False, marks=param.marks) for param in WHOLE_STUDIES),
    ],
)
def test_both_protocols_leave_their_samples(run_manifest, framework, few):
    document = study_of(run_manifest, framework, few)
    failed = {
        (result["function"], result["test"])
        for result in document["results"]
        if result["outcome"] not in ("passed", "skipped")
    }
    assert failed <= known_failures(framework, VERSIONS[framework][0]).keys()
    # On a busy machine the synchronization check of a worker may fail: then its calls have no times.
    # A call that raises an error, as it must or not, has no times.
    tried = [
        result
        for result in document["results"]
        if result["outcome"] != "skipped" and result["phase"] != "call" and not result["test"].startswith("refuses")
    ]
    wanted = timed_tests(framework)
    timed = []
    for result in tried:
        has_times = result["sync_check"]["passed"] and (result["function"], result["test"]) in wanted
        timed += [result] if has_times else []
        assert result["calls"], result["test"]
        assert all((call["cold"] is not None) == has_times for call in result["calls"]), result["test"]
    assert all(call["cold"]["call_ns"] > 0 for result in timed for call in result["calls"])
    steady = [call["steady"] for result in timed for call in result["calls"] if call["steady"]]
    assert len(steady) > len(timed) / 2
    assert all(sample["calls_per_block"] >= 1 and sample["block_ns"] for sample in steady)
    assert {result["placement"]["verdict"] for result in document["results"]} <= {"device", "unknown"}


@pytest.mark.parametrize(
    "framework",
    [pytest.param(framework, marks=pytest.mark.xdist_group(f"few of {framework}")) for framework in VERSIONS],
)
def test_the_environment_is_recorded(run_manifest, framework):
    document = study_of(run_manifest, framework, few=True)
    environment = document["environment"]
    package = {"torch": "torch", "tensorflow": "tensorflow-cpu", "jax": "jax"}[framework]
    assert environment["packages"][package].split("+")[0] == VERSIONS[framework][0]
    assert document["target"] == {"framework": framework, "version": VERSIONS[framework][0], "device": "cpu"}
    assert environment["device"]["kind"] == "cpu"

"""JAX on devices other than the host's CPU: tests that need neither GPU nor TPU."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import runners.jax
from tests.contract.contracts import ROOT, VERSIONS, findings, known_failures, removed
from tests.contract.test_jax import GONE

pytestmark = pytest.mark.frameworks

Run = Callable[..., dict[str, Any]]

STUDY, CURRENT = VERSIONS["jax"]

ON_XLA = [
    pytest.param(
        version,
        marks=[pytest.mark.slow(minutes=minutes), pytest.mark.xdist_group(f"study of jax {version} on xla")],
    )
    for version, minutes in {STUDY: 2, CURRENT: 9}.items()
]

READS_BACK = {
    # NumPy computes the places that a mask or a list of indices keeps.
    "jax.numpy.compress",
    "jax.numpy.delete",
    "jax.disable_jit",
    # A test of Jacobians reads them back.
    "jax.lax.select",
    # A test of effects calls a function of the host.
    "jax.named_call",
    # Arrays that the traced function captures are among its outputs, some of them on the host.
    "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
    # Arrays of NumPy are among what is handed over as it is, such as what a function returns beside its output.
    "jax._src.interpreters.partial_eval.PartialVal",
    "jax.lax.stop_gradient",
    "jax.numpy.reshape",
    "jax.tree_util.Partial",
    "jax.tree_util.tree_map",
    "jax.tree_util.tree_unflatten",
    "jax.vjp",
}

COMPUTES_NOTHING = {
    "jax.make_jaxpr",
    "jax.numpy.einsum_path",
    "jax.numpy.isscalar",
    "jax.numpy.size",
    "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
}

NOTHING_IN_SHARD = {"jax._src.core.get_aval", "jax.tree_util.tree_unflatten"}
"""Functions whose tests that compute something are not in the shard of the paper's version."""


@pytest.mark.parametrize("version", ON_XLA)
def test_every_function_runs_on_xla_and_only_failures_of_the_cpu_fail(run_manifest: Run, version: str) -> None:
    document = on_xla(run_manifest, version)
    tried = {(result["function"], result["test"]) for result in document["results"]}
    known = known_failures("jax", version)
    assert findings(document) == {test: category for test, category in known.items() if test in tried}
    assert removed(document) == (GONE if version == CURRENT else set())
    assert all(result["sync_check"]["passed"] for result in document["results"] if result["category"] != "removed")
    assert document["environment"]["device"]["kind"] == "xla"


@pytest.mark.parametrize("version", ON_XLA)
def test_functions_that_read_arrays_back_are_recorded(run_manifest: Run, version: str) -> None:
    document = on_xla(run_manifest, version)
    partly = {r["function"] for r in document["results"] if r["placement"]["verdict"] in ("mixed", "host")}
    # 0.4.13 reads a whole array of exponents back to check whether it is one integer.
    assert ("jax.numpy.power" in partly) == (version == STUDY)
    assert {"jax.numpy.compress", "jax.numpy.delete"} <= partly - {"jax.numpy.power"} <= READS_BACK
    host = {name for result in document["results"] for name in result["placement"].get("host_operations", [])}
    called = {"xla_ffi_python_cpu_callback"} if version == CURRENT else set()
    assert host == {"read to host", *called}


@pytest.mark.parametrize("version", ON_XLA)
def test_computations_on_arrays_are_recorded_on_the_device(run_manifest: Run, version: str) -> None:
    document = on_xla(run_manifest, version)
    verdicts: dict[str, set[str]] = {}
    for result in document["results"]:
        if result["outcome"] == "passed":
            verdicts.setdefault(result["function"], set()).add(result["placement"]["verdict"])
    nothing = COMPUTES_NOTHING | (NOTHING_IN_SHARD if version == STUDY else set())
    assert {function for function, found in verdicts.items() if found <= {"unknown"}} <= nothing
    assert all("device" in verdicts[name] for name in ("jax.numpy.cos", "jax.numpy.linalg.svd", "jax.vjp"))
    ranges = (
        r for r in document["results"] if r["function"] == "jax.numpy.cos" and r["test"].startswith("generated-range")
    )
    program = "jit(cos) on cpu:1" if version == CURRENT else "jit(<lambda>) on cpu:1"
    assert {tuple(result["placement"]["evidence"]) for result in ranges} == {("output on cpu:1", program)}


@pytest.mark.parametrize("version", VERSIONS["jax"])
def test_placement_of_sums_is_recorded_correctly(run_manifest: Run, version: str) -> None:
    document = run_manifest("jax", version, "placement", device="xla", runs=1, protocol="cold")
    verdicts = {result["test"]: result["placement"]["verdict"] for result in document["results"]}
    assert verdicts == {
        "on-device": "device",
        "on-host": "host",
        "on-both": "mixed",
        "in-numpy": "mixed",
        "in-callback": "mixed",
    }


CHECKS = {
    # In 0.4.13 a call on the host returns when its work is done: there is nothing to wait for.
    version: [
        *(["wait_waits", "sync_check_fails_without_a_wait"] if version == CURRENT else []),
        "trace_sees",
        "a_trace_without_its_names_says_so",
        "errors_for_held_devices_name_the_holders",
    ]
    for version in VERSIONS["jax"]
}


@pytest.mark.parametrize(
    ("version", "check"),
    [
        pytest.param(version, check, marks=pytest.mark.xdist_group(f"checks of jax {version}"))
        for version, checks in CHECKS.items()
        for check in checks
    ],
)
def test_device_check(check_device: Callable[..., None], version: str, check: str) -> None:
    check_device("jax_device_checks", f"jax-{version}-xla", CHECKS[version], check)


def test_the_papers_synchronization_skips_containers(run_manifest: Run) -> None:
    document = run_manifest("jax", CURRENT, "placement", device="xla", runs=1, protocol="cold", sync="as-published")
    (proof,) = {result["sync_check"]["reason"] for result in document["results"]}
    assert "the work was not done" in proof
    assert {result["outcome"] for result in document["results"]} == {"passed"}


def test_xla_flags_set_by_the_user_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/tmp/dump")
    assert runners.jax.variables("xla")["XLA_FLAGS"].startswith("--xla_dump_to=/tmp/dump --xla_force_host")
    assert "XLA_FLAGS" not in runners.jax.variables("gpu")
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
    assert "XLA_FLAGS" not in runners.jax.variables("xla")


def test_compiled_programs_are_not_shared_between_processes(
    run_manifest: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    run_manifest("jax", CURRENT, "placement", device="xla", runs=1, protocol="cold", timeout=100)
    assert not list(tmp_path.rglob("*"))


def test_the_default_platform_is_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    first = {device: runners.jax.variables(device)["JAX_PLATFORMS"].split(",")[0] for device in runners.jax.DEVICES}
    assert first == {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu", "xla": "cpu", "pjrt": "pjrt"}


def test_a_host_with_one_device_has_no_xla(
    environment_python: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=1")
    arguments = ["--framework", "jax", "--device", "xla", "--manifest", "manifests/study/jax.json"]
    command = [str(environment_python(f"jax-{CURRENT}-xla")), "-m", "runners", *arguments, "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 3
    assert "XLA_FLAGS" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def on_xla(run_manifest: Run, version: str) -> dict[str, Any]:
    """The study manifest through XLA, once: in the current version the half that does not run on its CPU (see
    test_jax), and a sixth in the paper's version, on whose CPU all of it runs."""
    shard = {STUDY: "3/6", CURRENT: "2/2"}[version]
    return run_manifest("jax", version, "study", device="xla", runs=1, protocol="cold", shard=shard)

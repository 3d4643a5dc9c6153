"""PyTorch on devices other than the host's CPU: tests that need neither GPU nor TPU."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import runners.torch
from tests.contract.contracts import FUNCTIONS, ROOT, VERSIONS, findings, known_failures, removed

pytestmark = pytest.mark.frameworks

Run = Callable[..., dict[str, Any]]

STUDY, CURRENT = VERSIONS["torch"]

FALLS_BACK = {
    "torch.nn.AdaptiveAvgPool3d": "aten::_adaptive_avg_pool3d",
    "torch.multinomial": "aten::multinomial",
    "torch.optim.Rprop": "aten::nonzero",
    "torch.ormqr": "aten::ormqr",
    "torch.range": "aten::range.out",
    "torch.round": "aten::round.decimals",
}
"""Functions whose tests pass although an operation falls back to the host."""

DRAWS_ON_HOST = (
    "in-turns",
    "without-replacement[draws=3",
    "without-replacement[draws=6",
    "seed-without-replacement",
    "within-views[",
    "many-rows",
    "each-once",
    "rows-without-replacement-combined",
    "unrelated-calls-without-replacement",
    "every-place-without-replacement",
)
"""How the tests of torch.multinomial begin that draw several without replacement, some of them among other calls."""

WRONG = {
    # The sign is real, and the logarithm is complex.
    ("torch.slogdet", "dtypes[dtype=complex64]"),
    # The singular values of several matrices have a wrong shape.
    ("torch.linalg.matrix_rank", "batch"),
    ("torch.linalg.matrix_rank", "one-by-one"),
    # The gradients of tanh lack a conjugate.
    ("torch.autograd.functional.jvp", "elementwise[name=tanh,dtype=complex64]"),
    # Values that move to the host and back lose their imaginary part.
    ("torch.ormqr", "dtypes[dtype=complex128]"),
    # torch.manual_seed does not change the device's random state.
    ("torch.nn.functional.dropout", "draws-differ"),
    ("torch.nn.init.xavier_uniform_", "draws-differ"),
    # The gradient shares its memory with what comes from above, and what is added to it changes both.
    ("torch.sum", "backward-passes-of-a-cube"),
    # The variance loses its digits where the mean is large.
    ("torch.nn.functional.batch_norm", "large-mean-in-float32"),
    # The running variance, which the call updates in place, is the biased one.
    ("torch.nn.functional.batch_norm", "dtypes[training=true,dtype=float32]"),
    ("torch.nn.functional.batch_norm", "dtypes[training=true,dtype=float64]"),
}

LACKING = {
    ("torch.Tensor.data_ptr", "views"): "not_implemented",
    ("torch.cuda", "is-available"): "not_implemented",
    ("torch.cuda", "current-device"): "not_implemented",
    ("torch.cuda.synchronize", "copies"): "not_implemented",
    ("torch.saddmm", "large"): "not_implemented",
    ("torch.zeros", "sparse"): "not_implemented",
    ("torch.linalg.matrix_rank", "product[dtype=complex64]"): "type",
    ("torch.linalg.matrix_rank", "tied-singular-values[dtype=complex64]"): "type",
    # Every step compiles a longer program.
    ("torch.optim.LBFGS", "quadratic[dtype=float32,line_search=null]"): "timeout",
}
"""A few functions of each kind."""

NAMED = {
    *WRONG,
    *LACKING,
    # The only one that passes: the shard's tests of this function draw.
    ("torch.nn.functional.dropout", "large"),
}

LONG_PROGRAMS = {"torch.optim.LBFGS", "torch.nn.Transformer", "torch.nn.TransformerEncoderLayer"}
"""Functions with large programs: compiling them takes three quarters of the time of the manifest."""

SMALL_TESTS = [
    "quadratic[dtype=float32,line_search=null]",
    "first-iteration*",
    "at-the-minimum*",
    "max-eval[max_eval=3]",
    "idle",
    "options",
    "forward[dtype=float32]",
    "evaluation[gradients=*",
    "inference[activation=relu,dtype=float32]",
    "mask[*",
    "without-batch",
    "layout",
]
"""Some of their tests: small programs, and one that grows with every step until the limit."""


@pytest.fixture
def study(run_manifest: Run) -> dict[str, Any]:
    """The study manifest through XLA: all tests of torch.multinomial, of LONG_PROGRAMS only SMALL_TESTS, a sixteenth of
    those of all other functions, and the tests that are named above. All of them run on the CPU of the same version."""
    manifest = json.loads((ROOT / "manifests" / "study" / "torch.json").read_text("utf-8"))
    others = {entry["function"] for entry in manifest["functions"]} - LONG_PROGRAMS - {"torch.multinomial"}
    options = {"device": "xla", "runs": 1, "protocol": "cold", "timeout": 20}
    document = run_manifest("torch", CURRENT, "study", function=sorted(others), shard="1/16", **options)
    named = {(function, test) for function, test in NAMED if function in others}
    tests = ["torch.multinomial::*", *sorted(f"{function}::{test}" for function, test in named)]
    functions = sorted({"torch.multinomial", *(function for function, _ in named)})
    results = [*document["results"]]
    for selected in (
        {"function": functions, "test": tests},
        {"function": sorted(LONG_PROGRAMS), "test": SMALL_TESTS},
    ):
        results += run_manifest("torch", CURRENT, "study", **selected, **options)["results"]
    return {**document, "results": results}


@pytest.mark.slow(minutes=5)
@pytest.mark.xdist_group("study of torch on xla")
def test_every_function_runs_on_xla_with_the_known_failures(study: dict[str, Any]) -> None:
    found = findings(study)
    assert removed(study) == set()
    assert _outcomes(study).keys() >= LONG_PROGRAMS and len(_outcomes(study)) == FUNCTIONS["torch"]
    assert {test: found.get(test) for test in LACKING} == LACKING
    complete = {name for name, ends in _outcomes(study).items() if "passed" not in ends}
    assert complete == {"torch.cuda", "torch.cuda.synchronize", "torch.Tensor.data_ptr"}
    others = [r["outcome"] for r in study["results"] if (r["function"], r["test"]) not in NAMED]
    assert 0.8 < others.count("passed") / len(others) < 0.95
    assert all(result["sync_check"]["passed"] for result in study["results"] if result["sync_check"])
    assert study["environment"]["device"]["kind"] == "xla"


@pytest.mark.slow
@pytest.mark.xdist_group("study of torch on xla")
def test_wrong_values_and_missing_kernels_have_different_categories(study: dict[str, Any]) -> None:
    numbers = {(r["function"], r["test"]): r["value_verdict"] for r in study["results"]}
    assert {test: numbers[test] for test in WRONG} == dict.fromkeys(WRONG, "wrong")
    passed = {r["value_verdict"] for r in study["results"] if r["outcome"] == "passed"}
    assert not passed & {"wrong", "imprecise"}


@pytest.mark.slow
@pytest.mark.xdist_group("study of torch on xla")
def test_the_cpu_of_the_same_version_is_the_control(study: dict[str, Any]) -> None:
    controls = {
        r["cpu_control"]["outcome"]
        for r in study["results"]
        if r["outcome"] not in ("passed", "skipped")
        and not r["function"].startswith("torch.cuda")
        and (r["function"], r["test"]) not in known_failures("torch", CURRENT)
    }
    assert controls == {"passed"}


@pytest.mark.slow
@pytest.mark.xdist_group("study of torch on xla")
def test_functions_that_fall_back_to_the_host_are_recorded(study: dict[str, Any]) -> None:
    operations: dict[str, set[str]] = {}
    for result in study["results"]:
        if result["placement"]["verdict"] in ("mixed", "host"):
            operations.setdefault(result["function"], set()).update(result["placement"]["host_operations"])
    assert all(name in operations.get(function, set()) for function, name in FALLS_BACK.items())
    assert not operations.keys() & {"torch.argsort", "torch.cat", "torch.sum"}
    # The counters of the timed calls show the same: torch_xla draws without replacement only on the host.
    for result in study["results"]:
        if result["function"] == "torch.multinomial" and result["outcome"] == "passed":
            is_on_host = result["placement"]["verdict"] in ("host", "mixed")
            assert is_on_host == result["test"].startswith(DRAWS_ON_HOST), result
            cold = [call["cold"]["counters"] for call in result["calls"] if call["cold"]]
            assert not cold or any("fallbacks" in counters for counters in cold) == is_on_host, result


def test_placement_of_sums_is_recorded_correctly(run_manifest: Run) -> None:
    document = run_manifest("torch", CURRENT, "placement", device="xla", runs=1, protocol="cold")
    assert _verdicts(document) == {"on-device": "device", "on-host": "host", "on-both": "mixed"}


@pytest.mark.parametrize("version", VERSIONS["torch"])
def test_on_the_cpu_everything_is_on_the_device(run_manifest: Run, version: str) -> None:
    document = run_manifest("torch", version, "placement", runs=1, protocol="cold")
    assert set(_verdicts(document).values()) == {"device"}


def test_the_papers_synchronization_does_not_wait(run_manifest: Run) -> None:
    document = run_manifest("torch", CURRENT, "placement", device="xla", runs=1, protocol="cold", sync="as-published")
    proofs = [result["sync_check"] for result in document["results"] if result["sync_check"]]
    assert proofs and not any(proof["passed"] for proof in proofs)


@pytest.mark.slow(minutes=1)
def test_known_wrong_functions_are_found_wrong(run_manifest: Run) -> None:
    host = run_manifest("torch", CURRENT, "known_wrong", runs=1, protocol="cold")
    assert findings(host) == {}
    device = run_manifest("torch", CURRENT, "known_wrong", device="xla", runs=1, protocol="cold")
    assert {r["outcome"] for r in device["results"]} == {"failed"}
    assert {r["cpu_control"]["outcome"] for r in device["results"]} == {"passed"}
    numbers = {(r["function"], r["test"]): r["value_verdict"] for r in device["results"]}
    # The number is right, its dtype is not.
    assert numbers.pop(("torch.count_nonzero", "dtype")) == "equal"
    assert len(numbers) >= 10 and set(numbers.values()) == {"wrong"}


ON_CUDA = [
    "trace_sees_where_operations_run",
    "only_kernels_have_kernel_time",
    "a_profile_and_a_trace_work_together",
    "precision_switches_are_restored",
    "a_cuda_device_that_cannot_be_used_has_a_reason",
]

CHECKS = {
    f"torch-{CURRENT}-xla": [
        "only_both_steps_wait",
        "trace_sees_what_falls_back",
        "counters_tell_what_a_call_cost",
        "complex_numbers_come_back_whole",
        "a_seed_fixes_what_is_drawn",
        "strict_multiplies_in_full_precision",
        "the_error_for_a_held_tpu_names_the_holder",
        "another_device_is_no_tpu",
    ],
    f"torch-{STUDY}-cpu": ["the_xla_of_the_paper_is_used_in_its_own_way", *ON_CUDA],
    f"torch-{CURRENT}-cpu": ON_CUDA,
}


@pytest.mark.parametrize(
    ("target", "check"),
    [
        pytest.param(target, check, marks=pytest.mark.xdist_group(f"checks of {target}"))
        for target, checks in CHECKS.items()
        for check in checks
    ],
)
def test_device_check(check_device: Callable[..., None], target: str, check: str) -> None:
    check_device("torch_device_checks", target, [target.rpartition("-")[2], *CHECKS[target]], check)


def test_xla_without_torch_xla_fails_with_one_sentence(
    environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    arguments = ["--framework", "torch", "--device", "xla", "--manifest", "manifests/placement/torch.json"]
    python = environment_python(f"torch-{STUDY}-cpu")
    command = [str(python), "-m", "runners", *arguments, "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr[-3000:]
    message, remedy = done.stderr.strip().splitlines()
    assert "torch_xla" in message and remedy
    assert not list(tmp_path.iterdir())


def test_a_tpu_set_by_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XRT_TPU_CONFIG", raising=False)
    assert runners.torch.variables("tpu")["XRT_TPU_CONFIG"].startswith("localservice")
    monkeypatch.setenv("XRT_TPU_CONFIG", "tpu_worker;0;10.0.0.2:8470")
    assert runners.torch.variables("tpu")["XRT_TPU_CONFIG"] == "tpu_worker;0;10.0.0.2:8470"
    chosen = {device: runners.torch.variables(device).get("PJRT_DEVICE") for device in runners.torch.DEVICES}
    assert chosen == {"cpu": None, "gpu": None, "tpu": "TPU", "xla": "CPU", "privateuse1": None}


def _verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {result["test"]: result["placement"]["verdict"] for result in document["results"]}


def _outcomes(document: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for result in document["results"]:
        found.setdefault(result["function"], set()).add(result["outcome"])
    return found

"""`portbench explain`, through the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from portbench.errors import BadInput, PortbenchError
from portbench.explain import plain_check
from portbench.explain.bundle import one_test
from portbench.explain.texts import trimmed
from portbench.formats.documents import read_document
from runners.core.testing import compare
from tests.paths import OLDER_STUDIES, ROOT
from tests.unit.host.clones import COMMAND, REPOSITORY

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]

TRACEBACK = """Traceback (most recent call last):
  File "/home/me/portbench/runners/core/worker.py", line 107, in _test
    self._case(request)(trial)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/portbench/runners/torch/cases/layers.py", line 109, in gelu
    trial.call(value)
  File "/home/me/env/lib/python3.10/site-packages/torch/nn/gelu.py", line 5, in forward
    raise RuntimeError("no")
RuntimeError: no
"""
ERROR = {"type": "RuntimeError", "message": "no <b>such</b> kernel\x1b[2J", "traceback": TRACEBACK, "causes": []}
PASSED = {"outcome": "passed", "reason": None, "category": None, "error": None}
DIGEST = "sha256:" + "d" * 64


@pytest.fixture
def torch_manifest(write: Write, manifest: Document) -> Path:
    return write("manifest/torch.json", manifest)


@pytest.fixture
def study(write: Write, make_run: Make, make_result: Make, torch_manifest: Path) -> Path:
    """torch.argsort: passes on the CPU, fails in one test on a GPU, in a container whose image is known."""
    row, other = "rows[dtype=int32,axis=1]", "rows[dtype=float32,axis=0]"
    name = {"name": "study-torch", "sha256": read_document(torch_manifest).sha256, "selection": []}
    cpu = make_run([make_result("torch.argsort", test, run) for test in (row, other) for run in (1, 2, 3)])
    failed = {
        "outcome": "failed",
        "category": "not_implemented",
        "error": ERROR,
        "cpu_control": PASSED,
        "placement": {"verdict": "mixed", "evidence": ["sort on cpu"], "host_operations": ["aten::sort"]},
        "output": {"text": "a warning\n", "total_bytes": 10},
        "value_verdict": "imprecise",
        "deviation": {"dtype": "float32", "device": 0.125, "host": None, "other_seed": 0.0},
        "full_precision": {"outcome": "failed", "reason": None, "category": "other", "error": ERROR},
        "contaminated": {
            "outcome": "timed_out",
            "reason": "no result within 1 s",
            "category": "timeout",
            "error": None,
        },
        "disturbed": {
            "outcome": "crashed",
            "reason": "the worker was ended by SIGKILL",
            "category": "crash",
            "error": None,
        },
    }
    results = [make_result("torch.argsort", row, run, **failed) for run in (1, 2)]
    results += [make_result("torch.argsort", other, run) for run in (1, 2)] + [make_result("torch.cat")]
    gpu = make_run(results, target="torch-2.9.0-gpu", machine="gpubox")
    gpu["environment"] |= {"container": "docker", "image_digest": DIGEST}
    for position, document in enumerate((cpu, gpu)):
        write(f"runs/{position}.json", {**document, "manifest": name})
    return torch_manifest.parents[1] / "runs"


def test_each_target_is_shown_with_its_evidence(portbench: Command, study: Path) -> None:
    done = portbench("explain", study, "torch.argsort")
    assert done.exit_code == 0, done.output
    cpu, gpu = done.output.split("torch.argsort on torch-2.9.0-gpu, gpubox: some fail")
    assert "torch.argsort on torch-2.9.0-cpu, box: all tests pass" in cpu
    assert "3 passed" in cpu
    for words in (
        "2 failed",
        "category        not implemented",
        "error           RuntimeError: no <b>such</b> kernel\\x1b[2J",
        "values          imprecise, off by 0.125 (the host by not finite), float32",
        "on the CPU      passed",
        "full precision  failed: RuntimeError: no",
        "after others    timed out: no result within 1 s",
        "disturbed       by something outside of the test: the first try crashed: the worker was ended by SIGKILL",
        "ran on          mixed, sort on cpu",
        "on the host     aten::sort",
        "Python 3.10.13, torch 2.9.0, numpy 1.26.4",
        f"image           {DIGEST}",
    ):
        assert words in gpu, words
    assert re.search(r"fingerprint +[0-9a-f]{8,}: ", gpu)
    assert "Traceback" not in gpu
    assert "\x1b[2J" not in done.output


def test_a_category_decided_by_an_annotation_is_shown_with_its_reason(
    portbench: Command, study: Path, write: Write, tmp_path: Path
) -> None:
    entry = {"function": "torch.argsort", "category": "precision", "reason": "sorts by float16", "link": "bug 12"}
    document = {"schema": "portbench/annotations", "schema_version": 1, "annotations": [entry]}
    merged = tmp_path / "study"
    assert portbench("merge", study, "-o", merged).exit_code == 0
    annotations = write("annotations.json", document)
    assert portbench("classify", merged, "--annotations", annotations, "-o", merged).exit_code == 0
    done = portbench("explain", merged, "torch.argsort")
    assert "category        precision, by hand: sorts by float16 (bug 12); " in done.output


def test_one_test_is_shown_in_full(portbench: Command, study: Path) -> None:
    done = portbench("explain", study, "torch.argsort", "--test", "rows[dtype=int32,axis=1]", "--target", "torch-gpu")
    assert 'File "torch/nn/gelu.py", line 5, in forward' in done.output
    assert "a warning" in done.output
    assert "dtype=float32" not in done.output
    assert "torch-2.9.0-cpu" not in done.output


def test_the_command_runs_the_first_failing_test_alone(
    portbench: Command, study: Path, torch_manifest: Path, tmp_path: Path
) -> None:
    done = portbench("explain", study, "torch.argsort", "--manifest", torch_manifest, "--json")
    again = json.loads(done.stdout)["again"]
    assert again["command"] == (
        f"portbench run torch-2.9.0-gpu --manifest {torch_manifest} --function torch.argsort "
        "--test 'rows[dtype=int32,axis=1]' --runs 1 --protocol cold --backend docker"
    )
    assert again["notes"] == [f"It ran in the image {DIGEST}; --bundle writes a command for that very image."]


def test_without_a_recorded_limit_the_test_is_repeated_with_the_usual_one(
    portbench: Command, write: Write, make_run: Make
) -> None:
    run = make_run(target="torch-9.9.9-cpu")
    run["protocol"]["timeout_s"] = None
    done = portbench("explain", write("run.json", run), "torch.cat", "--json")
    assert done.exception is None
    again = json.loads(done.stdout)["again"]
    assert again["command"].endswith("--test rows --runs 1 --protocol both --backend current")


@pytest.mark.parametrize(("backend", "note"), [("venv", ""), ("current", "It ran in a Python of the user"), (None, "")])
def test_the_command_names_the_backend_that_was_used(
    portbench: Command, write: Write, make_run: Make, torch_manifest: Path, backend: str | None, note: str
) -> None:
    run = make_run(target="torch-2.9.0-cpu")
    run["environment"] |= {"container": "docker"} | ({"backend": backend} if backend else {})
    done = portbench("explain", write("run.json", run), "torch.cat", "--json")
    again = json.loads(done.stdout)["again"]
    assert again["command"].endswith(f"--backend {backend}" if backend else "--protocol both")
    assert any(each.startswith(note) for each in again["notes"])


def test_a_test_that_passes_is_repeated_as_it_was(portbench: Command, write: Write, make_run: Make) -> None:
    run = make_run(sync="as-published", target="torch-9.9.9-cpu")
    run["protocol"] |= {"timeout_s": 30.0, "cold": "process"}
    done = portbench("explain", write("run.json", run), "torch.cat", "--json")
    again = json.loads(done.stdout)["again"]
    assert again["command"].endswith(
        "--test rows --runs 1 --protocol both --sync as-published --cold process --timeout 30 --backend current"
    )
    # The clone's manifest of that name is another one, and it has no such version.
    changed, no_lock = again["notes"]
    assert changed == "manifests/study/torch.json has changed since this run: the test may be another one."
    assert "no lock for this target" in no_lock


def test_json_has_every_fact(portbench: Command, study: Path) -> None:
    done = portbench("explain", study, "torch.argsort", "--json")
    cpu, gpu = json.loads(done.stdout)["targets"]
    assert (cpu["status"], gpu["status"]) == ("all_pass", "some_fail")
    passed, failed = gpu["tests"]
    assert passed["times"]["cold_samples"] == 2
    assert passed["times"]["cold_median_ns"] == 1_500_000
    assert passed["times"]["steady_median_ns"] == 20_000
    assert [row["run"] for row in failed["results"]] == [1, 2]
    assert failed["results"][0]["error_traceback"] == TRACEBACK
    assert failed["results"][0]["cpu_control"]["outcome"] == "passed"
    assert gpu["runs"][0]["environment"]["image_digest"] == DIGEST


def test_a_worker_that_died_is_shown_and_the_sixth_failure_is_only_counted(
    portbench: Command, write: Write, make_run: Make, make_result: Make
) -> None:
    results = [make_result(test=f"t{number}", outcome="crashed") for number in range(7)]
    done = portbench("explain", write("run.json", make_run(results)), "torch.cat")
    assert "reason          the worker was ended by SIGSEGV" in done.output
    assert "worker ended    SIGSEGV, at most 286 MiB" in done.output
    assert done.output.count("worker ended") == 5
    assert "2 more did not pass; --test ID shows one" in done.output


@pytest.mark.parametrize("version", ["version_1", "version_2"])
def test_a_study_of_an_older_version_is_explained(portbench: Command, version: str) -> None:
    done = portbench("explain", OLDER_STUDIES / version, "torch.dot")
    assert "torch.dot on torch-2.9.0-xla, box: some fail" in done.output
    assert "RuntimeError: it does not work" in done.output


def test_a_successor_is_shown_with_its_function(
    portbench: Command, write: Write, make_run: Make, make_result: Make
) -> None:
    results = [make_result("torch.old", outcome="skipped"), make_result("torch.new", successor_of="torch.old")]
    path = write("run.json", make_run(results))
    for function in ("torch.old", "torch.new"):
        done = portbench("explain", path, function)
        assert "torch.new (in place of torch.old) on torch-2.9.0-cpu, box: all tests pass" in done.output
        assert "--function torch.old --test rows" in done.output


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (["torch.argsrt"], 'no function "torch.argsrt"; did you mean torch.argsort', "Known: torch.argsort, torch.cat"),
        (["argsort"], "did you mean torch.argsort?", "Known"),
        ([""], 'no function ""', "Known"),
        (["x\x1b"], 'no function "x\\u001b"', "Known"),
        (["torch.argsort", "--test", "rows"], "did you mean rows[dtype=float32,axis=0]", "Known: rows"),
        (["torch.argsort", "--target", "torch-2.9-gpu"], "did you mean torch-2.9.0-gpu", "Known: torch-2.9.0-cpu"),
    ],
)
def test_near_misses_are_named(
    portbench: Command, study: Path, arguments: list[str], message: str, remedy: str
) -> None:
    error = portbench("explain", study, *arguments).exception
    assert isinstance(error, BadInput)
    assert message in str(error)
    assert remedy in error.remedy
    assert str(error).isprintable()


def test_a_bundle_repeats_one_test_in_its_image(
    portbench: Command, study: Path, torch_manifest: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    done = portbench("explain", study, "torch.argsort", "--manifest", torch_manifest, "--bundle", bundle)
    assert done.exit_code == 0, done.output
    assert f"wrote {bundle / 'report.md'}" in done.output
    assert sorted(path.name for path in bundle.iterdir()) == [
        "environment.json",
        "manifest.json",
        "report.md",
        "reproduce.py",
        "reproduce.sh",
        "traceback.txt",
    ]
    program = (bundle / "reproduce.py").read_text()
    compile(program, "reproduce.py", "exec")
    assert "device = 'cuda'" in program
    assert "output = torch.argsort(tensor0, dim=1)" in program
    assert "check(output, np.argsort(array0, axis=1))" in program
    (entry,) = read_document(bundle / "manifest.json", "manifest").data["functions"]
    (test,) = entry["tests"]
    assert test["grid"] == {"dtype": ["int32"], "axis": [1]}
    command = (bundle / "reproduce.sh").read_text().splitlines()[-1]
    assert command.startswith("docker run --rm")
    assert f"{DIGEST} --manifest /manifest.json --out /results --runs 1 --protocol cold" in command
    assert subprocess.run(["sh", "-n", bundle / "reproduce.sh"], check=False).returncode == 0
    assert json.loads((bundle / "environment.json").read_text())["image_digest"] == DIGEST
    assert "runners/core" not in (bundle / "traceback.txt").read_text()
    report = (bundle / "report.md").read_text()
    assert report.startswith("# torch.argsort on gpu: no &lt;b&gt;such&lt;/b&gt; kernel")
    assert "torch.argsort of torch 2.9.0 on gpu: failed in 2 of 2 runs." in report
    assert "on the CPU: passed" in report
    assert "\x1b" not in report
    assert command in report
    assert program in report


def test_a_bundle_quotes_a_case_that_is_written_in_python(
    portbench: Command, make_run: Make, make_result: Make, write: Write, tmp_path: Path
) -> None:
    manifest = json.loads((ROOT / "manifests" / "study" / "torch.json").read_text())
    case = {"case": "torch.cuda:cuda_is_available", "outcome": "failed"}
    write("runs/run.json", make_run([make_result("torch.cuda", "is-available", **case)], manifest=manifest["name"]))
    bundle = tmp_path / "bundle"
    done = portbench("explain", tmp_path / "runs", "torch.cuda", "--bundle", bundle)
    assert done.exit_code == 0, done.output
    assert "def cuda_is_available(trial: Trial)" in (bundle / "case.py").read_text()
    assert not (bundle / "reproduce.py").exists()


def test_a_bundle_does_not_overwrite(portbench: Command, study: Path, torch_manifest: Path, write: Write) -> None:
    folder = write("there/mine.txt", "mine").parent
    done = portbench("explain", study, "torch.argsort", "--manifest", torch_manifest, "--bundle", folder)
    assert isinstance(done.exception, PortbenchError)
    assert "exists and is not empty" in str(done.exception)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_a_bundle_of_a_test_that_the_manifest_lacks_is_an_error(
    portbench: Command, study: Path, manifest: Document, write: Write, tmp_path: Path
) -> None:
    manifest["functions"][0]["tests"].pop(0)
    changed = write("changed.json", manifest)
    done = portbench("explain", study, "torch.argsort", "--manifest", changed, "--bundle", tmp_path / "bundle")
    assert isinstance(done.exception, BadInput)
    assert "has no test rows[dtype=int32,axis=1] of torch.argsort: it has changed since the run" in str(done.exception)
    assert not (tmp_path / "bundle").exists()


def test_code_in_a_message_cannot_end_its_block(
    portbench: Command, write: Write, make_run: Make, make_result: Make, manifest: Document, tmp_path: Path
) -> None:
    error = {**ERROR, "message": "a\n```\n# not a title\n````\n"}
    results = [make_result("torch.argsort", "stable", outcome="failed", error=error)]
    arguments = [write("run.json", make_run(results)), "torch.argsort", "--manifest", write("m.json", manifest)]
    done = portbench("explain", *arguments, "--bundle", tmp_path / "bundle")
    assert done.exit_code == 0, done.output
    assert "\n`````\nstopped in: call\n" in (tmp_path / "bundle" / "report.md").read_text()


def test_a_bundle_gives_the_same_outcome_again(tmp_path: Path) -> None:
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable, "PORTBENCH_IMAGE_DIGEST": ""}

    def run(*arguments: str) -> None:
        command = [*COMMAND, *arguments]
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    once = ["--backend", "current", "--protocol", "cold", "--runs", "1"]
    run("run", "fake-cpu", "--manifest", "faults", "--test", "*ai*", "--out", str(tmp_path / "first"), *once)
    bundle = tmp_path / "bundle"
    run("explain", str(tmp_path / "first"), "fake.identity", "--test", "fails", "--bundle", str(bundle))
    single = ["--manifest", str(bundle / "manifest.json"), "--out", str(tmp_path / "second")]
    run("run", "fake-cpu", *single, *once)
    (path,) = (tmp_path / "second").glob("*.json")
    (result,) = read_document(path, "run").data["results"]
    assert (result["function"], result["test"], result["outcome"]) == ("fake.identity", "fails", "failed")


def test_a_manifest_with_one_test_of_a_grid(tmp_path: Path) -> None:
    path = REPOSITORY / "manifests" / "study" / "tensorflow.json"
    single = one_test(path, "tf.keras.optimizers.experimental.Adadelta", 'options[options={"clipnorm":0.5}]')
    (entry,) = single["functions"]
    assert entry["tests"][0]["grid"] == {"options": [{"clipnorm": 0.5}]}
    assert entry["successors"] == ["tf.keras.optimizers.Adadelta"]


def test_a_traceback_is_trimmed() -> None:
    assert trimmed(TRACEBACK) == (
        "Traceback (most recent call last):\n"
        '  File "runners/torch/cases/layers.py", line 109, in gelu\n    trial.call(value)\n'
        '  File "torch/nn/gelu.py", line 5, in forward\n    raise RuntimeError("no")\n'
        "RuntimeError: no\n"
    )
    frame = '  File "/a/site-packages/b.py", line {}, in c\n    d()\n'
    long = "Traceback:\n" + "".join(frame.format(line) for line in range(50)) + "E: no\n"
    assert trimmed(long).startswith('Traceback:\n  ... 30 frames left out\n  File "b.py", line 30, in c\n')
    assert trimmed("") == ""


def test_programs_of_a_bundle_allow_what_the_runner_allows() -> None:
    assert plain_check.tolerances() == compare.TOLERANCES


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_rounding_is_allowed_and_no_more(dtype: str) -> None:
    rtol, atol = plain_check.rounded()[dtype]
    digit, least = np.finfo(dtype).eps, np.finfo(dtype).smallest_subnormal
    assert rtol == digit / 2 and atol == float(least) / 2

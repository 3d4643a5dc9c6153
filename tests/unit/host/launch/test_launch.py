"""`portbench launch`: the files for each engine, what is printed, and what is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.errors import BadInput, EnvironmentFailed
from tests.unit.host.launch.sharded import OPTIONS, TESTS, write_manifest

S3 = ("--results", "s3://bucket/results")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_manifest(tmp_path)
    return tmp_path


def launch(engine: str, *words: str, targets: tuple[str, ...] = ("fake-cpu",), shards: int = 2) -> Result:
    """Its result; raises its error."""
    common = ["launch", engine, *targets, *OPTIONS, "--shards", str(shards), "-o", "jobs"]
    done = CliRunner().invoke(cli, [*common, *words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_slurm_gets_an_array_of_shards_each_in_a_folder_of_its_own(folder: Path) -> None:
    done = launch("slurm", "--results", "my results", "--sbatch=--partition=gpu", "--machine", "a'b")
    assert "sbatch jobs/fake-cpu.slurm.sh" in done.output
    assert f"portbench merge '{folder}/my results' -o study" in done.output
    text = (folder / "jobs/fake-cpu.slurm.sh").read_text()
    assert {"#SBATCH --array=1-2", "#SBATCH --requeue", "#SBATCH --partition=gpu"} <= set(text.splitlines())
    assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
    # The script with another program in place of Python says what Python would be given.
    first = text.index(" -m portbench")
    script = text[: text.rindex("\n", 0, first) + 1] + 'printf "%s\\n" "$PORTBENCH_MACHINE"' + text[first:]
    shown = subprocess.run(["bash"], input=script, text=True, capture_output=True, env={"SLURM_ARRAY_TASK_ID": "2"})
    words = shown.stdout.splitlines()
    assert words[0] == "a'b" and words[words.index("--shard") + 1] == "2/2"
    assert words[words.index("--out") + 1] == f"{folder}/my results/fake-cpu/2-of-2"
    assert words[words.index("--manifest") + 1] == f"{folder}/m.json" and "--resume" in words


def test_results_in_a_store_are_copied_there_and_merged_from_there(folder: Path) -> None:
    done = launch("slurm", *S3)
    assert "portbench merge 's3://bucket/results/**/*.json' -o study" in done.output
    text = (folder / "jobs/fake-cpu.slurm.sh").read_text()
    assert "--copy-to s3://bucket/results/fake-cpu" in text and f"--out {folder}/jobs/results/fake-cpu/" in text


def test_kubernetes_gets_an_indexed_job(folder: Path) -> None:
    words = ["--image", "example.org/p:1", "--claim", "c", "--results", "/results", "--queue", "q"]
    words += ["--resource", "nvidia.com/gpu=1", "--node-selector", "kind=h100"]
    done = launch("kubernetes", *words, shards=3)
    assert "kubectl apply -f jobs/fake-cpu.kubernetes.yaml" in done.output
    job = yaml.safe_load((folder / "jobs/fake-cpu.kubernetes.yaml").read_text())
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "q"
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["backoffLimitPerIndex"]) == ("Indexed", 3, 3)
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["nodeSelector"] == {"kind": "h100"} and pod["restartPolicy"] == "Never"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "1"} and container["image"] == "example.org/p:1"
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "c"}
    assert container["volumeMounts"][0]["mountPath"] == "/results"
    assert _arguments(container["command"], folder, JOB_COMPLETION_INDEX="0")[-3:] == [
        *("1/3", "--out", "/results/fake-cpu/1-of-3")
    ]


def test_skypilot_gets_a_task_and_a_job_for_each_shard(folder: Path) -> None:
    words = ["launch", "skypilot", "torch-cpu", "--shards", "2", *S3, "-o", "jobs", "--manifest", "study"]
    done = CliRunner().invoke(cli, [*words, "--accelerators", "H100:1", "--spot"])
    assert done.exit_code == 0, done.exception
    assert done.output.count("sky jobs launch --yes --detach-run") == 2
    task = yaml.safe_load((folder / "jobs/torch-cpu.sky.yaml").read_text())
    assert task["resources"]["accelerators"] == "H100:1" and task["resources"]["use_spot"] is True
    (mounted,) = task["file_mounts"].items()
    assert mounted == ("/portbench-results", {"source": "s3://bucket/results", "mode": "MOUNT_CACHED"})
    assert task["run"].endswith('--shard "$SHARD/2" --out /portbench-results/torch-cpu/"$SHARD-of-2"')


def test_ray_gets_a_program_for_each_target(folder: Path) -> None:
    done = launch("ray", "--results", "results", "--cpus", "2", "--resource", "TPU=4", targets=("fake-cpu", "fake-xla"))
    assert done.exit_code == 0, done.output
    for target in ("fake_cpu", "fake_xla"):
        text = (folder / f"jobs/{target}_on_ray.py").read_text()
        compile(text, target, "exec")
        assert "resources={'TPU': 4.0}" in text and "num_cpus=2.0" in text


def test_the_estimate_is_tests_by_seconds_by_price(folder: Path, write_run: Any) -> None:
    words = ("--results", "r", "--price-per-hour", "36")
    done = launch("slurm", *words, "--seconds-per-test", "100")
    (line,) = [line for line in done.output.splitlines() if "shards of" in line]
    assert f"{TESTS} tests, 1 run, 2 shards" in line and f"{TESTS:.2f} at 36 an hour" in line
    measured = launch("slurm", *words, "--measured", str(write_run(seconds=40, results=4)))
    assert "at 10 s a test" in measured.output and f"{TESTS / 10:.2f} at 36 an hour" in measured.output
    assert "no estimate without" in launch("slurm", "--results", "r").output


def test_tests_that_are_not_timed_cost_one_run(folder: Path) -> None:
    manifest = json.loads((folder / "m.json").read_text())
    for entry in manifest["functions"]:
        entry["tests"] = [{**test, "timed": False} for test in entry["tests"]]
    (folder / "m.json").write_text(json.dumps({**manifest, "schema_version": 7}))
    done = launch("slurm", "--results", "r", "--price-per-hour", "36", "--seconds-per-test", "100", "--runs", "3")
    assert f"{TESTS} tests, 3 runs, 2 shards" in done.output and f"{TESTS:.2f} at 36 an hour" in done.output


@pytest.fixture
def write_run(folder: Path) -> Any:
    def write(seconds: int, results: int) -> Path:
        document = json.loads((Path(__file__).parents[3] / "examples/run/valid/disturbed.json").read_text())
        document["results"] = [{**document["results"][0], "test": str(place)} for place in range(results)]
        document |= {"started_at": "2026-01-01T00:00:00Z", "ended_at": f"2026-01-01T00:00:{seconds}Z"}
        (folder / "run.json").write_text(json.dumps(document))
        return folder / "run.json"

    return write


@pytest.mark.parametrize(
    ("engine", "words", "message"),
    [
        ("slurm", ["--results", "r", "--sbatch", "partition=x"], "does not begin with --"),
        ("slurm", ["--results", "https://example.org/x"], "no folder of an object store"),
        ("slurm", ["--results", "a\nb"], "cannot be printed"),
        ("kubernetes", ["--image", "i", "--results", "/r"], "results go to a store or to a volume"),
        ("kubernetes", ["--image", "i", "--results", "r", "--claim", "c"], "is not absolute"),
        ("kubernetes", ["--image", "i", *S3, "--resource", "cpu"], "expected NAME=VALUE"),
        ("skypilot", [*S3], "which SkyPilot copies"),
        ("ray", ["--results", "r", "--resource", "TPU=x"], "expected NAME=NUMBER"),
    ],
)
def test_wrong_input_is_one_error_and_writes_nothing(folder: Path, engine: str, words: list[str], message: str) -> None:
    try:
        said = launch(engine, *words).output
    except BadInput as error:
        said = str(error)
    assert message in " ".join(said.split())
    assert not (folder / "jobs").exists()


def test_more_shards_than_tests_are_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match=rf"has none of the {TESTS} selected tests"):
        launch("slurm", "--results", "r", shards=1000)


def test_without_the_engine_the_files_are_written_and_the_error_names_its_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailed, match="sbatch cannot be started"):
        launch("slurm", "--results", "r", "--submit")
    assert (folder / "jobs/fake-cpu.slurm.sh").exists()


def _arguments(command: list[str], folder: Path, **variables: str) -> list[str]:
    """What a shell gives to portbench."""
    program = folder / "bin/portbench"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()

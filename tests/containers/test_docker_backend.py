"""`portbench run` with the docker backend, with a real engine and the framework that needs nothing installed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.containers.conftest import assert_names
from tests.paths import ROOT

COMMAND = [sys.executable, "-m", "portbench", "run", "fake-cpu"]


def portbench_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    return subprocess.run([*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True)


def run(*arguments: str) -> dict[str, Any]:
    """The final object of a run that must succeed."""
    done = portbench_run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    return dict(target)


def containers_left() -> str:
    """The target's containers, running or not. The engine removes a container a moment after Compose has ended, so it
    is asked again, up to 100 times."""
    command = ["docker", "ps", "--all", "--quiet", "--filter", "name=portbench-fake-1.0.0-cpu"]
    found = ""
    for _ in range(100):
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if not found:
            break
    return found


def hanging(folder: Path) -> Path:
    """A manifest, outside the clone's manifests, whose second test never ends by itself."""
    tests = [{"id": id, "case": f"fake.behaviours:{id}"} for id in ("passes", "hangs")]
    document = {"schema": "portbench/manifest", "schema_version": 1, "name": "hang", "framework": "fake"}
    path = folder / "hang.json"
    path.write_text(json.dumps({**document, "functions": [{"function": "fake.identity", "tests": tests}]}))
    return path


def test_auto_takes_the_image_that_is_there_and_the_run_file_names_it(image: str, results: Path) -> None:
    target = run("--manifest", "faults", "--runs", "1", "--out", str(results))
    assert target["backend"] == "docker"
    document = json.loads(Path(target["run_file"]).read_text())
    assert_names(document, image)
    assert document["environment"]["container"] == "docker"
    assert Path(target["run_file"]).stat().st_uid == results.stat().st_uid
    assert containers_left() == ""


def test_outcomes_are_those_of_a_native_run(image: str, results: Path, tmp_path: Path) -> None:
    options = ("--manifest", "faults", "--runs", "1")
    contained = run(*options, "--backend", "docker", "--out", str(results))
    native = run(*options, "--backend", "venv", "--out", str(tmp_path / "native"))

    def outcomes(target: dict[str, Any]) -> dict[tuple[str, str], str]:
        document = json.loads(Path(target["run_file"]).read_text())
        return {(each["function"], each["test"]): each["outcome"] for each in document["results"]}

    assert outcomes(contained) == outcomes(native)


def test_ctrl_c_ends_the_container_keeps_the_journal_and_resume_goes_on(
    image: str, results: Path, tmp_path: Path
) -> None:
    options = ["--backend", "docker", "--manifest", str(hanging(tmp_path)), "--out", str(results), "--runs", "1"]
    pipe = subprocess.PIPE
    process = subprocess.Popen([*COMMAND, *options], cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    assert process.stderr is not None
    assert any("0/2" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "--resume" in stderr
    assert containers_left() == ""
    (journal,) = results.iterdir()
    assert journal.name.endswith(".journal.jsonl")
    assert journal.stat().st_uid == results.stat().st_uid


def test_an_image_that_is_not_built_is_one_error_that_says_how(image: str) -> None:
    subprocess.run(["docker", "tag", image, "portbench/fake:kept"], check=True, capture_output=True)
    own = subprocess.run(
        ["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", f"{image}*"], capture_output=True, text=True
    ).stdout.split()
    subprocess.run(["docker", "rmi", *own], check=True, capture_output=True)
    try:
        done = portbench_run("--manifest", "faults", "--backend", "docker")
    finally:
        for name in own:
            subprocess.run(["docker", "tag", "portbench/fake:kept", name], check=True, capture_output=True)
        subprocess.run(["docker", "rmi", "portbench/fake:kept"], check=True, capture_output=True)
    assert done.returncode == 3
    assert f"the image {image} is not built" in done.stderr
    assert "portbench images build fake-1.0.0-cpu" in done.stderr


def test_a_stopped_engine_is_one_error_that_says_how(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    done = portbench_run("--manifest", "faults", "--backend", "docker")
    assert done.returncode == 3
    assert "no Docker engine answers" in done.stderr
    assert "systemctl start docker" in done.stderr


def test_the_functions_of_an_image_are_those_of_the_environment(image: str) -> None:
    def functions(backend: str) -> Any:
        command = [sys.executable, "-m", "portbench", "enumerate", "fake-cpu", "--backend", backend, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["functions"]

    contained = functions("docker")
    assert "fake.scale" in {entry["name"] for entry in contained}
    assert contained == functions("venv")
    assert containers_left() == ""


def test_a_file_of_mutants_is_read_in_the_container(image: str, tmp_path: Path) -> None:
    entry = '{"function": "fake.scale", "name": "lost", "class": "value", "what": "nothing is scaled", "mutate": lost}'
    (tmp_path / "mine.py").write_text(
        f"def lost(scale):\n    return lambda tensor, factor: tensor\n\nMUTANTS = [{entry}]\n"
    )
    command = [*COMMAND[:-2], "mutation-test", "faults", "--target", "fake-cpu", "--backend", "docker", "--json"]
    done = subprocess.run(
        [*command, "--mutants", str(tmp_path / "mine.py")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["noticed"] == 1, done.stdout
    assert containers_left() == ""

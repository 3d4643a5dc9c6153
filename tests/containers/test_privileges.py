"""What the process in a container is: never root, with the groups of the accelerators' nodes; and how it is ended."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.containers.conftest import last_line
from tests.containers.test_docker_backend import hanging, portbench_run
from tests.paths import ROOT

RUN = ("run", "--rm", "--no-TTY")
GROUP = 4242
OPEN = """
import json, os, pathlib
def opened(path):
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError as error:
        return error.strerror
    return "opened"
nodes = sorted(map(str, pathlib.Path("/dev").glob("accel*")))
print(json.dumps({"groups": os.getgroups(), **{node: opened(node) for node in nodes}}))
"""

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root: to create device nodes, to own ./results")


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """An override with two nodes for fake-cpu: accel0 is root's alone, accel1 is for a group. They read zeros."""
    lines = ["services:", "  fake-cpu:", "    devices:"]
    for name, mode, group in (("accel0", 0o600, 0), ("accel1", 0o660, GROUP)):
        node = tmp_path / name
        os.mknod(node, stat.S_IFCHR | mode, os.makedev(1, 5))
        node.chmod(mode)
        os.chown(node, 0, group)
        lines.append(f"      - {node}:/dev/{name}")
    path = tmp_path / "devices.yaml"
    path.write_text("\n".join(lines))
    return path


@needs_root
@pytest.mark.parametrize("owner", [1234, 0])
def test_a_node_of_root_stays_closed_and_one_of_a_group_opens(
    compose, image: str, results: Path, devices: Path, owner: int
) -> None:
    os.chown(results, owner, owner)
    files = ("--file", "compose.yaml", "--file", str(devices))
    command = ("--entrypoint", "as-owner", "fake-cpu", "python", "-c", OPEN)
    done = compose(*files, *RUN, *command, env={"PORTBENCH_RESULTS": str(results)})
    assert done.returncode == 0, done.stderr
    found = last_line(done)
    assert set(found.pop("groups")) - {owner or 65532} == {GROUP}
    assert found == {"/dev/accel0": "Permission denied", "/dev/accel1": "opened"}


@needs_root
def test_for_a_folder_of_root_a_user_without_rights_runs_and_root_gets_the_files(
    compose, image: str, results: Path
) -> None:
    os.chown(results, 0, 0)
    env = {"PORTBENCH_RESULTS": str(results)}
    script = "id -u; grep CapBnd /proc/self/status; mkdir -m 700 /results/d; touch /results/d/f; exit 7"
    done = compose(*RUN, "--entrypoint", "as-owner", "fake-cpu", "sh", "-c", script, env=env)
    assert done.stdout.split()[-3:] == ["65532", "CapBnd:", "0" * 16]
    assert done.returncode == 7
    done = compose(*RUN, "fake-cpu", "--function", "fake.scale", "--runs", "1", env=env)
    assert done.returncode == 0, done.stderr
    left = [results, *results.rglob("*")]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in left} == {(0, 0)}
    assert sorted(path.suffix for path in left) == ["", "", "", ".json"]


@needs_root
def test_a_container_that_is_killed_leaves_a_folder_that_the_next_one_returns(
    compose, image: str, results: Path
) -> None:
    os.chown(results, 0, 0)
    env = {"PORTBENCH_RESULTS": str(results)}
    name = "portbench-is-killed"
    command = ("--entrypoint", "as-owner", "fake-cpu", "sh", "-c", "touch /results/a; sleep 600")
    done = compose(*RUN, "--detach", "--name", name, *command, env=env)
    assert done.returncode == 0, done.stderr
    while not (results / "a").exists():
        inspect = ["docker", "inspect", "--format", "{{.State.Running}}", name]
        assert "true" in subprocess.run(inspect, capture_output=True, text=True).stdout
    subprocess.run(["docker", "rm", "--force", name], check=True, capture_output=True)
    assert {path.stat().st_uid for path in (results, results / "a")} == {65532}
    done = compose(*RUN, "--entrypoint", "as-owner", "fake-cpu", "true", env=env)
    assert done.returncode == 0, done.stderr
    assert {path.stat().st_uid for path in (results, results / "a")} == {0}


@pytest.mark.parametrize("owner", [1234, pytest.param(0, marks=needs_root)])
@pytest.mark.parametrize("to", ["compose", "container"])
def test_sigterm_ends_the_container_and_keeps_the_journal(
    image: str, results: Path, tmp_path: Path, to: str, owner: int
) -> None:
    if os.getuid() == 0:
        os.chown(results, owner, owner)
    name = f"portbench-sigterm-{to}-{owner}"
    command = ["docker", "compose", *RUN, "--name", name, "--volume", f"{hanging(tmp_path)}:/tmp/hang.json:ro"]
    command += ["fake-cpu", "--manifest", "/tmp/hang.json", "--runs", "1"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PORTBENCH_RESULTS": str(results)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert any("2 tests of hang" in line for line in process.stdout)
    while not any(path.stat().st_size for path in results.glob("*.journal.jsonl")):
        assert process.poll() is None
    if to == "container":
        subprocess.run(["docker", "stop", name], check=True, capture_output=True)
    else:
        # The Compose plugin passes signals on. The docker command before it ends the plugin without that.
        plugin = subprocess.run(["pgrep", "--parent", str(process.pid)], capture_output=True, text=True, check=True)
        os.kill(int(plugin.stdout), signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 130
    inspect = ["docker", "inspect", "--format", "{{.State.Running}}", name]
    assert "true" not in subprocess.run(inspect, capture_output=True, text=True).stdout
    (journal,) = results.iterdir()
    assert journal.name.endswith(".journal.jsonl")
    assert journal.stat().st_uid == results.stat().st_uid == (owner if os.getuid() == 0 else os.getuid())


def test_environment_variables_reach_a_container_as_they_reach_a_virtual_environment(
    image: str, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XLA_FLAGS", "OMP_NUM_THREADS", "TPU_X", "NVIDIA_API_KEY"):
        monkeypatch.setenv(name, "7")
    recorded = {}
    for backend, out in (("docker", results), ("venv", tmp_path / "native")):
        options = ("--backend", backend, "--out", str(out), "--function", "fake.scale", "--runs", "1")
        done = portbench_run("--manifest", "faults", *options)
        assert done.returncode == 0, done.stderr
        (run_file,) = out.glob("*.json")
        found = json.loads(run_file.read_text())["environment"]["variables"]
        recorded[backend] = {name: value for name, value in found.items() if value == "7"}
    assert recorded["docker"] == recorded["venv"] == {"XLA_FLAGS": "7", "OMP_NUM_THREADS": "7", "TPU_X": "7"}

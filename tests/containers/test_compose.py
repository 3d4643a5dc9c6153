"""The services of compose.yaml as a user starts them, with a real engine; by the service that needs no framework."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from portbench.validate import validate

# Tries what a container must not be able to do; prints what happened.
ATTEMPTS = """
import json, os, socket
def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        return error.strerror
    return "done"
def write(path):
    with open(path, "w"):
        pass
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()],
    "capabilities": {key: int(value, 16) for key, value in status.items() if key.startswith("Cap")},
    "new privileges barred": int(status["NoNewPrivs"]),
    "become root": attempt(os.setuid, 0),
    "network": attempt(socket.create_connection, ("1.1.1.1", 53), 5),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "write to the root": attempt(write, "/x"),
    "write to the runner": attempt(write, "/opt/portbench/runners/x.py"),
    "write to the manifests": attempt(write, "/opt/portbench/manifests/x.json"),
    "write to /tmp": attempt(write, "/tmp/x"),
    "write to the results": attempt(write, "/results/x"),
}))
"""


def test_run_alone_leaves_a_valid_run_file_that_is_the_callers(compose, image: str, results: Path) -> None:
    done = compose("run", "--rm", "--no-TTY", "fake-cpu", env={"PORTBENCH_RESULTS": str(results)})
    assert done.returncode == 0, done.stderr
    (run_file,) = results.iterdir()
    assert [verdict.problem for verdict in validate([run_file])] == [""]
    owner, folder = run_file.stat(), results.stat()
    assert (owner.st_uid, owner.st_gid) == (folder.st_uid, folder.st_gid)
    environment = json.loads(run_file.read_text())["environment"]
    assert environment["container"] == "docker"
    assert environment["machine"] == socket.gethostname()
    assert environment["python"].startswith("3.8.")


def test_a_container_can_do_no_more_than_it_must(compose, image: str, results: Path) -> None:
    arguments = ["run", "--rm", "--no-TTY", "--entrypoint", "as-owner", "fake-cpu", "python", "-c", ATTEMPTS]
    done = compose(*arguments, env={"PORTBENCH_RESULTS": str(results)})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    owner = results.stat()
    assert owner.st_uid != 0
    assert found["ids"] == [owner.st_uid, owner.st_uid, owner.st_gid, owner.st_gid, []]
    assert set(found["capabilities"].values()) == {0}
    assert found["new privileges barred"] == 1
    assert found["become root"] == "Operation not permitted"
    assert found["network"] == "Network is unreachable"
    assert found["interfaces"] == ["lo"]
    for place in ("the root", "the runner", "the manifests"):
        assert found[f"write to {place}"] == "Read-only file system"
    assert (found["write to /tmp"], found["write to the results"]) == ("done", "done")


def test_without_a_folder_for_results_nothing_starts(compose, image: str, tmp_path: Path) -> None:
    done = compose("run", "--rm", "--no-TTY", "fake-cpu", env={"PORTBENCH_RESULTS": str(tmp_path / "absent")})
    assert done.returncode != 0
    assert "absent" in done.stderr
    assert not (tmp_path / "absent").exists()


def test_an_image_says_what_it_is_and_is_nobodys_root(image: str) -> None:
    done = subprocess.run(["docker", "image", "inspect", image], capture_output=True, text=True, check=True)
    config = json.loads(done.stdout)[0]["Config"]
    assert config["User"] == "65532:65532"
    labels = config["Labels"]
    assert (labels["portbench.framework"], labels["portbench.version"], labels["portbench.device"]) == (
        "fake",
        "1.0.0",
        "cpu",
    )
    assert labels["org.opencontainers.image.version"] == "1.0.0"


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax", "fake"])
def test_one_variable_swaps_the_version(compose, framework: str) -> None:
    done = compose("config", "--format", "json", env={f"{framework.upper()}_VERSION": "9.8.7"})
    assert done.returncode == 0, done.stderr
    services = json.loads(done.stdout)["services"]
    assert services[f"{framework}-cpu"]["image"] == f"portbench/{framework}:9.8.7-cpu"
    assert services[f"{framework}-cpu"]["build"]["dockerfile"] == f"images/{framework}/9.8.7/cpu.Dockerfile"
    others = [service for name, service in services.items() if name != f"{framework}-cpu"]
    assert others
    assert not [service for service in others if "9.8.7" in json.dumps(service)]


def test_every_service_is_confined_alike(compose) -> None:
    services = json.loads(compose("config", "--format", "json").stdout)["services"]
    for service in services.values():
        assert service["network_mode"] == "none"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["pull_policy"] == "never"
        assert service["init"] is True
        assert int(service["mem_limit"]) > 0
        assert service["pids_limit"] > 0
        mounts = {mount["target"]: mount.get("read_only", False) for mount in service["volumes"]}
        assert mounts == {"/results": False, "/opt/portbench/manifests": True}
        assert "ports" not in service
        assert "privileged" not in service

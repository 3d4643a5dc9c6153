"""The services of compose.yaml as a user starts them, with a real engine; by the service that needs no framework."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from portbench.devices import PREDICTED_TPUS
from portbench.formats.documents import validate
from portbench.targets.catalog import all_targets, find_targets
from portbench.targets.image_digest import source_sha256
from portbench.util.repository import Checkout
from tests.containers.conftest import last_line
from tests.paths import ROOT

# Tries what a container must not be able to do; prints what happened.
ATTEMPTS = """
import glob, json, os, socket
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
    "devices": glob.glob("/dev/*"),
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
    assert [verdict.problems for verdict in validate([run_file])] == [()]
    owner, folder = run_file.stat(), results.stat()
    assert (owner.st_uid, owner.st_gid) == (folder.st_uid, folder.st_gid)
    environment = json.loads(run_file.read_text())["environment"]
    assert environment["container"] == "docker"
    assert environment["machine"] == socket.gethostname()
    assert environment["python"].startswith("3.8.")
    assert set(environment["made_from"]) == {"dockerfile_sha256", "source_sha256"}
    (target,) = find_targets(["fake-cpu"], Checkout(ROOT))
    assert environment["made_from"]["source_sha256"] == source_sha256(target, Checkout(ROOT))
    assert "this image was built from other files" not in done.stdout


def test_arguments_are_added_to_the_defaults(compose, image: str, results: Path) -> None:
    arguments = ("run", "--rm", "--no-TTY", "fake-cpu", "--test", "fake.identity::passes", "--runs", "1")
    done = compose(*arguments, env={"PORTBENCH_RESULTS": str(results)})
    assert done.returncode == 0, done.stderr
    (run_file,) = results.iterdir()
    document = json.loads(run_file.read_text())
    assert document["manifest"]["name"] == "faults"
    assert [result["test"] for result in document["results"]] == ["passes"]


def test_latest_is_built_and_run_and_recorded_as_its_number(compose, image: str, results: Path) -> None:
    env = {"PORTBENCH_RESULTS": str(results), "FAKE_VERSION": "latest"}
    try:
        arguments = ("run", "--rm", "--no-TTY", "--build", "fake-cpu", "--test", "passes", "--runs", "1")
        done = compose(*arguments, env=env)
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["docker", "rmi", "portbench/fake:latest-cpu"], capture_output=True)
    (run_file,) = results.iterdir()
    assert json.loads(run_file.read_text())["target"]["version"] == "1.0.0"
    assert "warning:" not in done.stdout


@pytest.mark.parametrize(
    ("file", "part"),
    [("runners/new.py", "runner or schemas"), ("images/fake/1.0.0/cpu.Dockerfile", "Dockerfile")],
)
def test_a_container_of_an_outdated_image_says_so(compose, image: str, results: Path, file: str, part: str) -> None:
    # A clone that has changed since the image was built.
    clone = results.parent / "clone"
    for name in ("images", "runners", "schema", "manifests"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "compose.yaml", clone)
    with (clone / file).open("a") as changed:
        changed.write("# changed\n")
    arguments = ("--project-directory", str(clone), "run", "--rm", "--no-TTY", "fake-cpu", "--test", "passes")
    done = compose(*arguments, env={"PORTBENCH_RESULTS": str(results)})
    assert done.returncode == 0, done.stderr
    assert f"warning: this image was built from other files than the clone has ({part})" in done.stdout
    assert done.stdout.count("warning:") == 1


def test_a_container_can_do_no_more_than_it_must(compose, image: str, results: Path) -> None:
    arguments = ["run", "--rm", "--no-TTY", "--entrypoint", "as-owner", "fake-cpu", "python", "-c", ATTEMPTS]
    done = compose(*arguments, env={"PORTBENCH_RESULTS": str(results)})
    assert done.returncode == 0, done.stderr
    found = last_line(done)
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


CATALOGUE = [target for target in all_targets(Checkout(ROOT)) if target.dockerfile]


@pytest.mark.parametrize("framework", sorted({target.framework for target in CATALOGUE}))
def test_one_variable_swaps_the_version_of_every_device(compose, framework: str) -> None:
    services = resolved(compose, {f"{framework.upper()}_VERSION": "9.8.7"})
    for target in CATALOGUE:
        if target.framework == framework and target.service in services:
            service = services.pop(target.service)
            assert target.dockerfile is not None
            assert service["image"] == f"portbench/{framework}:9.8.7-{target.dockerfile.stem}"
            assert service["build"]["dockerfile"] == f"images/{framework}/9.8.7/{target.dockerfile.name}"
    assert services
    assert "9.8.7" not in json.dumps(services)


def test_every_service_of_the_catalogue_is_there_and_no_other(compose) -> None:
    assert set(resolved(compose)) == {target.service for target in CATALOGUE}


def test_each_tpu_that_need_not_be_there_has_the_image_of_all_under_its_own_name(compose) -> None:
    services = resolved(compose)
    for target in CATALOGUE:
        if target.device in PREDICTED_TPUS:
            service, framework = services[target.service], target.framework
            command = f"as-owner python -m runners --framework {framework} --device {target.device}"
            assert service["entrypoint"] == command.split()
            assert service.get("command") is None


def test_every_service_is_confined_alike(compose) -> None:
    for name, service in resolved(compose).items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["pull_policy"] == "never"
        assert service["init"] is True
        assert int(service["mem_limit"]) > 0
        assert service["pids_limit"] > 0
        assert "ports" not in service
        mounts = {mount["target"]: mount.get("read_only", False) for mount in service["volumes"]}
        if name == "tensorflow-tpu":
            assert mounts.pop("/opt/tpu-vm/lib") is True
        clone = dict.fromkeys((f"/opt/portbench/clone/{folder}" for folder in ("images", "runners", "schema")), True)
        assert mounts == {"/results": False, "/opt/portbench/manifests": True, **clone}
        tpu = name.endswith("-tpu")
        assert (service["network_mode"], service.get("privileged", False)) == (
            ("host", True) if tpu else ("none", False)
        )
        assert service.get("ulimits") == ({"memlock": -1} if tpu else None)


def test_only_gpu_services_ask_for_a_gpu_and_for_one(compose) -> None:
    services = resolved(compose, {"PORTBENCH_GPU": "3"})
    asking = {name: service["deploy"] for name, service in services.items() if "deploy" in service}
    assert set(asking) == {"torch-gpu", "tensorflow-gpu", "jax-gpu"}
    for deploy in asking.values():
        (device,) = deploy["resources"]["reservations"]["devices"]
        assert device == {"driver": "nvidia", "device_ids": ["3"], "capabilities": ["gpu"]}


def test_a_tpu_service_has_the_vms_devices_and_network_and_hands_on_no_privilege(
    compose, image: str, results: Path, tmp_path: Path
) -> None:
    # Not every engine that tests may lend all privileges, or as much locked memory as a TPU VM has.
    probe = ["docker", "run", "--rm", "--privileged", "--user", "0:0", "--entrypoint", "true", image]
    privileged = subprocess.run(probe, capture_output=True).returncode == 0
    less = tmp_path / "less.yaml"
    fewer = "" if privileged else ", privileged: !reset false"
    less.write_text(f"services: {{torch-tpu: {{ulimits: {{memlock: 65536}}{fewer}}}}}\n")
    # The image without a framework, in the place of one whose libraries only a TPU VM's user can fetch.
    stand_in = "portbench/torch:0.0.0-tpu"
    subprocess.run(["docker", "tag", image, stand_in], check=True)
    try:
        run = ["--file", "compose.yaml", "--file", str(less), "run", "--rm", "--no-TTY", "--entrypoint", "as-owner"]
        env = {"PORTBENCH_RESULTS": str(results), "TORCH_VERSION": "0.0.0"}
        done = compose(*run, "torch-tpu", "python", "-c", ATTEMPTS, env=env)
    finally:
        subprocess.run(["docker", "rmi", stand_in], check=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    found = last_line(done)
    # The cables of containers that other tests start come and go.
    here = {name for _, name in socket.if_nameindex() if not name.startswith("veth")}
    assert here == {name for name in found["interfaces"] if not name.startswith("veth")}
    assert ("/dev/kmsg" in found["devices"]) is privileged  # all of the host's devices, a chip's among them
    owner = results.stat()
    assert found["ids"] == [owner.st_uid, owner.st_uid, owner.st_gid, owner.st_gid, []]
    assert set(found["capabilities"].values()) == {0}
    assert found["new privileges barred"] == 1
    assert found["become root"] == "Operation not permitted"
    for place in ("the root", "the runner", "the manifests"):
        assert found[f"write to {place}"] == "Read-only file system"
    assert (found["write to /tmp"], found["write to the results"]) == ("done", "done")


def resolved(compose, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The services as Compose understands them."""
    done = compose("config", "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)["services"])

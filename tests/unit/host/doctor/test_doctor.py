"""`portbench doctor`, and the part of it that `portbench run` calls, on described machines and on this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.errors import PortbenchError
from portbench.targets import environments
from portbench.targets.catalog import find_targets
from portbench.util.machine import Machine, Process
from portbench.util.repository import Checkout
from tests.unit.host.clones import Clone, make_clone
from tests.unit.host.described_machine import CHIP, GB, NO_CHIP, NVIDIA_CARD, STOPPED, Described, nvidia

IMAGE = "portbench/fake:1.0.0-cpu"
Ask = Callable[..., Result]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """A clone with torch 1.12.0 for each device, as the working folder. No environment or image exists."""
    clone = make_clone(tmp_path)
    (clone.root / "images" / "fake" / "1.0.0" / "cpu.Dockerfile").write_text(
        "FROM debian:bookworm-slim AS base\nFROM base\n"
    )
    folder = clone.add_version("torch", "1.12.0")
    for device in ("gpu", "tpu"):
        (folder / f"{device}.lock").write_text("")
        (folder / f"{device}.Dockerfile").write_text("FROM python:3.10-slim-bookworm\n")
    monkeypatch.chdir(clone.root)
    monkeypatch.setenv("HOME", str(clone.root / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(clone.root / "cache"))
    return clone


@pytest.fixture
def ask(clone: Clone) -> Ask:
    """Runs a command on a described machine, its output unwrapped."""

    def run(machine: Machine, *arguments: object, columns: int = 400) -> Result:
        environment = {"COLUMNS": str(columns)}
        return CliRunner().invoke(cli, [str(each) for each in arguments], obj=machine, env=environment)

    return run


def create_environment(clone: Clone, name: str) -> None:
    """Creates an empty environment for the target, marked as complete."""
    (target,) = find_targets([name], Checkout(clone.root))
    folder = environments.environment_folder(target)
    folder.mkdir(parents=True)
    (folder / "portbench.json").write_text("{}")


def lines(result: Result) -> dict[str, tuple[str, str]]:
    """The verdict and the text, including the remedy, of each subject."""
    assert isinstance(result.exception, SystemExit | None), result.exception
    parts = re.split(r"^  (ok|warn|no) +", result.stdout, flags=re.MULTILINE)[1:]
    found = {}
    for verdict, text in zip(parts[::2], parts[1::2], strict=True):
        subject, message = re.split(r"  +", text, maxsplit=1)
        found[subject] = (verdict, " ".join(message.split()))
    return found


def test_a_target_with_an_environment_is_ready(ask: Ask, clone: Clone) -> None:
    create_environment(clone, "fake-cpu")
    machine = Described()
    done = ask(machine, "doctor", "fake-cpu")
    assert done.exit_code == 0
    assert "fake-1.0.0-cpu can run here, in a virtual environment (there is no docker command)" in done.stdout
    assert {verdict for verdict, _ in lines(done).values()} == {"ok"}
    assert not any(line.startswith("uv") for line in machine.asked), "nothing is to be downloaded"


def test_xla_needs_no_device_and_cpus_environment_is_its_own(ask: Ask, clone: Clone) -> None:
    create_environment(clone, "fake-cpu")
    (clone.root / "images" / "fake" / "1.0.0" / "xla.Dockerfile").touch()
    done = ask(Described(), "doctor", "fake-xla")
    assert done.exit_code == 0, done.stdout
    assert "fake-1.0.0-xla can run here, in a virtual environment" in done.stdout
    assert lines(done)["environment"][1].startswith("created")


def test_a_built_image_is_preferred_to_an_environment(ask: Ask) -> None:
    done = ask(Described().with_docker(images=[IMAGE]), "doctor", "fake-cpu")
    assert done.exit_code == 0
    assert "fake-1.0.0-cpu can run here, in a container" in done.stdout
    assert lines(done)["image"] == ("ok", f"{IMAGE} is built")
    assert "24.0.7" in lines(done)["Docker"][1]


@pytest.mark.parametrize(
    ("commands", "subject", "expected"),
    [
        ({}, "Docker", ["there is no docker command", "Install Docker Engine"]),
        (
            {"docker version": (1, "", STOPPED)},
            "Docker",
            ["no Docker engine answers: Cannot", "systemctl start"],
        ),
        (
            {"docker version": (1, "", "permission denied while trying")},
            "Docker",
            ["may not use", "usermod -aG docker"],
        ),
        (
            {"docker version": (0, "19.03.8\n", "")},
            "Docker",
            ["19.03.8 is too old", "20.10.10", "Update Docker"],
        ),
        ({"docker version": (0, "20.10.9\n", "")}, "Docker", ["20.10.9 is too old", "20.10.10"]),
        ({"docker version": (0, "20.10.24+dfsg1\n", "")}, "Compose", ["no Compose plugin", "docker-compose-plugin"]),
        (
            {"docker version": (0, "27.1.0\n", ""), "docker compose version": (0, "v2.15.0\n", "")},
            "Compose",
            ["2.15.0 is too old", "2.15.1", "Update docker-compose-plugin"],
        ),
    ],
)
def test_a_problem_with_docker_is_reported_with_its_remedy(
    ask: Ask, commands: dict[str, tuple[int, str, str]], subject: str, expected: list[str]
) -> None:
    machine = Described()
    machine.commands |= commands
    done = ask(machine, "doctor", "fake-cpu", "--backend", "docker")
    assert done.exit_code == 1
    verdict, text = lines(done)[subject]
    assert verdict == "no"
    for words in expected:
        assert words in text
    # `run` stops with the same message.
    ran = ask(machine, "run", "fake-cpu", "--backend", "docker")
    assert ran.exit_code == 3
    assert expected[0] in ran.stderr
    assert expected[-1] in ran.stderr


def test_without_docker_auto_falls_back_to_an_environment(ask: Ask) -> None:
    machine = Described().with_docker(engine="18.09.1")
    done = ask(machine, "doctor", "fake-cpu")
    assert done.exit_code == 0
    assert "in a virtual environment (Docker Engine 18.09.1 is too old" in done.stdout


def test_both_reasons_are_shown_where_neither_backend_can_run_a_target(ask: Ask, clone: Clone) -> None:
    for name in ("cpu.lock", "cpu.in"):
        (clone.root / "images" / "fake" / "1.0.0" / name).unlink()
    done = ask(Described(), "doctor", "fake-cpu")
    assert done.exit_code == 1
    assert "fake-1.0.0-cpu cannot run here" in done.stdout
    assert lines(done)["Docker"][0] == "no"
    assert "has no cpu.lock" in lines(done)["lock"][1]


def test_the_oldest_supported_versions_are_accepted(ask: Ask) -> None:
    machine = Described().with_docker(engine="20.10.10", compose="v2.15.1", images=[IMAGE])
    assert ask(machine, "doctor", "fake-cpu", "--backend", "docker").exit_code == 0


def test_a_missing_image_is_reported_with_what_its_build_needs(ask: Ask) -> None:
    machine = Described().with_docker()
    machine.commands["docker manifest inspect"] = (1, "", "dial tcp: lookup failed")
    done = ask(machine, "doctor", "fake-cpu", "--backend", "docker")
    assert done.exit_code == 1
    found = lines(done)
    assert found["image"][0] == "no"
    assert "Build it: " in found["image"][1]
    assert found["base image"][0] == "warn"
    assert "debian:bookworm-slim is not here and cannot be pulled: dial tcp" in found["base image"][1]
    assert found["disk"][0] == "ok"


def test_a_base_image_that_is_here_needs_no_registry(ask: Ask) -> None:
    machine = Described().with_docker(images=["debian:bookworm-slim"])
    done = ask(machine, "doctor", "fake-cpu", "--backend", "docker")
    assert lines(done)["base image"] == ("ok", "debian:bookworm-slim is here")
    assert not any("manifest" in line for line in machine.asked)


# GPU


@pytest.mark.parametrize(
    ("files", "smi", "subject", "expected"),
    [
        ({}, None, "GPU", "this machine has no NVIDIA GPU"),
        (NVIDIA_CARD, None, "GPU driver", "has an NVIDIA GPU, but its driver is not loaded"),
        (nvidia(model=None), None, "GPU", "it finds no GPU"),
        (nvidia(), (9, "Failed to initialize NVML: Driver/library version mismatch\n", ""), "GPU driver", "mismatch"),
    ],
)
def test_reasons_why_a_gpu_cannot_be_used_are_distinguished(
    ask: Ask, files: dict[str, str], smi: tuple[int, str, str] | None, subject: str, expected: str
) -> None:
    machine = Described()
    machine.files |= files
    machine.commands |= {"nvidia-smi": smi} if smi else {}
    done = ask(machine, "doctor", "torch-gpu")
    assert done.exit_code == 1
    verdict, text = lines(done)[subject]
    assert verdict == "no"
    assert expected in text


def test_run_refuses_a_gpu_target_without_a_gpu(ask: Ask) -> None:
    done = ask(Described(), "run", "torch-gpu", "--backend", "venv")
    assert done.exit_code == 3
    assert "error: this machine has no NVIDIA GPU" in done.stderr


def test_nvidia_smi_decides_where_the_kernel_shows_no_driver(ask: Ask) -> None:
    machine = Described()
    machine.commands["nvidia-smi"] = (0, "NVIDIA GeForce RTX 3080, 551.86\n", "")
    done = ask(machine, "doctor", "torch-gpu", "--backend", "venv")
    assert done.exit_code == 0
    assert lines(done)["GPU"] == ("ok", "NVIDIA GeForce RTX 3080")
    assert lines(done)["GPU driver"] == ("ok", "551.86")


@pytest.mark.parametrize(
    ("lock", "dockerfile", "driver", "expected"),
    [
        ("nvidia-cuda-runtime-cu12==12.8.90 \\\n", "", "470.199.02", "470.199.02 is too old for CUDA 12"),
        ("nvidia-cuda-runtime-cu12==12.8.90 \\\n", "", "525.60.13", None),
        ("nvidia-cuda-runtime==13.0.48 \\\n", "", "575.57.08", "too old for CUDA 13"),
        ("torch==1.12.0+cu113 \\\n", "", "440.33.01", "too old for CUDA 11"),
        ("torch==1.12.0+cu113 \\\n", "", "450.80.02", None),
        ("jaxlib==0.4.7+cuda11.cudnn82 \\\n", "", "440.33.01", "too old for CUDA 11"),
        ("tensorflow==2.11.0 \\\n", "FROM nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04\n", "418.87", "CUDA 11"),
        # The wheel of this version, whose name does not have the CUDA 10.2 in it.
        ("torch==1.12.0 \\\n", "FROM python:3.10\n", "390.157", "too old for CUDA 10"),
        ("torch==1.12.0 \\\n", "FROM python:3.10\n", "440.33.01", None),
    ],
)
def test_a_driver_must_be_new_enough_for_the_cuda_of_the_target(
    ask: Ask, clone: Clone, lock: str, dockerfile: str, driver: str, expected: str | None
) -> None:
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "gpu.lock").write_text(lock)
    (folder / "gpu.Dockerfile").write_text(dockerfile)
    machine = Described()
    machine.files |= nvidia(driver)
    done = ask(machine, "doctor", "torch-gpu")
    verdict, text = lines(done)["GPU driver"]
    assert (done.exit_code, verdict) == ((1, "no") if expected else (0, "ok"))
    assert (expected or driver) in text


@pytest.mark.parametrize(
    ("info", "installed", "expected"),
    [
        ({}, None, "there is no NVIDIA container toolkit"),
        ({}, "nvidia-ctk", "the Docker engine does not know it"),
        ({"Runtimes": {"nvidia": {}}}, "nvidia-ctk", None),
        ({"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=all"}]}, None, None),
        ({}, "nvidia-container-runtime-hook", None),
    ],
)
def test_a_container_needs_the_container_toolkit(
    ask: Ask, info: dict[str, object], installed: str | None, expected: str | None
) -> None:
    machine = Described().with_docker(images=["portbench/torch:1.12.0-gpu"], info=info)
    machine.files |= nvidia()
    machine.commands |= {installed: (0, "", "")} if installed else {}
    done = ask(machine, "doctor", "torch-gpu", "--backend", "docker")
    verdict, text = lines(done)["container toolkit"]
    assert (done.exit_code, verdict) == ((1, "no") if expected else (0, "ok"))
    if expected:
        assert expected in text
        assert "nvidia-ctk runtime configure --runtime=docker" in text
        ran = ask(machine, "run", "torch-gpu", "--backend", "docker")
        assert ran.exit_code == 3
        assert expected in ran.stderr


@pytest.mark.parametrize(
    ("target", "gpu", "expected"),
    [
        ("torch-gpu", "7.0, Tesla V100-SXM2-16GB", None),
        ("torch-gpu", "7.5, Tesla T4", None),  # runs code for 7.0
        ("torch-gpu", "8.0, NVIDIA A100-SXM4-40GB", "not for compute capability 8.0 of the NVIDIA A100-SXM4-40GB"),
        ("torch-gpu", "9.0, NVIDIA H100 80GB HBM3", "not for compute capability 9.0 of the NVIDIA H100 80GB HBM3"),
        ("torch-2.9.0-gpu", "9.0, NVIDIA H100 80GB HBM3", None),
        ("torch-2.9.0-gpu", "6.1, Tesla P40", "not for compute capability 6.1 of the Tesla P40"),
        ("torch-gpu", "[N/A], Tesla T4", None),
        ("torch-gpu", 'Field "compute_cap" is not a valid field to query.', None),
    ],
)
@pytest.mark.parametrize("backend", ["docker", "venv"])
def test_a_gpu_that_the_build_has_no_code_for_is_a_warning_with_the_version_that_has_it(
    ask: Ask, clone: Clone, backend: str, target: str, gpu: str, expected: str | None
) -> None:
    newer = clone.add_version("torch", "2.9.0", default=False)
    for suffix in ("lock", "Dockerfile"):
        (newer / f"gpu.{suffix}").touch()
    images = ["portbench/torch:1.12.0-gpu", "portbench/torch:2.9.0-gpu"]
    machine = Described().with_docker(images=images, info={"Runtimes": {"nvidia": {}}})
    machine.files |= nvidia()
    machine.commands["nvidia-smi --query-gpu=name"] = (0, "Tesla T4, 535.161.07\n", "")
    machine.commands["nvidia-smi --query-gpu=compute_cap"] = (0, f"{gpu}\n", "")
    done = ask(machine, "doctor", target, "--backend", backend)
    assert done.exit_code == 0, done.output
    if expected is None:
        assert "GPU code" not in lines(done)
        return
    verdict, text = lines(done)["GPU code"]
    assert verdict == "warn"
    assert expected in text
    version = "latest" if target == "torch-gpu" else "1.12.0"
    assert f"portbench run torch-{version}-gpu" in text
    assert f"TORCH_VERSION={version} docker compose run --rm torch-gpu" in text


def test_a_run_says_that_the_paper_s_version_has_no_code_for_the_gpu_and_names_latest(ask: Ask, clone: Clone) -> None:
    (clone.root / "images" / "torch" / "1.12.0" / "gpu.lock").touch()
    machine = Described()
    machine.files |= nvidia()
    machine.commands["nvidia-smi --query-gpu=compute_cap"] = (0, "9.0, NVIDIA H100 80GB HBM3\n", "")
    said = " ".join(ask(machine, "run", "torch-gpu").stderr.split())
    assert said.count("not for compute capability 9.0 of the NVIDIA H100 80GB HBM3: every kernel would fail") == 1
    assert "For this GPU: portbench run torch-latest-gpu, or TORCH_VERSION=latest docker compose" in said
    machine.commands["nvidia-smi --query-gpu=compute_cap"] = (0, "7.5, Tesla T4\n", "")
    assert "warning: torch-1.12.0-gpu" not in ask(machine, "run", "torch-gpu").stderr


def test_an_unknown_cuda_version_needs_no_driver_version(ask: Ask, clone: Clone) -> None:
    folder = clone.add_version("torch", "1.13.0", default=False)
    (folder / "gpu.lock").write_text("torch==1.13.0 \\\n")
    machine = Described()
    machine.files |= nvidia("390.157")
    assert ask(machine, "doctor", "torch-1.13.0-gpu").exit_code == 0


# TPU


def tpu_machine() -> Described:
    machine = Described()
    machine.files |= {"/dev/accel0": "", "/dev/accel1": ""}
    return machine


def test_a_free_tpu_is_ready(ask: Ask) -> None:
    machine = tpu_machine()
    machine.running = [Process(1, "/sbin/init", frozenset({"/dev/null"}))]
    done = ask(machine, "doctor", "torch-tpu")
    assert done.exit_code == 0
    assert lines(done)["TPU"] == ("ok", "/dev/accel0, /dev/accel1")
    assert lines(done)["TPU holder"] == ("ok", "no process")


def test_the_process_that_uses_the_tpu_is_named(ask: Ask) -> None:
    machine = tpu_machine()
    machine.running = [Process(4242, "python train.py\x1b[31m", frozenset({"/dev/null", "/dev/accel1"}))]
    done = ask(machine, "doctor", "torch-tpu")
    assert done.exit_code == 1
    verdict, text = lines(done)["TPU holder"]
    assert verdict == "no"
    assert r"pid 4242 (python train.py\x1b[31m) has /dev/accel1 open" in text
    assert "kill 4242" in text
    ran = ask(machine, "run", "torch-tpu", "--backend", "venv")
    assert ran.exit_code == 3
    assert "pid 4242" in ran.stderr
    assert "kill 4242" in ran.stderr


def test_processes_that_cannot_be_inspected_are_a_warning(ask: Ask) -> None:
    machine = tpu_machine()
    machine.running = [Process(1, "/sbin/init", None), Process(77, "", None)]
    done = ask(machine, "doctor", "torch-tpu")
    assert done.exit_code == 0
    verdict, text = lines(done)["TPU holder"]
    assert verdict == "warn"
    assert "may not inspect 2 processes" in text
    assert "sudo lsof -w /dev/accel0 /dev/accel1" in text


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "this machine has no TPU"),
        (CHIP, "has 1 TPU chip, but no device node"),
        # A node of vfio can belong to any device.
        ({**NO_CHIP, "/dev/vfio/0": ""}, "this machine has no TPU"),
        ({**CHIP, "/dev/vfio/0": ""}, None),
    ],
)
def test_a_tpu_needs_device_nodes(ask: Ask, files: dict[str, str], expected: str | None) -> None:
    machine = Described()
    machine.files |= files
    done = ask(machine, "doctor", "torch-tpu")
    verdict, text = lines(done)["TPU"]
    assert (done.exit_code, verdict) == ((1, "no") if expected else (0, "ok"))
    assert (expected or "/dev/vfio/0") in text


def test_a_tpu_that_this_user_may_not_use_is_reported(ask: Ask) -> None:
    machine = tpu_machine()
    machine.closed = {"/dev/accel1"}
    done = ask(machine, "doctor", "torch-tpu")
    assert done.exit_code == 1
    assert "this user may not use /dev/accel1" in lines(done)["TPU"][1]


@pytest.mark.parametrize(("chip", "model"), [("0x0027", None), ("0x005e", None), ("0x0063", "v5e"), ("0x006f", "v6e")])
def test_a_tpu_that_is_newer_than_the_compiler_is_a_warning_that_names_latest(
    ask: Ask, chip: str, model: str | None
) -> None:
    machine = tpu_machine()
    machine.files |= CHIP | {path: f"{chip}\n" for path in CHIP if path.endswith("/device")}
    found = lines(ask(machine, "doctor", "torch-tpu"))
    said = ask(machine, "run", "torch-tpu").stderr
    if model is None:
        assert "TPU code" not in found
        assert "older than" not in said
        return
    verdict, text = found["TPU code"]
    assert verdict == "warn"
    for words in (text, " ".join(said.split())):
        assert f"torch-1.12.0-tpu has a compiler that is older than the TPU {model} of this machine" in words
        assert "portbench run torch-latest-tpu, or TORCH_VERSION=latest docker compose run --rm torch-tpu" in words


def test_another_users_lock_file_matters_only_outside_of_containers(ask: Ask) -> None:
    machine = tpu_machine().with_docker(images=["portbench/torch:1.12.0-tpu"])
    machine.owners["/tmp/libtpu_lockfile"] = 0
    contained = ask(machine, "doctor", "torch-tpu", "--backend", "docker")
    assert contained.exit_code == 0
    native = ask(machine, "doctor", "torch-tpu", "--backend", "venv")
    assert native.exit_code == 1
    assert "belongs to user 0" in lines(native)["TPU lock"][1]
    assert "sudo rm /tmp/libtpu_lockfile" in lines(native)["TPU lock"][1]
    machine.owners["/tmp/libtpu_lockfile"] = machine.user
    assert ask(machine, "doctor", "torch-tpu", "--backend", "venv").exit_code == 0


# Disk, memory, packages


@pytest.fixture
def predicting_clone(clone: Clone) -> Clone:
    """The clone with torch 1.12.0 for predicted TPUs, and the compiler's target."""
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "tpu-aot.Dockerfile").write_text("FROM python:3.10-slim-bookworm\n")
    (clone.add_version("jax", "0.12.0.1") / "tpu.lock").write_text("libtpu==0.0.52 \\\n")
    return clone


def test_a_predicted_tpu_needs_no_tpu_but_a_second_environment(ask: Ask, predicting_clone: Clone) -> None:
    done = ask(Described(), "doctor", "torch-tpu-v3")
    assert done.exit_code == 0, done.stdout
    found = lines(done)
    assert found["TPU"] == ("ok", "none is needed: libtpu 0.0.52 compiles for tpu-v3 without one")
    assert "TPU holder" not in found
    assert found["environment"][1].startswith("not created yet")
    assert found["compiler"] == ("ok", "jax-0.12.0.1-tpu: not created yet: the first run creates it")
    assert found["disk"][1].endswith("(needs 2.9)")
    create_environment(predicting_clone, "torch-cpu")
    found = lines(ask(Described(), "doctor", "torch-tpu-v3"))
    assert found["environment"][1].startswith("created, in ")
    assert found["disk"][1].endswith("(needs 1.1)")
    create_environment(predicting_clone, "jax-0.12.0.1-tpu")
    found = lines(ask(Described(), "doctor", "torch-tpu-v3"))
    assert found["compiler"][1].startswith("jax-0.12.0.1-tpu: created, in ")
    assert "disk" not in found


def test_the_space_of_both_environments_counts(ask: Ask, predicting_clone: Clone) -> None:
    machine = Described()
    machine.free[str(predicting_clone.root / "cache")] = 2.7 * GB
    done = ask(machine, "run", "torch-tpu-v3")
    assert done.exit_code == 5
    assert "about 2.9 GB are needed for the environments" in done.stderr
    machine = Described().with_docker()
    machine.free["/var/lib/docker"] = 6.2 * GB
    done = ask(machine, "doctor", "torch-tpu-v3", "--backend", "docker")
    assert "about 6.3 GB are needed to build the image" in lines(done)["disk"][1]


def test_a_compiler_that_no_lock_pins_is_reported(ask: Ask, predicting_clone: Clone) -> None:
    (predicting_clone.root / "images" / "jax" / "0.12.0.1" / "tpu.lock").write_text("jax==0.12.0.1\n")
    done = ask(Described(), "doctor", "torch-tpu7x")
    assert done.exit_code == 1
    assert lines(done)["TPU"] == (
        "no",
        "no lock of jax-0.12.0.1-tpu pins libtpu, which compiles for tpu7x portbench lock jax/0.12.0.1/tpu",
    )


def test_targets_that_share_an_image_are_one_line(ask: Ask, predicting_clone: Clone) -> None:
    found = lines(ask(Described(), "doctor"))
    assert found["torch-1.12.0-tpu-v2 … tpu7x"][0] == "ok"
    assert "torch-1.12.0-tpu-v3" not in found
    document = json.loads(ask(Described(), "doctor", "--json").stdout)
    assert {"torch-1.12.0-tpu-v3", "torch-1.12.0-tpu7x"} <= {target["target"] for target in document["targets"]}


def test_a_predicted_gpu_needs_the_list_of_its_kernels(ask: Ask, clone: Clone) -> None:
    (clone.root / "images" / "torch" / "1.12.0" / "gpu-predicted.Dockerfile").touch()
    assert lines(ask(Described(), "doctor", "torch-gpu-predicted"))["GPU"][0] == "ok"
    lists = clone.root / "runners" / "torch" / "kernels"
    lists.mkdir(parents=True)
    done = ask(Described(), "doctor", "torch-gpu-predicted")
    assert done.exit_code == 1
    assert lines(done)["kernels"] == (
        "no",
        "there is no list of the GPU kernels of torch 1.12.0 Create it: portbench kernels torch-1.12.0-gpu",
    )
    (lists / "1.12.0.json").write_text("{}")
    assert ask(Described(), "doctor", "torch-gpu-predicted").exit_code == 0


def test_a_disk_too_full_for_the_environment_stops_a_run_before_anything_is_created(ask: Ask, clone: Clone) -> None:
    machine = Described()
    machine.free[str(clone.root / "cache")] = 1.0 * GB
    done = ask(machine, "doctor", "torch-cpu")
    assert done.exit_code == 1
    verdict, text = lines(done)["disk"]
    assert verdict == "no"
    assert "1.0 GB are free" in text
    assert "about 1.8 GB are needed for the environment" in text
    assert "XDG_CACHE_HOME" in text
    ran = ask(machine, "run", "torch-cpu")
    assert ran.exit_code == 5
    assert "1.0 GB are free" in ran.stderr
    assert not (clone.root / "cache").exists()
    create_environment(clone, "torch-cpu")
    assert ask(machine, "doctor", "torch-cpu").exit_code == 0


def test_an_estimated_need_is_a_warning(ask: Ask, clone: Clone) -> None:
    clone.add_version("torch", "9.9.0", default=False)
    machine = Described()
    machine.free[str(clone.root / "cache")] = 1.0 * GB
    done = ask(machine, "doctor", "torch-9.9.0-cpu")
    assert done.exit_code == 0
    assert lines(done)["disk"][0] == "warn"


def test_a_disk_too_full_for_the_image_is_reported(ask: Ask) -> None:
    machine = Described().with_docker(images=[IMAGE])
    machine.free["/var/lib/docker"] = 0.05 * GB
    done = ask(machine, "doctor", "fake-cpu")
    assert done.exit_code == 1
    verdict, text = lines(done)["disk"]
    assert verdict == "no"
    assert "/var/lib/docker" in text
    assert "docker builder prune" in text


def test_an_engine_with_its_images_on_another_machine_is_a_warning(ask: Ask) -> None:
    machine = Described().with_docker(images=[IMAGE], info={"DockerRootDir": "/elsewhere/docker"})
    done = ask(machine, "doctor", "fake-cpu")
    assert done.exit_code == 0
    assert lines(done)["disk"][0] == "warn"


@pytest.mark.parametrize("command", ["doctor", "run"])
def test_a_results_folder_without_room_is_an_error(ask: Ask, clone: Clone, command: str) -> None:
    machine = Described()
    machine.free[str(clone.root / "elsewhere")] = 1000
    done = ask(machine, command, "fake-cpu", "--out", "elsewhere")
    assert done.exit_code == (1 if command == "doctor" else 5)
    assert "Give another folder" in done.output or "give another folder" in done.output


def test_a_results_folder_that_cannot_be_created_is_an_error(ask: Ask, clone: Clone) -> None:
    (clone.root / "a-file").touch()
    done = ask(Described(), "doctor", "fake-cpu", "--out", "a-file/results")
    assert done.exit_code == 1
    assert "cannot be written to" in lines(done)["results"][1]


def test_little_memory_is_a_warning(ask: Ask) -> None:
    machine = Described()
    machine.files["/proc/meminfo"] = "MemTotal: 16000000 kB\nMemFree: 1 kB\nMemAvailable: 900000 kB\n"
    done = ask(machine, "doctor", "fake-cpu")
    assert done.exit_code == 0
    assert lines(done)["memory"][0] == "warn"
    assert "0.9 of 16.4 GB are available" in lines(done)["memory"][1]


def test_the_package_index_is_queried_only_if_packages_are_downloaded(ask: Ask, clone: Clone) -> None:
    machine = Described()
    reasons = "error: Failed to fetch: there\n  cause: client error\n  cause: dns error\n"
    machine.commands["uv pip compile"] = (2, "", reasons)
    assert ask(machine, "doctor", "fake-cpu").exit_code == 0, "its lock holds no package"
    (clone.root / "images" / "fake" / "1.0.0" / "cpu.lock").write_text("--find-links there\nnumpy==1.26.4 \\\n")
    done = ask(machine, "doctor", "fake-cpu")
    assert done.exit_code == 1
    verdict, text = lines(done)["package index"]
    assert verdict == "no"
    assert "cannot be reached: error: Failed to fetch: there; cause: dns error" in text
    assert "HTTPS_PROXY" in text
    assert machine.asked[-1].endswith("--find-links there")


def test_run_does_not_use_the_network(ask: Ask, clone: Clone) -> None:
    (clone.root / "images" / "fake" / "1.0.0" / "cpu.lock").write_text("numpy==1.26.4 \\\n")
    machine = Described()
    machine.free[str(clone.root / "results")] = 0
    assert ask(machine, "run", "fake-cpu").exit_code == 5
    assert not any(line.startswith("uv") for line in machine.asked)


def test_a_missing_python_is_a_warning(ask: Ask, clone: Clone) -> None:
    clone.add_version("jax", "0.0.1", python="3.99")
    done = ask(Described(), "doctor", "jax-cpu")
    assert done.exit_code == 0
    verdict, text = lines(done)["Python"]
    assert verdict == "warn"
    assert "Python 3.99 is not on this machine" in text


# The command


def test_one_named_target_that_cannot_run_is_exit_status_1(ask: Ask) -> None:
    done = ask(Described(), "doctor", "fake-cpu", "torch-gpu")
    assert done.exit_code == 1
    assert "fake-1.0.0-cpu can run here" in done.stdout
    assert "torch-1.12.0-gpu cannot run here" in done.stdout


def test_without_a_target_it_reports_on_the_machine_and_every_target(ask: Ask) -> None:
    done = ask(Described(), "doctor")
    assert done.exit_code == 0
    found = lines(done)
    assert found["GPU"][0] == found["TPU"][0] == "no"
    assert found["package index"] == ("ok", "answers")
    assert found["fake-1.0.0-cpu"][0] == found["torch-1.12.0-cpu"][0] == "ok"
    assert found["torch-1.12.0-gpu"] == ("no", "this machine has no NVIDIA GPU")
    assert found["torch-1.12.0-tpu"][0] == "no"


def test_without_a_target_exit_status_1_means_that_none_can_run(ask: Ask, clone: Clone) -> None:
    machine = Described()
    machine.free["/"] = 0
    assert ask(machine, "doctor").exit_code == 1


def test_json_has_every_finding_with_its_remedy(ask: Ask) -> None:
    done = ask(Described(), "doctor", "torch-gpu", "--json")
    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert document["machine"] == []
    (target,) = document["targets"]
    assert (target["target"], target["can_run"], target["backend"]) == ("torch-1.12.0-gpu", False, "venv")
    assert target["findings"][0] == {
        "subject": "GPU",
        "verdict": "error",
        "message": "this machine has no NVIDIA GPU",
        "remedy": "Run gpu targets on a machine that has one.",
    }


def test_an_unknown_target_is_wrong_input(ask: Ask) -> None:
    done = ask(Described(), "doctor", "tocrh-cpu")
    assert isinstance(done.exception, PortbenchError)
    assert done.exception.exit_status == 2


def test_no_line_is_wider_than_the_terminal(ask: Ask) -> None:
    machine = tpu_machine().with_docker(engine="19.03.8")
    machine.running = [Process(4242, "python " + "x" * 200, frozenset({"/dev/accel1"}))]
    for arguments in (["doctor"], ["doctor", "torch-tpu", "torch-gpu", "fake-cpu"]):
        done = ask(machine, *arguments, columns=80)
        assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_a_machine_without_an_accelerator_says_so(clone: Clone) -> None:
    if list(Path("/dev").glob("accel[0-9]*")) or list(Path("/dev").glob("nvidia[0-9]*")):
        pytest.skip("it has one")
    done = clone.portbench("doctor", "torch-gpu", "torch-tpu", "--backend", "venv")
    assert done.returncode == 1
    assert "no NVIDIA GPU" in done.stdout
    assert "no TPU" in done.stdout
    assert done.stderr == ""
    ready = clone.portbench("doctor", "fake-cpu", "--backend", "venv", "--json")
    assert ready.returncode == 0, ready.stdout
    findings = {each["subject"]: each for each in json.loads(ready.stdout)["targets"][0]["findings"]}
    assert findings["memory"]["message"].endswith("GB are available")
    assert "GB free in" in findings["results"]["message"]


def test_the_machine_finds_the_process_that_has_a_file_open(tmp_path: Path) -> None:
    path = tmp_path / "device"
    path.touch()
    code = f"handle = open({str(path)!r}); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        holders = [each for each in Machine().processes() if each.files and str(path) in each.files]
        child.communicate("\n")
    assert [holder.pid for holder in holders] == [child.pid]
    assert sys.executable in holders[0].command

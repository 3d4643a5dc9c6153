"""What the system tells of accelerators: /proc, nvidia-smi and the bus are stand-ins."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from runners.core import devices

# Knows the fields of $FIELDS and refuses others as nvidia-smi does; tells $CALLS what it was asked.
NVIDIA_SMI = """#!{python} -IS
import json, os, sys
words = sys.argv[1:]
open(os.environ["CALLS"], "a").write(" ".join(words) + "\\n")
if "-L" in words:
    print("GPU 0: One (UUID: GPU-a)\\nGPU 1: Two (UUID: GPU-b)\\n  MIG 1g.10gb Device 0: (UUID: MIG-c)")
elif "-q" in words:
    print("Driver Version  : 535.1\\nCUDA Version    : 12.2\\n")
else:
    known = json.loads(os.environ["FIELDS"])
    asked = words[0].split("=")[1].split(",")
    for field in asked:
        if field not in known:
            print('Field "' + field + '" is not a valid field to query.\\n')
            sys.exit(2)
    print(", ".join(known[field] for field in asked))
"""

H100 = {
    "name": "NVIDIA H100 80GB HBM3",
    "driver_version": "535.1",
    "memory.total": "81559",
    "compute_cap": "9.0",
    "clocks.max.sm": "1980",
    "clocks.max.memory": "2619",
    "power.limit": "700.00",
    "mig.mode.current": "Disabled",
    "ecc.mode.current": "[N/A]",
}
STATE = {
    "clocks.sm": "345",
    "temperature.gpu": "31",
    "pstate": "P0",
    "memory.free": "81000",
    "power.draw": "[Not Supported]",
}


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], list[str]]]:
    """Puts a stand-in first on PATH that knows these fields; returns a function that gives what it was asked."""

    def install(fields: dict[str, str], script: str = NVIDIA_SMI) -> Callable[[], list[str]]:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "nvidia-smi").write_text(script.format(python=sys.executable))
        (folder / "nvidia-smi").chmod(0o755)
        calls = tmp_path / "calls"
        calls.touch()
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        monkeypatch.setenv("FIELDS", json.dumps(fields))
        monkeypatch.setenv("CALLS", str(calls))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        return lambda: calls.read_text().splitlines()

    return install


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., None]:
    """Adds a process to a stand-in for /proc, with links to what it has open."""

    def add(number: int, name: str | None, *opened: str) -> None:
        folder = tmp_path / "proc" / str(number) / "fd"
        folder.mkdir(parents=True)
        if name:
            (folder.parent / "comm").write_text(f"{name}\n")
        for position, path in enumerate(opened):
            (folder / str(position)).symlink_to(path)

    return add


def test_who_has_a_device_open_is_named_once_by_process(process: Any, tmp_path: Path) -> None:
    process(123, "python3", "/dev/null", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia0")
    process(45, "python", "/dev/accel0")
    process(9, None, "/dev/nvidia0")
    process(10, "bash", "/dev/nvidiactl", "/home/x/dev/nvidia0")
    (tmp_path / "proc" / "self").symlink_to("123")
    proc = tmp_path / "proc"
    assert devices.holders(["/dev/nvidia[0-9]*"], proc) == ["a process (process 9)", "python3 (process 123)"]
    assert devices.holders(["/dev/accel*", "/dev/vfio/[0-9]*"], proc) == ["python (process 45)"]
    assert devices.holders(["/dev/kfd"], proc) == []


def test_this_process_and_what_keeps_the_driver_loaded_hold_nothing(process: Any, tmp_path: Path) -> None:
    process(os.getpid(), "python3", "/dev/nvidia0")
    process(77, "nvidia-persiste", "/dev/nvidia0")
    assert devices.holders(["/dev/nvidia*"], tmp_path / "proc") == []


def test_processes_that_end_meanwhile_or_may_not_be_looked_at_are_passed_over(process: Any, tmp_path: Path) -> None:
    (tmp_path / "proc" / "5").mkdir(parents=True)
    (tmp_path / "proc" / "6" / "fd").mkdir(parents=True)
    (tmp_path / "proc" / "6" / "fd" / "0").touch()  # no link: readlink fails
    assert devices.holders(["*"], tmp_path / "proc") == []
    assert devices.holders(["*"], tmp_path / "nowhere") == []


def test_an_open_file_of_a_real_process_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "device0"
    with path.open("w"):
        assert devices.holders([str(tmp_path / "device[0-9]")]) == []  # its holder is this process
        child = os.fork()
        if not child:
            os._exit(0 if devices.holders([str(path)])[0].endswith(f"(process {os.getppid()})") else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_facts_of_a_gpu_have_units_in_their_keys_and_lack_what_the_model_does_not_tell(nvidia_smi: Any) -> None:
    nvidia_smi(H100)
    assert devices.nvidia_facts(0) == {
        "model": "NVIDIA H100 80GB HBM3",
        "driver": "535.1",
        "driver_cuda": "12.2",
        "memory_bytes": 81559 * 2**20,
        "compute_capability": "9.0",
        "max_sm_clock_mhz": 1980,
        "max_memory_clock_mhz": 2619,
        "power_limit_watts": 700.0,
        "mig_mode": "Disabled",
    }


@pytest.mark.parametrize("renamed", ["clocks_throttle_reasons.active", "clocks_event_reasons.active"])
@pytest.mark.parametrize(
    ("mask", "reasons"),
    [
        ("0x0000000000000000", ""),
        ("0x0000000000000001", "idle"),
        ("0x0000000000000024", "power cap, heat, by software"),
        ("0x0000000000000404", "power cap, 0x400"),
    ],
)
def test_why_a_gpu_throttles_is_told_in_words_by_drivers_old_and_new(
    nvidia_smi: Any, renamed: str, mask: str, reasons: str
) -> None:
    nvidia_smi({**STATE, renamed: mask})
    assert devices.nvidia_state(0) == {
        "sm_clock_mhz": 345,
        "temperature_celsius": 31,
        "performance_state": "P0",
        "memory_free_bytes": 81000 * 2**20,
        "throttle_reasons": reasons,
    }


@pytest.mark.parametrize(
    ("visible", "index", "asked"),
    [
        (None, 1, "1"),
        ("", 0, "0"),
        ("3,GPU-b", 0, "3"),
        ("3, GPU-b", 1, "GPU-b"),
        ("MIG-c", 0, "GPU-b"),
        ("MIG-unknown", 0, "MIG-unknown"),
    ],
)
def test_the_device_asked_for_is_the_one_that_cuda_counts(
    nvidia_smi: Any, monkeypatch: pytest.MonkeyPatch, visible: str | None, index: int, asked: str
) -> None:
    calls = nvidia_smi(STATE)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices.nvidia_state(index)
    assert {line.rpartition("--id=")[2] for line in calls() if "--query-gpu" in line} == {asked}


def test_where_nvidia_smi_is_absent_or_fails_nothing_is_told(nvidia_smi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = (
        "#!/bin/sh\necho 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'\nexit 9\n"
    )
    nvidia_smi({}, failing)
    assert devices.nvidia_facts(0) == devices.nvidia_state(0) == {}
    monkeypatch.setenv("PATH", "/nowhere")
    assert devices.nvidia_facts(0) == devices.nvidia_state(0) == {}


@pytest.mark.parametrize("said", ["", "No devices were found", "one, two"])
def test_an_answer_that_is_no_row_of_values_tells_nothing(nvidia_smi: Any, said: str) -> None:
    nvidia_smi({}, f"#!/bin/sh\necho '{said}'\n")
    assert devices.nvidia_facts(0) == devices.nvidia_state(0) == {}


def test_a_driver_that_knows_no_field_tells_nothing(nvidia_smi: Any) -> None:
    nvidia_smi({})
    assert devices.nvidia_state(0) == {}


def test_the_chips_of_a_tpu_are_counted_by_their_ids_not_by_their_maker(tmp_path: Path) -> None:
    ids = ("0x0063", "0x0063", "0x0042", "0x0063", "0x0063")  # the third is a network card of Google's
    for position, device in enumerate(ids):
        folder = tmp_path / "sys/bus/pci/devices" / f"0000:00:0{position}.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x1ae0\n")
        (folder / "device").write_text(f"{device}\n")
    other = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    other.mkdir()
    (other / "vendor").write_text("0x10de\n")
    (other / "device").write_text("0x0063\n")
    (tmp_path / "dev/vfio").mkdir(parents=True)
    for name in ("vfio/vfio", "vfio/0", "vfio/1", "accel0", "accelerate"):
        (tmp_path / "dev" / name).touch()
    variables = {"TPU_ACCELERATOR_TYPE": "v5litepod-4", "TPU_TOPOLOGY": "2x2", "TPU_WORKER_ID": ""}
    facts = devices.tpu_facts(tmp_path, variables)
    facts.pop("libtpu", None)
    assert facts == {
        "chips": 4,
        "generation": "v5e",
        "device_nodes": 3,
        "accelerator_type": "v5litepod-4",
        "topology": "2x2",
    }


def test_where_there_is_no_tpu_there_is_nothing_but_perhaps_its_library(tmp_path: Path) -> None:
    assert set(devices.tpu_facts(tmp_path, {})) <= {"libtpu"}


def test_the_librarys_version_is_that_of_its_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "libtpu_nightly-0.1.dev20230622.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: libtpu-nightly\nVersion: 0.1.dev20230622\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert devices.tpu_facts(tmp_path, {}) == {"libtpu": "0.1.dev20230622"}

"""images/tpu-devices: the override that gives a tpu service its chips instead of all privileges."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.paths import ROOT


def tpu_devices(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", ROOT / "images" / "tpu-devices", folder], capture_output=True, text=True)


def test_every_chip_of_either_driver_is_passed_in_and_nothing_else(tmp_path: Path) -> None:
    for name in ("accel0", "accel1", "vfio/0", "vfio/vfio", "kmsg", "mem", "accelerate"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    override = tpu_devices(tmp_path).stdout.splitlines()
    nodes = ("accel0", "accel1", "vfio/0", "vfio/vfio")
    assert override == [
        "x-chips: &chips",
        "  privileged: false",
        "  devices:",
        *(f"    - {tmp_path}/{node}:/dev/{node}" for node in nodes),
        "services:",
        *(f"  {framework}-tpu: *chips" for framework in ("torch", "tensorflow", "jax")),
    ]


def test_a_machine_without_chips_gets_one_error_and_no_override(tmp_path: Path) -> None:
    done = tpu_devices(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "this machine has no TPU" in done.stderr

"""`portbench kernels`, and the lists in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from portbench.cli import cli
from portbench.formats.documents import read_document
from portbench.util.repository import find_checkout

ROOT = find_checkout().root
LISTS = sorted((ROOT / "runners").glob("*/kernels/*.json"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_list_of_kernels_is_of_the_wheel_in_the_gpu_targets_lock(path: Path) -> None:
    document = read_document(path, "kernels").data
    framework, version = document["framework"], document["version"]
    assert (framework, version) == (path.parts[-3], path.stem)
    lock = (ROOT / "images" / framework / version / "gpu.lock").read_text()
    pin = re.search(rf"^{framework}=={re.escape(version)} (?:.*\\\n)*.*$", lock, re.MULTILINE)
    assert pin is not None
    assert f"sha256:{document['wheel']['sha256']}" in pin[0]


@pytest.mark.parametrize("target", ["tensorflow-2.11.0-cpu", "jax-0.10.2-gpu", "torch-2.9.0-tpu"])
def test_only_a_locked_gpu_target_of_tensorflow_or_torch_has_a_wheel_for_cuda(target: str, tmp_path: Path) -> None:
    out = tmp_path / "kernels.json"
    done = CliRunner().invoke(cli, ["kernels", target, "-o", str(out)])
    assert done.exit_code
    assert "expected a gpu target of tensorflow or torch with a lock" in str(done.exception)
    assert not out.exists()

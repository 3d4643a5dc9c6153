"""`portbench kernels`, and the lists in the repository."""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from portbench.cli import cli
from portbench.errors import EnvironmentFailed
from portbench.formats.documents import read_document
from portbench.targets.catalog import Target, find_targets
from portbench.targets.environments import kernel_list
from portbench.targets.kernels import list_downloaded_kernels
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


_KERNELS = """
class Type:
    name = "float32"
class List:
    type = [1]
class Values:
    list = List
class Constraint:
    name, allowed_values = "T", Values
class Kernel:
    def __init__(self, op, device, label=""):
        self.op, self.device_type, self.label = op, device, label
        self.constraint, self.host_memory_arg = [Constraint], []
class Found:
    kernel = [Kernel("Svd", "GPU"), Kernel("Abs", "CPU"), Kernel("Exp", "GPU", "other")]
def get_all_registered_kernels():
    return Found
"""


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel that registers kernels as TensorFlow does, in a local index."""
    contents = {
        "tensorflow/__init__.py": "__version__ = '2.15.1'\n"
        "class sysconfig:\n    get_build_info = staticmethod(lambda: {'cuda_version': '12.2'})\n",
        "tensorflow/python/framework/kernels.py": _KERNELS,
        "tensorflow/python/framework/dtypes.py": "class as_dtype:\n    def __init__(self, n): self.name = 'float32'\n",
        "tensorflow/python/framework/op_def_registry.py": "def get(name): return None\n",
        "tensorflow-2.15.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.15.1\n",
        "tensorflow-2.15.1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    contents["tensorflow-2.15.1.dist-info/RECORD"] = "".join(f"{name},,\n" for name in contents)
    index = tmp_path / "index"
    index.mkdir()
    path = index / "tensorflow-2.15.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    return path


def tensorflow_target() -> Target:
    (target,) = find_targets(["tensorflow-2.21.0-gpu-predicted"], find_checkout())
    return replace(target, version="2.15.1")


def test_the_kernels_of_a_version_that_is_not_pinned_are_those_of_its_wheel_for_cuda(wheel: Path) -> None:
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    said: list[str] = []
    path = list_downloaded_kernels(
        tensorflow_target(), wheel.name, sha256, Path(sys.executable), find_checkout(), said.append
    )
    document = read_document(path, "kernels").data
    assert path == kernel_list("tensorflow", "2.15.1")
    assert document["kernels"] == {"Svd": [{"types": {"T": ["float32"]}}]}
    assert document["wheel"] == {"name": wheel.name, "sha256": sha256, "cuda": "12.2", "cudnn": None}
    assert said[0] == f"downloading {wheel.name}"


def test_a_wheel_with_another_hash_is_not_used(wheel: Path) -> None:
    with pytest.raises(EnvironmentFailed, match=r"wheel of tensorflow 2\.15\.1 was not downloaded"):
        list_downloaded_kernels(
            tensorflow_target(), wheel.name, "0" * 64, Path(sys.executable), find_checkout(), lambda _: None
        )
    assert not kernel_list("tensorflow", "2.15.1").exists()

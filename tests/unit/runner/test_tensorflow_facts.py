"""What is known of TensorFlow before it is imported, and what is done so that it finds CUDA."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from runners import tensorflow as facts
from runners.tensorflow import cuda_libraries


def test_flags_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_clustering_debug")
    assert facts.variables("xla")["TF_XLA_FLAGS"] == "--tf_xla_clustering_debug --tf_xla_enable_xla_devices"
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_enable_xla_devices=true")
    assert "TF_XLA_FLAGS" not in facts.variables("xla")
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    assert facts.variables("gpu")["CUDA_DEVICE_ORDER"] == "FASTEST_FIRST"
    assert all(facts.variables(device)["CUDA_VISIBLE_DEVICES"] == "-1" for device in ("cpu", "tpu", "xla"))


def test_a_compiler_that_comes_as_a_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "site-packages"
    (packages / "nvidia" / "cuda_nvcc" / "bin").mkdir(parents=True)
    (packages / "nvidia" / "cuda_nvcc" / "bin" / "ptxas").touch()
    monkeypatch.setattr(sys, "path", [str(packages)])
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert facts.variables("gpu")["XLA_FLAGS"] == f"--xla_gpu_cuda_data_dir={packages / 'nvidia' / 'cuda_nvcc'}"
    assert "XLA_FLAGS" not in facts.variables("cpu")


def test_libraries_that_come_as_packages_are_loaded_before_they_are_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    import numpy

    library = next(Path(numpy.__file__).parent.rglob("*.so"))
    folder = tmp_path / "nvidia" / "cuda_runtime" / "lib"
    folder.mkdir(parents=True)
    shutil.copy(library, folder / "libcudart.so.11.0")
    (folder / "libcudnn.so.8").write_text("no library")
    loaded = cuda_libraries.preload([str(tmp_path)])
    assert loaded == [str(folder / "libcudart.so.11.0")]
    assert cuda_libraries.preload([str(tmp_path / "nowhere")]) == []

"""What a run file records of the surroundings of a run."""

from __future__ import annotations

import pytest

from runners.core import environment


def recorded(**from_runner: str) -> dict[str, str]:
    return dict(environment.collect("box", {}, from_runner)["variables"])


@pytest.mark.parametrize(
    "name",
    [
        "XLA_FLAGS",
        "TF_XLA_FLAGS",
        "LIBTPU_INIT_ARGS",
        "TORCHINDUCTOR_CACHE_DIR",
        "NVIDIA_TF32_OVERRIDE",
        "CUBLASLT_WORKSPACE_SIZE",
        "HSA_OVERRIDE_GFX_VERSION",
        "OMP_NUM_THREADS",
        "ONEDNN_MAX_CPU_ISA",
        "NPY_DISABLE_CPU_FEATURES",
        "LD_PRELOAD",
        "MALLOC_CONF",
        "PYTHONHASHSEED",
    ],
)
def test_variables_that_change_what_a_framework_does_are_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "x")
    assert recorded()[name] == "x"


@pytest.mark.parametrize(
    "name", ["HOME", "HOSTNAME", "MY_CUDA_NOTES", "NVIDIA_API_KEY", "JAX_UPLOAD_TOKEN", "TF_VAR_db"]
)
def test_others_and_secrets_are_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "x")
    assert name not in recorded()


def test_what_the_runner_sets_itself_comes_before_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PJRT_DEVICE", "TPU")
    assert recorded(PJRT_DEVICE="CPU", SOMETHING="1").items() >= {"PJRT_DEVICE": "CPU", "SOMETHING": "1"}.items()

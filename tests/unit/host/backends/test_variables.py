"""Environment variables of the caller: which of them a container gets."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from portbench.backends import Command, variables
from portbench.backends.docker import Docker
from portbench.run.model import RunnerArguments
from portbench.targets.catalog import find_targets
from portbench.util.repository import find_checkout
from runners.core import environment
from tests.unit.host.described_machine import Described

CHECKOUT = find_checkout()


def command(name: str, folder: Path) -> Command:
    (target,) = find_targets([name], CHECKOUT)
    manifest = CHECKOUT.manifests / "study" / f"{target.framework}.json"
    return Docker(CHECKOUT, Described().with_docker()).command(target, RunnerArguments(manifest, folder))


def handed_on(argv: list[str]) -> list[str]:
    return [value for option, value in pairwise(argv) if option == "--env"]


@pytest.mark.parametrize(
    "name",
    ["XLA_FLAGS", "TF_XLA_FLAGS", "JAX_ENABLE_X64", "PJRT_DEVICE", "OMP_NUM_THREADS", "NVIDIA_TF32_OVERRIDE"],
)
def test_what_changes_a_framework_reaches_the_container_by_name_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "--some=value")
    started = command("jax-cpu", tmp_path)
    assert name in handed_on(started.argv)
    assert not any("--some=value" in word for word in started.argv)  # other users see the arguments of a process
    assert started.env[name] == "--some=value"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("HOME", "x"), ("MY_CUDA_NOTES", "x")),
        *(("NVIDIA_API_KEY", "x"), ("JAX_UPLOAD_TOKEN", "x"), ("TF_VAR_db", "x")),
        *(("TORCH_VERSION", "2.9.0"), ("JAX_VERSION", "0.4.13")),
        *(("PYTHONPATH", "x"), ("PYTHONHASHSEED", "0")),
        *(("LD_PRELOAD", "/usr/lib/libjemalloc.so"), ("CUDA_HOME", "/usr/local/cuda")),
        *(("NVIDIA_VISIBLE_DEVICES", "all"), ("NVIDIA_DRIVER_CAPABILITIES", "all"), ("CUDA_VISIBLE_DEVICES", "1")),
    ],
)
def test_secrets_paths_and_what_chooses_the_environment_do_not(name: str, value: str) -> None:
    assert variables.for_container({name: value, "XLA_FLAGS": "x"}, CHECKOUT) == ["XLA_FLAGS"]


def test_what_reaches_a_container_is_recorded_there(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [prefix + "X" * prefix.endswith("_") for prefix in environment.VARIABLES]
    for name in names:
        monkeypatch.setenv(name, "1")
    passed = variables.for_container(dict.fromkeys(names, "1"), CHECKOUT)
    assert len(passed) > 40
    assert set(passed) <= set(environment.collect("box", {}, {})["variables"])


@pytest.mark.parametrize(
    ("target", "given", "expected"),
    [
        ("torch-gpu", {"CUDA_VISIBLE_DEVICES": "2,0"}, "2"),
        ("torch-gpu", {"CUDA_VISIBLE_DEVICES": "2", "PORTBENCH_GPU": "1"}, None),
        ("torch-gpu", {"CUDA_VISIBLE_DEVICES": ""}, None),
        ("torch-gpu", {"CUDA_VISIBLE_DEVICES": "-1"}, None),
        ("torch-cpu", {"CUDA_VISIBLE_DEVICES": "2"}, None),
    ],
)
def test_a_chosen_gpu_is_the_one_that_the_container_gets(
    target: str, given: dict[str, str], expected: str | None
) -> None:
    (found,) = find_targets([target], CHECKOUT)
    assert variables.gpu(found, given).get("PORTBENCH_GPU") == expected


def test_compose_alone_passes_on_listed_names_that_no_image_sets() -> None:
    block = (CHECKOUT.root / "compose.yaml").read_text().partition("\n  environment:\n")[2].partition("\n  volumes:")[0]
    listed = re.findall(r"^    ([A-Z0-9_]+):$", block, re.MULTILINE)
    from_caller = [name for name in listed if not name.startswith("PORTBENCH_")]
    assert len(from_caller) > 10
    assert variables.for_container(dict.fromkeys(from_caller, "1"), CHECKOUT) == sorted(from_caller)
    # Compose removes a variable of the image if the caller has none.
    for dockerfile in CHECKOUT.images.glob("*/*/*.Dockerfile"):
        settings = " ".join(re.findall(r"^ENV (.*)$", dockerfile.read_text(), re.MULTILINE))
        assert not set(from_caller) & set(re.findall(r"(\w+)=", settings)), dockerfile


def test_the_list_has_no_empty_prefix_and_no_duplicate() -> None:
    groups = json.loads((CHECKOUT.schema / "environment-variables.json").read_text()).values()
    prefixes = [prefix for group in groups for prefix in group]
    assert all(re.fullmatch("[A-Z][A-Z_]+", prefix) for prefix in prefixes)
    assert len(prefixes) == len(set(prefixes))

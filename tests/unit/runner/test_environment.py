"""What a run file records of the surroundings of a run."""

from __future__ import annotations

from pathlib import Path

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
        "PYTHONPATH",
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


def test_the_hash_seed_is_the_one_that_the_framework_runs_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "5")
    assert recorded()["PYTHONHASHSEED"] == "0"


HEX = 16 * "0a1b"
DISK = "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw"


@pytest.mark.parametrize(
    ("mounted", "engine"),
    [
        (f"501 480 8:1 /var/lib/docker/containers/{HEX}/hostname /etc/hostname rw - ext4 /dev/sda1 rw", "docker"),
        (f"501 480 8:16 /containers/{HEX}/resolv.conf /etc/resolv.conf rw - ext4 /dev/sdb rw", "docker"),
        (f"9 8 0:5 /containers/overlay-containers/{HEX}/userdata/hosts /etc/hosts rw - tmpfs tmpfs rw", "podman"),
        (f"9 8 8:1 /pods/{HEX[:8]}-{HEX[:4]}-{HEX[:4]}-{HEX[:4]}-{HEX[:12]}/etc-hosts /etc/hosts rw -", "kubernetes"),
        ("", None),
    ],
)
def test_a_container_is_known_by_what_its_engine_mounts(
    mounted: str, engine: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("container", raising=False)
    monkeypatch.delenv("PORTBENCH_BACKEND", raising=False)
    (tmp_path / "mountinfo").write_text(f"{DISK}\n{mounted}\n")
    assert environment.container(tmp_path / "mountinfo") == engine
    monkeypatch.setenv("container", "systemd-nspawn")
    assert environment.container(tmp_path / "mountinfo") == (engine or "systemd-nspawn")


@pytest.mark.parametrize(("value", "recorded"), [("venv", "venv"), ("docker", "docker"), ("", None), ("vm", None)])
def test_the_backend_is_recorded_if_it_is_known(
    value: str, recorded: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTBENCH_BACKEND", value)
    assert environment.collect("box", {}, {}).get("backend") == recorded


MACHINE = "the memory of the machine"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, MACHINE),
        # Version 2: of 1,000 bytes 700 are held, 200 of them files that the kernel can give up.
        ({"memory.max": "1000", "memory.current": "700", "memory.stat": "anon 1\ninactive_file 200\n"}, 500),
        ({"memory.max": "max", "memory.current": "700", "memory.stat": "inactive_file 200\n"}, MACHINE),
        ({"memory.max": "1000", "memory.current": "1100", "memory.stat": "inactive_file 0\n"}, 0),
        # Version 1.
        (
            {
                "memory/memory.limit_in_bytes": "1000",
                "memory/memory.usage_in_bytes": "900",
                "memory/memory.stat": "cache 9\ntotal_inactive_file 50\n",
            },
            150,
        ),
        (
            {
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/memory.usage_in_bytes": "900",
                "memory/memory.stat": "total_inactive_file 50\n",
            },
            MACHINE,
        ),
        ({"memory.max": "1000"}, MACHINE),
    ],
)
def test_free_memory_is_what_the_limit_of_a_container_leaves(
    files: dict[str, str], expected: int | str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = environment.free_memory_bytes(tmp_path)
    # No machine has less than a megabyte left.
    assert found > 1_000_000 if expected == MACHINE else found == expected

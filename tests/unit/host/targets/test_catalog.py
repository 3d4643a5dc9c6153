"""The catalogue of targets, and `portbench targets`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portbench.devices import PREDICTED_TPUS, VENDOR_DEVICES
from portbench.errors import BadInput, PortbenchError, UnknownTarget
from portbench.targets.catalog import all_targets, find_targets, of_version
from portbench.util.repository import Checkout, find_checkout
from tests.unit.host.clones import Clone, make_clone


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_clone(tmp_path)


def named(clone: Clone, *names: str) -> list[str]:
    return [target.name for target in find_targets(names, Checkout(clone.root))]


def test_a_new_version_is_only_a_new_folder(clone: Clone) -> None:
    clone.add_version("torch", "1.12.0")
    clone.add_version("torch", "1.9.1", default=False)
    folder = clone.add_version("torch", "2.9.0", python="3.10", default=False)
    (folder / "tpu.Dockerfile").touch()
    every = [target for target in all_targets(Checkout(clone.root)) if target.framework == "torch"]
    catalogue = [target for target in every if target.device != VENDOR_DEVICES["torch"]]
    names = ["torch-1.9.1-cpu", "torch-1.12.0-cpu", "torch-2.9.0-cpu", "torch-2.9.0-tpu"]
    assert [target.name for target in catalogue] == names
    assert [target.is_default for target in catalogue] == [False, True, False, False]
    newest = catalogue[-1]
    assert (newest.python, newest.lock, newest.dockerfile) == ("3.10", None, folder / "tpu.Dockerfile")


@pytest.mark.parametrize(("framework", "device"), VENDOR_DEVICES.items())
def test_each_version_has_a_device_that_the_user_names_the_library_of(
    framework: str, device: str, clone: Clone
) -> None:
    clone.add_version(framework, "9.0.0")
    (target,) = find_targets([f"{framework}-{device}"], Checkout(clone.root))
    assert (target.name, target.environment) == (f"{framework}-9.0.0-{device}", f"{framework}-9.0.0-cpu")
    assert target.lock is not None
    assert target.dockerfile is None


def test_a_device_may_need_another_version_or_python_than_the_others(clone: Clone) -> None:
    old = clone.add_version("torch", "1.12.0", python="3.10")
    new = clone.add_version("torch", "2.9.0", python="3.11", default=False)
    for folder in (old, new):
        (folder / "tpu.Dockerfile").touch()
    (old / "tpu.python-version").write_text("3.8\n")
    (old.parent / "tpu.default-version").write_text("2.9.0\n")
    catalogue = {target.name: target for target in all_targets(Checkout(clone.root))}
    assert catalogue["torch-1.12.0-cpu"].python == "3.10"
    assert catalogue["torch-1.12.0-tpu"].python == "3.8"
    assert catalogue["torch-2.9.0-tpu"].python == "3.11"
    assert named(clone, "torch-cpu", "torch-tpu") == ["torch-1.12.0-cpu", "torch-2.9.0-tpu"]
    assert not catalogue["torch-1.12.0-tpu"].is_default


def test_xla_has_the_packages_of_cpu_unless_it_has_its_own(clone: Clone) -> None:
    shared = clone.add_version("jax", "0.4.13")
    own = clone.add_version("torch", "2.9.0")
    for folder in (shared, own):
        (folder / "cpu.python-version").write_text("3.9\n")
        for device in ("xla", "tpu"):
            (folder / f"{device}.Dockerfile").touch()
    (own / "xla.lock").touch()
    catalogue = {target.name: target for target in all_targets(Checkout(clone.root))}
    jax, torch, tpu = (catalogue[name] for name in ("jax-0.4.13-xla", "torch-2.9.0-xla", "jax-0.4.13-tpu"))
    assert (jax.source, jax.lock, jax.python) == (shared / "cpu.in", shared / "cpu.lock", "3.9")
    assert jax.dockerfile == shared / "xla.Dockerfile"
    assert (torch.source, torch.lock, torch.python) == (None, own / "xla.lock", "3.11")
    assert (tpu.source, tpu.lock, tpu.python) == (None, None, "3.11")
    assert jax.environment == catalogue["jax-0.4.13-cpu"].environment == "jax-0.4.13-cpu"
    assert torch.environment == "torch-2.9.0-xla"
    assert named(clone, "jax-xla", "torch-xla") == ["jax-0.4.13-xla", "torch-2.9.0-xla"]


def test_a_short_name_means_the_default_version(clone: Clone) -> None:
    clone.add_version("torch", "1.12.0")
    clone.add_version("torch", "2.9.0", default=False)
    checkout = Checkout(clone.root)
    (short,) = find_targets(["torch-cpu"], checkout)
    (full,) = find_targets(["torch-1.12.0-cpu"], checkout)
    assert short.name == full.name == "torch-1.12.0-cpu"
    assert (short.version_named, full.version_named) == (False, True)


def test_latest_is_the_newest_version_that_has_the_device(clone: Clone) -> None:
    clone.add_version("jax", "0.10.2", default=False)
    clone.add_version("jax", "0.4.13")
    tpu = clone.add_version("jax", "0.9.2", default=False)
    newest = clone.add_version("jax", "0.12.0.1", default=False)
    clone.add_version("jax", "0.13.0rc1", default=False)
    (tpu / "tpu.Dockerfile").touch()
    (newest / "xla.Dockerfile").touch()
    names = [target.name for target in all_targets(Checkout(clone.root)) if target.framework == "jax"]
    assert [name.rpartition("-")[0] for name in names if name.endswith("-cpu")] == [
        "jax-0.4.13",
        "jax-0.9.2",
        "jax-0.10.2",
        "jax-0.12.0.1",
        "jax-0.13.0rc1",
    ]
    found = find_targets(["jax-latest-cpu", "jax-latest-tpu", "jax-latest-xla"], Checkout(clone.root))
    assert [target.name for target in found] == ["jax-0.12.0.1-cpu", "jax-0.9.2-tpu", "jax-0.12.0.1-xla"]
    assert all(target.version_named and target.is_latest for target in found)
    assert named(clone, "jax-cpu", "jax-0.12.0.1-cpu", "jax-latest-cpu") == ["jax-0.4.13-cpu", "jax-0.12.0.1-cpu"]
    with pytest.raises(UnknownTarget, match="did you mean jax-latest-"):
        named(clone, "jax-latest-gpu")


def test_only_a_prerelease_is_the_latest_where_there_is_nothing_else(clone: Clone) -> None:
    clone.add_version("jax", "0.13.0rc1")
    assert named(clone, "jax-latest-cpu") == ["jax-0.13.0rc1-cpu"]


def test_latest_is_recorded_as_the_number(clone: Clone) -> None:
    clone.add_version("torch", "1.12.0")
    clone.add_version("torch", "2.15.0", default=False)
    done = clone.portbench("run", "torch-latest-cpu", "--backend", "venv")
    assert done.returncode == 0, done.stderr
    (path,) = (clone.root / "results").glob("*.json")
    argv = json.loads(path.read_text())["argv"]
    assert argv[argv.index("--version") + 1] == "2.15.0"
    rows = json.loads(clone.portbench("targets", "--json", variables={"PATH": "/nowhere"}).stdout)["targets"]
    latest = ["fake-1.0.0-cpu", "torch-2.15.0-cpu", "torch-2.15.0-privateuse1"]
    assert [row["target"] for row in rows if row["latest"]] == latest


def test_targets_keep_the_users_order_without_duplicates(clone: Clone) -> None:
    clone.add_version("torch", "1.12.0")
    names = ("torch-cpu", "fake-cpu", "torch-cpu", "torch-1.12.0-cpu")
    chosen = find_targets(names, Checkout(clone.root))
    assert [(target.name, target.version_named) for target in chosen] == [
        ("torch-1.12.0-cpu", True),
        ("fake-1.0.0-cpu", False),
    ]


def test_unknown_names_are_one_short_error_with_at_most_three_near_misses_each(clone: Clone) -> None:
    for version in ("1.12.0", "1.12.1", "1.13.0", "1.13.1", "2.0.0"):
        clone.add_version("torch", version)
    with pytest.raises(UnknownTarget) as caught:
        named(clone, "tocrh-cpu", "fake-cpu", "torch-1.21.0-cpu", "abacus")
    message = str(caught.value)
    assert "'tocrh-cpu'; did you mean torch-cpu" in message
    assert "'torch-1.21.0-cpu'; did you mean torch-1.1" in message
    assert all(line.count(" or ") <= 2 for line in message.splitlines())
    assert message.endswith("no target is called 'abacus'")
    assert caught.value.remedy.splitlines() == [
        "To add the version to images/:  portbench add-version torch 1.21.0",
        "To run a Python that has it:  portbench run torch-cpu --backend current",
        "'portbench targets' lists the targets.",
    ]


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("torch/default-version", None, "expected one of the versions 1.12.0, found nothing"),
        ("torch/default-version", "1.13.0\n", "expected one of the versions 1.12.0, found 1.13.0"),
        ("torch/1.12.0/python-version", "three\n", "expected a Python like 3.10, found 'three'"),
        ("torch/1.12.0/cpu.python-version", "\n", "expected a Python like 3.10, found ''"),
        ("torch/cpu.default-version", "1.13.0\n", "expected one of the versions 1.12.0, found 1.13.0"),
        ("torch/new/python-version", "3.10\n", "'new' is not a version"),
    ],
)
def test_a_broken_folder_of_images_is_named(clone: Clone, file: str, content: str | None, expected: str) -> None:
    clone.add_version("torch", "1.12.0")
    path = clone.root / "images" / file
    if content is None:
        path.unlink()
    else:
        path.parent.mkdir(exist_ok=True)
        (path.parent / "cpu.lock").touch()
        path.write_text(content)
    with pytest.raises(BadInput) as caught:
        all_targets(Checkout(clone.root))
    assert expected in str(caught.value)
    assert file.split("/")[1] in str(caught.value)


def test_the_command_shows_how_each_would_run_here(clone: Clone) -> None:
    folder = clone.add_version("torch", "1.12.0", python="3.10")
    (folder / "gpu.Dockerfile").touch()
    # Without Docker on PATH there is only the venv backend.
    done = clone.portbench("targets", "--json", variables={"PATH": "/nowhere"})
    rows = {row["target"]: row for row in json.loads(done.stdout)["targets"]}
    cpu, gpu = rows["torch-1.12.0-cpu"], rows["torch-1.12.0-gpu"]
    assert (cpu["python"], cpu["default"], cpu["environment_made"], cpu["image_built"]) == ("3.10", True, False, None)
    assert (cpu["backend"], cpu["blocker"]) == ("venv", None)
    assert gpu["backend"] is None
    assert "GPU" in gpu["blocker"] or "gpu.lock" in gpu["blocker"]
    table = clone.portbench("targets", variables={"PATH": "/nowhere"})
    assert table.returncode == 0
    assert "torch-1.12.0-cpu" in table.stdout
    assert "not created" in table.stdout
    narrow = clone.portbench("targets", variables={"PATH": "/nowhere", "COLUMNS": "80"}).stdout.splitlines()
    (line,) = [line for line in narrow if line.startswith("torch-1.12.0-gpu")]
    number = line.split()[-1]
    assert line.split()[-2:] == ["no", number]
    (reason,) = [line for line in narrow if line.startswith(number)]
    assert f"{number} {gpu['blocker']}".startswith(reason.strip())


def test_predicted_tpus_are_seven_targets_and_one_line(clone: Clone) -> None:
    folder = clone.add_version("jax", "0.12.0.1")
    (folder / "tpu-aot.Dockerfile").touch()
    (folder / "tpu.lock").write_text("libtpu==0.0.52\n")
    done = clone.portbench("targets", "--json", variables={"PATH": "/nowhere"})
    rows = {row["device"]: row for row in json.loads(done.stdout)["targets"] if row["framework"] == "jax"}
    for device in PREDICTED_TPUS:
        row = rows[device]
        assert (row["target"], row["predicted"], row["backend"]) == (f"jax-0.12.0.1-{device}", True, "venv")
        assert row["environment_made"] is False
    assert not rows["cpu"]["predicted"]
    table = clone.portbench("targets", variables={"PATH": "/nowhere"})
    lines = [line for line in table.stdout.splitlines() if "0.12.0.1-tpu-v" in line]
    assert len(lines) == 1
    assert lines[0].startswith("jax-0.12.0.1-tpu-v2 … tpu7x * + ")
    assert "with venv, predicted" in lines[0]


def test_a_version_can_name_the_tpus_that_it_predicts(clone: Clone) -> None:
    clone.add_predicted_tpus()
    devices = clone.root / "images" / "fake" / "1.0.0" / "tpu-aot.devices"
    devices.write_text("tpu-v4 tpu7x\n")
    done = clone.portbench("targets", "--json", variables={"PATH": "/nowhere"})
    rows = json.loads(done.stdout)["targets"]
    assert [row["device"] for row in rows if row["framework"] == "fake" and row["predicted"]] == ["tpu-v4", "tpu7x"]
    devices.write_text("tpu-v4 tpu-v9\n")
    done = clone.portbench("targets")
    assert done.returncode == 2
    assert f"{devices}: expected some of tpu-v2," in done.stderr and "found tpu-v9" in done.stderr


def test_a_target_without_a_lock_names_the_command_that_creates_it(clone: Clone) -> None:
    folder = clone.add_version("torch", "1.12.0", python="3.10")
    (folder / "cpu.lock").unlink()
    (folder / "cpu.in").write_text("torch @ https://vendor.example/torch-1.12.whl\nnumpy\n")
    (folder / "cpu.Dockerfile").touch()
    command = "'portbench lock torch/1.12.0/cpu' on a machine that reaches vendor.example"
    expected = f"not locked: {command} creates its cpu.lock"
    done = clone.portbench("targets", "--json")
    (row,) = [row for row in json.loads(done.stdout)["targets"] if row["target"] == "torch-1.12.0-cpu"]
    assert (row["backend"], row["environment_made"]) == (None, None)
    assert expected in row["blocker"]
    for backend in ("auto", "docker", "venv"):
        run = clone.portbench("run", "torch-cpu", "--backend", backend)
        assert run.returncode == 3
        assert expected in " ".join(run.stderr.split())
        assert "Traceback" not in run.stderr
    assert clone.portbench("run", "torch-cpu", "--backend", "current").returncode == 0


def test_a_clone_is_found_from_any_folder_inside(clone: Clone) -> None:
    assert find_checkout(clone.root / "manifests" / "study").root == clone.root


def test_each_error_has_the_exit_status_of_its_class() -> None:
    statuses = {error.__name__: error.exit_status for error in PortbenchError.__subclasses__()}
    assert statuses["TargetUnavailable"] == 3
    assert statuses["Interrupted"] == 130


def test_a_target_without_a_version_gets_the_version_that_is_asked_for() -> None:
    checkout = find_checkout()

    def names(given: str, version: str) -> list[str]:
        return [target.name for target in of_version(find_targets([given], checkout), version, checkout)]

    (latest,) = find_targets(["torch-latest-cpu"], checkout)
    assert names("torch-cpu", "2.9.0") == ["torch-2.9.0-cpu"]
    assert names("torch-1.12.0-cpu", "2.9.0") == ["torch-1.12.0-cpu"]
    assert names("torch-cpu", "2.8.1") == [latest.name]

"""`portbench add-version` with a stand-in for uv: what is written and skipped; no incomplete folder remains."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.errors import BadInput, EnvironmentFailed, Interrupted, PortbenchError
from portbench.targets import lock as locks
from portbench.targets.catalog import all_targets, find_targets
from portbench.targets.dockerfiles import dockerfile
from portbench.targets.version_files import requirements_for
from portbench.util.repository import Checkout
from tests.unit.host.clones import REPOSITORY, Clone, make_clone

# Pins what the source pins, and fails like uv for the packages and versions in $ABSENT. It treats 2.8 as 2.8.0.
UV = """#!{python} -IS
import os, re, signal, sys
words = sys.argv[1:]
source = next(word for word in words if word.endswith(".in"))
python = words[words.index("--python-version") + 1]
lines = ["# " + source + " for Python " + python]
offline = os.environ.get("OFFLINE", "")
if offline and (offline in open(source).read() or "index" in offline):
    print("error: Failed to fetch: `" + offline + "`", file=sys.stderr)
    sys.exit("  cause: no such host")
for line in open(source):
    name, _, version = re.sub(r"\\[.*?\\]", "", line.strip()).partition("==")
    if os.environ.get("STOPPED"):
        os.kill(os.getppid(), signal.SIGTERM)
        signal.pause()
    for word in os.environ.get("ABSENT", "").split():
        if line.strip() == word:
            print("error: No solution found when resolving dependencies", file=sys.stderr)
            sys.exit(f"  cause: Because there is no version of {{word}} and you require {{word}}, we can conclude that")
    if os.environ.get("CONFLICT") == name:
        print("error: No solution found when resolving dependencies", file=sys.stderr)
        sys.exit(f"  cause: Because {{name}} needs Python>=3.13, we can conclude that")
    if version:
        pin = name.replace("_", "-") + "==" + {{"2.8": "2.8.0"}}.get(version, version)
        lines.append(pin + " \\\\\\n    --hash=sha256:0")
open(words[-1], "w").write("\\n".join(lines) + "\\n")
"""

SETUP = """# PyTorch 1.12.0. Not 11.12.0, not 1.12.0.1.
ENV LD_LIBRARY_PATH=/opt/environment/lib/python3.10/site-packages/libtpu
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    made = make_clone(tmp_path)
    folder = made.add_version("torch", "1.12.0", python="3.10")
    (folder / "cpu.in").write_text("torch==1.12.0\nnumpy<2\nsetuptools<70\n")
    (folder / "tpu.in").write_text("# both from the index\ntorch==1.12.0\ntorch_xla[tpu]==1.12.0\nlibtpu==0.0.21\n")
    for device in ("cpu", "tpu"):
        (folder / f"{device}.Dockerfile").touch()
        (folder / f"{device}.lock").write_text("old\n")
    (folder / "tpu.setup").write_text(SETUP)
    shutil.copyfile(REPOSITORY / "images" / "Dockerfile.jinja", made.root / "images" / "Dockerfile.jinja")
    newer = made.add_version("torch", "2.9.0", python="3.12", default=False)
    (newer / "cpu.in").write_text("torch==2.9.0\nnumpy\n")
    (made.root / "images" / "fake" / "1.0.0" / "cpu.in").write_text("numpy\n")
    uv = tmp_path / "uv"
    uv.write_text(UV.format(python=sys.executable))
    uv.chmod(0o755)
    monkeypatch.setattr(locks, "find_uv_bin", lambda: str(uv))
    monkeypatch.chdir(made.root)
    return made


Portbench = Callable[..., Result]


@pytest.fixture
def add(portbench: Portbench, clone: Clone) -> Callable[..., Result]:
    """Runs the command in the clone."""

    def run(*arguments: str) -> Result:
        return portbench("add-version", *arguments)

    return run


@pytest.fixture
def failure(add: Any, clone: Clone) -> Callable[..., PortbenchError]:
    """Runs the command, which must fail and not change images/."""

    def run(*arguments: str) -> PortbenchError:
        before = contents(clone)
        error = add(*arguments).exception
        assert isinstance(error, PortbenchError)
        assert contents(clone) == before
        return error

    return run


def contents(clone: Clone) -> dict[str, str]:
    """Every file and folder of images/."""
    images = clone.root / "images"
    return {str(path.relative_to(images)): path.read_text() if path.is_file() else "" for path in images.rglob("*")}


def test_a_new_version_copies_the_previous_one_and_has_its_own_locks(add: Any, clone: Clone) -> None:
    before = contents(clone)
    done = add("torch", "1.13.0")
    assert done.exit_code == 0, done.output
    added = {name: text for name, text in contents(clone).items() if name not in before}
    files = {f"torch/1.13.0/{device}.{kind}" for device in ("cpu", "tpu") for kind in ("in", "lock", "Dockerfile")}
    own = {"torch/1.13.0", "torch/1.13.0/python-version", "torch/1.13.0/tpu.setup", *files}
    # The newest version for cpu is another one, without a Dockerfile.
    assert set(added) == {*own, "torch/latest", "torch/latest/tpu.Dockerfile"}
    assert added["torch/latest/tpu.Dockerfile"] == added["torch/1.13.0/tpu.Dockerfile"]
    assert added["torch/1.13.0/python-version"] == "3.10\n"
    assert added["torch/1.13.0/cpu.in"] == "torch==1.13.0\nnumpy<2\nsetuptools<70\n"
    assert (
        added["torch/1.13.0/tpu.in"] == "# both from the index\ntorch==1.13.0\ntorch_xla[tpu]==1.13.0\nlibtpu==0.0.21\n"
    )
    lock = added["torch/1.13.0/tpu.lock"]
    assert lock.startswith("# images/torch/1.13.0/tpu.in for Python 3.10\n")
    assert "torch-xla==1.13.0" in lock
    assert added["torch/1.13.0/tpu.setup"] == SETUP.replace("PyTorch 1.12.0.", "PyTorch 1.13.0.")
    for device in ("cpu", "tpu"):
        (target,) = find_targets([f"torch-1.13.0-{device}"], Checkout(clone.root))
        assert added[f"torch/1.13.0/{device}.Dockerfile"] == dockerfile(target, Checkout(clone.root))
    assert "Not 11.12.0, not 1.12.0.1." in added["torch/1.13.0/tpu.Dockerfile"]
    assert {name: text for name, text in contents(clone).items() if name in before} == before


def test_the_new_version_is_a_target_and_the_commands_that_try_it_are_printed(add: Any, clone: Clone) -> None:
    done = add("torch", "1.13.0")
    names = [target.name for target in all_targets(Checkout(clone.root)) if target.version == "1.13.0"]
    assert names == ["torch-1.13.0-cpu", "torch-1.13.0-privateuse1", "torch-1.13.0-tpu"]
    for line in (
        "portbench run torch-1.13.0-cpu",
        "TORCH_VERSION=1.13.0 docker compose run --rm torch-cpu",
        "TORCH_VERSION=1.13.0 docker compose run --rm torch-tpu",
    ):
        assert f"  {line}\n" in done.output


@pytest.mark.parametrize(
    ("version", "pattern"),
    [
        ("1.9.0", "1.12.0"),
        ("1.13.0", "1.12.0"),
        ("2.0.0", "2.9.0"),
        ("2.8.0", "2.9.0"),
        ("2.10.0", "2.9.0"),
        ("2.9.0rc1", "2.9.0"),
        ("2.9.0.post1", "2.9.0"),
    ],
)
def test_the_nearest_version_is_copied(add: Any, version: str, pattern: str) -> None:
    done = add("torch", version)
    assert done.exit_code == 0, done.output
    assert f"images/torch/{version}, a copy of {pattern}:" in done.output


def test_a_device_that_the_nearest_version_lacks_is_copied_from_the_nearest_that_has_it(add: Any, clone: Clone) -> None:
    newer = clone.add_version("torch", "2.12.0", python="3.13", default=False)
    (newer / "cpu.lock").unlink()
    (newer / "cpu.in").rename(newer / "tpu.in")
    (newer / "tpu.in").write_text("torch_xla==2.12.0\n")
    done = add("torch", "2.11.0")
    assert done.exit_code == 0, done.output
    assert "images/torch/2.11.0, a copy of 2.9.0 and 2.12.0:" in done.output
    assert "  cpu: Python 3.12, from 2.9.0\n" in done.output
    assert "  tpu: Python 3.13, from 2.12.0\n" in done.output
    made = {target.device: target.python for target in all_targets(Checkout(clone.root)) if target.version == "2.11.0"}
    assert made == {"cpu": "3.12", "privateuse1": "3.12", "tpu": "3.13"}


def test_without_a_network_that_is_the_one_error(failure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFLINE", "https://index.example/simple/torch/")
    error = failure("torch", "1.13.0")
    assert isinstance(error, EnvironmentFailed)
    unreached = "https://index.example/simple/torch/ cannot be reached: no such host"
    assert str(error) == f"torch 1.13.0 was not added: no network: {unreached}"
    assert "HTTPS_PROXY" in error.remedy


def test_a_vendor_that_is_not_reached_leaves_out_the_device_that_needs_it(
    add: Any, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = clone.root / "images" / "torch" / "1.12.0" / "tpu.in"
    source.write_text("--find-links https://vendor.example/wheels.html\ntorch==1.12.0\ntorch_xla==1.12.0\n")
    monkeypatch.setenv("OFFLINE", "https://vendor.example/wheels.html")
    done = add("torch", "1.13.0")
    assert done.exit_code == 0, done.output
    assert "left out tpu: " in done.output
    assert "https://vendor.example/wheels.html cannot be reached" in done.output
    made = [each.device for each in all_targets(Checkout(clone.root)) if each.version == "1.13.0"]
    assert made == ["cpu", "privateuse1"]


def test_the_copied_version_and_the_python_can_be_chosen(add: Any, clone: Clone) -> None:
    done = add("torch", "2.10.0", "--from", "1.12.0", "--python", "3.11")
    assert done.exit_code == 0, done.output
    folder = clone.root / "images" / "torch" / "2.10.0"
    assert (folder / "python-version").read_text() == "3.11\n"
    assert "for Python 3.11" in (folder / "cpu.lock").read_text()
    text = (folder / "tpu.Dockerfile").read_text()
    assert text.count("FROM python:3.11-slim-bookworm") == 3
    assert "lib/python3.11/site-packages" in text
    assert "3.10" not in text


def test_a_device_keeps_a_python_of_its_own(add: Any, clone: Clone) -> None:
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "tpu.python-version").write_text("3.8\n")
    add("torch", "1.13.0")
    made = {target.device: target.python for target in all_targets(Checkout(clone.root)) if target.version == "1.13.0"}
    assert made == {"cpu": "3.10", "privateuse1": "3.10", "tpu": "3.8"}
    add("torch", "1.13.1", "--python", "3.9", "--from", "1.12.0")
    folder = clone.root / "images" / "torch" / "1.13.1"
    assert not (folder / "tpu.python-version").exists()
    assert "FROM python:3.9-slim-bookworm" in (folder / "tpu.Dockerfile").read_text()


def test_a_device_whose_lock_cannot_be_created_is_skipped_and_named(
    add: Any, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABSENT", "torch_xla[tpu]==1.13.0")
    done = add("torch", "1.13.0")
    assert done.exit_code == 0, done.output
    assert "left out tpu: the package index has no torch_xla 1.13.0" in done.output
    assert "torch-tpu" not in done.output
    made = {path.name for path in (clone.root / "images" / "torch" / "1.13.0").iterdir()}
    assert made == {"cpu.in", "cpu.lock", "cpu.Dockerfile", "python-version"}


def test_xla_is_added_with_the_packages_of_cpu(add: Any, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "xla.Dockerfile").touch()
    done = add("torch", "1.13.0")
    assert done.exit_code == 0, done.output
    assert "portbench run torch-1.13.0-xla" in done.output
    made = clone.root / "images" / "torch" / "1.13.0"
    assert [path.name for path in made.glob("xla.*")] == ["xla.Dockerfile"]
    assert "images/torch/1.13.0/cpu.lock" in (made / "xla.Dockerfile").read_text()
    monkeypatch.setenv("ABSENT", "torch==2.2.0")
    (folder / "tpu.in").write_text("torch_xla==1.12.0\n")
    done = add("torch", "2.2.0", "--from", "1.12.0")
    assert done.exit_code == 0, done.output
    assert "left out cpu, xla: the package index has no torch 2.2.0" in done.output
    assert not (clone.root / "images" / "torch" / "2.2.0" / "xla.Dockerfile").exists()


def test_the_compiler_for_tpus_is_not_changed(add: Any, clone: Clone) -> None:
    clone.add_version("jax", "0.12.0.1", python="3.11")
    (clone.root / "images" / "jax" / "0.12.0.1" / "tpu.lock").write_text("libtpu==0.0.42\n")
    (clone.root / "images" / "torch" / "1.12.0" / "tpu-aot.Dockerfile").touch()
    done = add("torch", "1.13.0", "--python", "3.12")
    assert done.exit_code == 0, done.output
    made = clone.root / "images" / "torch" / "1.13.0"
    text = (made / "tpu-aot.Dockerfile").read_text()
    assert "FROM python:3.11-slim-bookworm AS compiler\n" in text
    assert "images/jax/0.12.0.1/tpu.lock" in text
    assert text.count("FROM python:3.12-slim-bookworm") == 3
    assert "images/torch/1.13.0/cpu.lock" in text
    assert [path.name for path in made.glob("tpu-*")] == ["tpu-aot.Dockerfile"]
    assert done.output.count("tpu-v2 … tpu7x: Python 3.12") == 1
    assert done.output.count("portbench run torch-1.13.0-tpu-v") == 1
    assert "TORCH_VERSION=1.13.0 docker compose run --rm torch-tpu-v2\n" in done.output
    assert len([target for target in all_targets(Checkout(clone.root)) if target.version == "1.13.0"]) == 10


def test_predicted_tpus_with_packages_of_their_own_are_locked(add: Any, clone: Clone) -> None:
    clone.add_version("jax", "0.12.0.1", python="3.12")
    (clone.root / "images" / "jax" / "0.12.0.1" / "tpu.lock").write_text("libtpu==0.0.52\n")
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "tpu-aot.Dockerfile").touch()
    (folder / "tpu-aot.in").write_text("torch==1.12.0\ntorch_tpu==0.2.0\n")
    (folder / "tpu-aot.devices").write_text("tpu-v4 tpu7x\n")
    done = add("torch", "1.13.0")
    assert done.exit_code == 0, done.output
    made = clone.root / "images" / "torch" / "1.13.0"
    assert (made / "tpu-aot.in").read_text() == "torch==1.13.0\ntorch_tpu\n"
    assert (made / "tpu-aot.lock").is_file()
    text = (made / "tpu-aot.Dockerfile").read_text()
    assert "images/torch/1.13.0/tpu-aot.lock" in text and "import torch, torch_tpu;" in text
    targets = [target for target in all_targets(Checkout(clone.root)) if target.version == "1.13.0"]
    assert [target.device for target in targets if target.packages == "tpu-aot"] == ["tpu-v4", "tpu7x"]


def test_the_missing_list_of_kernels_is_named(add: Any, clone: Clone) -> None:
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "gpu-predicted.Dockerfile").touch()
    assert "portbench kernels" not in add("torch", "1.13.0").output  # this adapter looks up none
    lists = clone.root / "runners" / "torch" / "kernels"
    lists.mkdir(parents=True)
    assert "  portbench kernels torch-1.13.1-gpu\n" in add("torch", "1.13.1").output
    (lists / "2.1.2.json").write_text("{}")
    assert "portbench kernels" not in add("torch", "2.1.2", "--from", "1.12.0").output


def test_a_version_that_the_index_does_not_have_is_one_error(failure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABSENT", "torch==9.9.9")
    error = failure("torch", "9.9.9", "--from", "1.12.0")
    assert isinstance(error, BadInput)
    assert str(error) == "torch 9.9.9 was not added: the package index has no torch 9.9.9"


def test_packages_that_do_not_fit_together_are_one_error_with_the_reason(
    failure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICT", "torch")
    error = failure("torch", "1.13.0")
    assert isinstance(error, EnvironmentFailed)
    assert "  cpu, tpu: Because torch needs Python>=3.13" in str(error)
    assert "--python" in error.remedy
    assert "--from, one of: 2.9.0" in error.remedy


def test_a_version_with_another_name_in_the_index_is_refused_with_that_name(failure: Any) -> None:
    error = failure("torch", "2.8")
    assert "calls this version 2.8.0" in str(error)
    assert error.remedy == "portbench add-version torch 2.8.0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["torhc", "1.13.0"], "there is no framework 'torhc'; did you mean torch?"),
        (["../torch", "1.13.0"], "there is no framework '../torch'"),
        (["torch", "2.9.0"], "images/torch/2.9.0 exists already"),
        (["torch", "v2.1"], "'v2.1' is not a version"),
        (["torch", "../1.13.0"], "'../1.13.0' is not a version"),
        (["torch", "1.13.0+cpu"], "'1.13.0+cpu' is not a version"),
        (["torch", "1.13.0\n"], "is not a version"),
        (["torch", "1.13.0", "--from", "2.0.0"], "images/torch has no version 2.0.0"),
        (["torch", "1.13.0", "--python", "three"], "'three' is not a Python"),
        (["fake", "2.0.0"], "1.0.0's cpu.in pins no package of fake at 1.0.0"),
    ],
)
def test_wrong_input_is_one_error_and_changes_nothing(failure: Any, arguments: list[str], message: str) -> None:
    error = failure(*arguments)
    assert isinstance(error, BadInput)
    assert message in str(error)
    assert error.remedy


def test_sigterm_while_a_lock_is_created_leaves_nothing(failure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOPPED", "yes")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert isinstance(failure("torch", "1.13.0"), Interrupted)


def test_a_package_of_the_framework_with_another_version_loses_its_pin(
    tmp_path: Path,
) -> None:
    source = tmp_path / "cpu.in"
    source.write_text(
        "--find-links https://x.org/jax_releases.html\njax==0.4.8\njaxlib==0.4.7\nnumpy<1.25\nscipy==0.4.8\n"
    )
    wanted = requirements_for(source, "jax", "0.4.8", "0.4.9")
    lines = ["--find-links https://x.org/jax_releases.html", "jax==0.4.9", "jaxlib", "numpy<1.25", "scipy==0.4.8"]
    assert wanted.text.splitlines() == lines
    assert wanted.packages == ("jax",)


def test_an_address_is_updated_if_it_names_the_version_and_refused_if_not(tmp_path: Path) -> None:
    source = tmp_path / "tpu.in"
    source.write_text("tensorflow @ https://x.org/tf-2.11.0/tensorflow-2.11.0-cp38-cp38-linux_x86_64.whl\n")
    text = requirements_for(source, "tensorflow", "2.11.0", "2.12.1").text
    assert text == "tensorflow @ https://x.org/tf-2.12.1/tensorflow-2.12.1-cp38-cp38-linux_x86_64.whl\n"
    source.write_text("torch==1.12.0\ntorch_xla @ https://x.org/torch_xla-1.12-cp38-cp38-linux_x86_64.whl\n")
    with pytest.raises(BadInput, match=r"tpu.in takes torch-xla from an address without 1.12.0 in it"):
        requirements_for(source, "torch", "1.12.0", "1.13.0")

"""`portbench lock`, with a stand-in for uv: no network is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.errors import BadInput, EnvironmentFailed
from portbench.targets import lock as locks
from portbench.util.repository import Checkout
from tests.unit.host.clones import Clone, make_clone

# Appends its source and its arguments to the lock.
UV = """#!/bin/sh
for last; do :; done
for word; do case "$word" in *.in|*.toml) source="$word";; esac; done
if grep -q nonsense "$source"; then echo "no solution for nonsense" >&2; echo partial > "$last"; exit 1; fi
if grep -q vendor "$source"; then
    printf 'error: Failed to read the page\\n  cause: Failed to fetch: `https://vendor.example/wheels.html`\\n' >&2
    printf '  cause: client error (Connect)\\n  cause: no such host\\n' >&2
    exit 2
fi
{{ grep '^#' "$last" 2>/dev/null; cat "$source"; }} > "$last.new"; mv "$last.new" "$last"
echo "$@" >> {calls}
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    made = make_clone(tmp_path)
    made.add_version("torch", "1.12.0", python="3.10")
    made.add_version("torch", "2.9.0", python="3.10", default=False)
    for version in ("1.12.0", "2.9.0"):
        (made.root / "images" / "torch" / version / "cpu.in").write_text(f"torch=={version}\n")
    (made.root / "images" / "installer.in").write_text("uv==1\n")
    (made.root / "pyproject.toml").write_text('[project]\nname = "portbench"\n')
    (made.root / "scripts").mkdir()
    uv = tmp_path / "uv"
    uv.write_text(UV.format(calls=tmp_path / "calls"))
    uv.chmod(0o755)
    monkeypatch.setattr(locks, "find_uv_bin", lambda: str(uv))
    monkeypatch.chdir(made.root)
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["lock", *arguments])


def test_every_lock_is_regenerated_and_the_changed_ones_are_named(clone: Clone, tmp_path: Path) -> None:
    (clone.root / "images" / "torch" / "1.12.0" / "cpu.lock").write_text("torch==1.12.0\n")
    done = run()
    assert done.exit_code == 0, done.output
    assert "unchanged  images/torch/1.12.0/cpu.lock" in done.output
    assert "changed    images/torch/2.9.0/cpu.lock" in done.output
    assert "changed    scripts/host.lock" in done.output
    assert "changed    images/installer.lock" in done.output
    calls = (tmp_path / "calls").read_text().splitlines()
    (torch,) = [call for call in calls if "images/torch/2.9.0/cpu.in" in call]
    for words in ("pip compile", "--generate-hashes", "--python-version 3.10", "--custom-compile-command make lock"):
        assert words in torch
    (host,) = [call for call in calls if "pyproject.toml" in call]
    assert "--universal" in host
    assert "--group dev" in host
    assert run().output.endswith("0 of 5 changed\n")


def test_the_pins_of_a_lock_are_kept_without_upgrade(clone: Clone) -> None:
    lock = clone.root / "images" / "torch" / "1.12.0" / "cpu.lock"
    lock.write_text("# pinned before\n")
    run("torch/1.12.0")
    assert lock.read_text() == "# pinned before\ntorch==1.12.0\n"
    run("torch/1.12.0", "--upgrade")
    assert lock.read_text() == "torch==1.12.0\n"


@pytest.mark.parametrize(
    ("selection", "count"), [("torch", 2), ("torch/2.9.0", 1), ("torch/2.9.0/cpu", 1), ("fake", 1)]
)
def test_a_selection_regenerates_only_its_own_locks(clone: Clone, selection: str, count: int) -> None:
    done = run(selection)
    assert f"of {count} changed" in done.output
    assert done.output.count("images/") == count
    assert not (clone.root / "scripts" / "host.lock").exists()


def test_a_selection_of_nothing_is_an_error_that_names_the_known_ones(clone: Clone) -> None:
    for selection in ("torhc", "torch/2.9", "torch/2.9.0/gpu"):
        with pytest.raises(BadInput) as caught:
            locks.all_locks(Checkout(clone.root), selection)
        assert f"images/{selection} has no .in file" in str(caught.value)
        assert "torch/1.12.0/cpu, torch/2.9.0/cpu" in caught.value.remedy


def test_a_lock_that_cannot_be_created_is_unchanged(clone: Clone) -> None:
    folder = clone.root / "images" / "torch" / "2.9.0"
    (folder / "cpu.lock").write_text("torch==2.8.0\n")
    (folder / "cpu.in").write_text("nonsense\n")
    done = run("torch")
    assert isinstance(done.exception, EnvironmentFailed)
    assert "no solution for nonsense" in str(done.exception)
    assert (folder / "cpu.lock").read_text() == "torch==2.8.0\n"
    assert sorted(path.name for path in folder.iterdir()) == ["cpu.in", "cpu.lock", "python-version"]


def test_an_unreachable_vendors_page_is_reported_and_the_other_locks_are_created(clone: Clone) -> None:
    folder = clone.root / "images" / "torch" / "1.12.0"
    (folder / "tpu.in").write_text("--find-links https://vendor.example/wheels.html\nvendor==1\n")
    (folder / "gpu.in").write_text("torch @ https://vendor.example/torch.whl\n")
    (folder / "gpu.lock").write_text("torch==1.12.0\n")
    done = run()
    assert isinstance(done.exception, EnvironmentFailed)
    assert done.exception.exit_status == 6
    unreached = "https://vendor.example/wheels.html cannot be reached: no such host"
    assert str(done.exception).splitlines() == [
        f"images/torch/1.12.0/gpu.lock could not be created (the old lock stays): {unreached}",
        f"images/torch/1.12.0/tpu.lock could not be created (there is no lock yet): {unreached}",
    ]
    assert "failed     images/torch/1.12.0/tpu.lock" in done.output
    assert "changed    images/torch/2.9.0/cpu.lock" in done.output
    assert "changed    scripts/host.lock" in done.output
    assert done.output.endswith("4 of 7 changed, 2 failed\n")
    assert not (folder / "tpu.lock").exists()
    assert (folder / "gpu.lock").read_text() == "torch==1.12.0\n"


def test_a_device_has_the_python_of_its_own_file_and_a_tpu_the_newer_c_library(clone: Clone, tmp_path: Path) -> None:
    folder = clone.root / "images" / "torch" / "1.12.0"
    for device in ("gpu", "tpu"):
        (folder / f"{device}.in").write_text("torch\n")
    (folder / "tpu.python-version").write_text("3.8\n")
    assert run("torch/1.12.0").exit_code == 0
    calls = (tmp_path / "calls").read_text().splitlines()
    (gpu,) = [call for call in calls if "gpu.in" in call]
    (tpu,) = [call for call in calls if "tpu.in" in call]
    assert "--python-version 3.10 --python-platform x86_64-manylinux_2_28" in gpu
    assert "--python-version 3.8 --python-platform x86_64-manylinux_2_31" in tpu
    # A vendor's page is in the lock too, so that an installation from it finds the wheel.
    assert "--emit-find-links" in tpu

"""How a run file says that the packages of an environment were pinned."""

from __future__ import annotations

import hashlib
from pathlib import Path

from runners.core.installation import pins

LOCK = (
    "torch==1.12.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    "torch_xla @ https://vendor/x.whl \\\n    --hash=sha256:cc\n"
)


def test_an_environment_without_a_lock_says_nothing(tmp_path: Path) -> None:
    assert pins(tmp_path) == {}


def test_an_environment_from_a_lock_has_its_digest_alone(tmp_path: Path) -> None:
    (tmp_path / "portbench.lock").write_text(f"# created by portbench\n{LOCK}")
    digest = hashlib.sha256((tmp_path / "portbench.lock").read_bytes()).hexdigest()
    assert pins(tmp_path) == {"pins": {"kind": "hash-locked", "lock_sha256": digest}}


def test_hashes_that_were_found_at_install_are_recorded_by_package(tmp_path: Path) -> None:
    (tmp_path / "portbench.lock").write_text(
        f"# pinned, not hash-locked: the hashes were found at install\n--find-links https://vendor/\n{LOCK}"
    )
    found = pins(tmp_path)["pins"]
    assert found["kind"] == "pinned, not hash-locked"
    assert found["hashes"] == {"torch": ["sha256:aa", "sha256:bb"], "torch-xla": ["sha256:cc"]}

"""Which releases a user's words mean, and what the package index says about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import BadInput, EnvironmentFailed
from portbench.history.releases import Release, choose, every_release, list_releases
from tests.wheels import served

KNOWN = ("1.12.0", "1.12.1", "1.13.1", "2.0.0", "2.0.1", "2.4.1", "2.9.0", "2.9.1", "2.10.0")
PINNED = ["1.12.0", "2.9.0"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("1.12..2.4", ["1.12.0", "1.13.1", "2.0.1", "2.4.1"]),
        ("2.0..2.10", ["2.0.1", "2.4.1", "2.9.0", "2.10.0"]),
        ("2.0.0..2.4", ["2.0.0", "2.4.1"]),
        ("2.4..2.9.1", ["2.4.1", "2.9.1"]),
        ("2.9,2.0.0,2.0", ["2.0.0", "2.0.1", "2.9.0"]),
        ("1", ["1.12.0", "1.13.1"]),
    ],
)
def test_words_mean_one_release_of_each_minor_version(words: str, meant: list[str]) -> None:
    assert choose(words, KNOWN, PINNED) == meant


@pytest.mark.parametrize("words", ["2.1", "2.x", "..", "", "3..4", "2.0.1-2.4"])
def test_words_that_mean_no_release_are_refused(words: str) -> None:
    with pytest.raises(BadInput, match="--versions"):
        choose(words, KNOWN, PINNED)


@pytest.mark.parametrize("ends", [("1.13.1", "2.4.1"), ("2.4.1", "1.13.1")])
def test_a_bisection_may_run_every_release_between_two(ends: tuple[str, str]) -> None:
    assert every_release(*ends, KNOWN, PINNED) == ["1.13.1", "2.0.0", "2.0.1", "2.4.1"]


def test_the_ends_of_a_bisection_are_releases() -> None:
    with pytest.raises(BadInput, match=r"no release 2\.4 with wheels.*did you mean 2\.4\.1"):
        every_release("2.0.1", "2.4", KNOWN, PINNED)


def file(name: str, uploaded: str = "2024-01-31T10:00:00Z", **facts: Any) -> dict[str, Any]:
    return {"filename": name, "hashes": {"sha256": "0" * 64}, "upload-time": uploaded, "yanked": False, **facts}


INDEX = {
    "jax": [
        file("jax-0.5.0-py3-none-any.whl", **{"requires-python": ">=3.10"}),
        file("jax-0.5.1-py3-none-any.whl", **{"requires-python": ">=3.10"}),
        file("jax-0.6.0rc1-py3-none-any.whl"),
        file("jax-0.5.0.tar.gz"),
    ],
    "jaxlib": [
        file("jaxlib-0.5.0-cp39-cp39-manylinux2014_x86_64.whl"),
        file("jaxlib-0.5.0-cp311-cp311-manylinux2014_x86_64.whl", "2024-02-03T10:00:00Z"),
        file("jaxlib-0.5.0-cp313-cp313t-manylinux2014_x86_64.whl"),
        file("jaxlib-0.5.0-cp312-cp312-macosx_11_0_arm64.whl"),
        file("jaxlib-0.5.1-cp312-cp312-manylinux2014_x86_64.whl", yanked=True),
        file("jaxlib-0.6.0rc1-cp312-cp312-manylinux2014_x86_64.whl"),
    ],
}


def test_a_release_has_wheels_of_all_packages_for_linux_and_is_final() -> None:
    releases = list_releases(["jax", "jaxlib"], lambda address: {"files": INDEX[address.split("/")[-2]]})
    assert list(releases) == ["0.5.0"]
    assert releases["0.5.0"].pythons == ("3.11",)
    assert releases["0.5.0"].date == "2024-01-31"


def test_the_index_is_the_one_that_uv_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jaxlib").mkdir()
    (tmp_path / "jaxlib" / "index.html").write_text(json.dumps({"files": INDEX["jaxlib"]}))
    with served(tmp_path) as address:
        monkeypatch.setenv("UV_INDEX_URL", f"{address}/")
        assert list(list_releases(["jaxlib"])) == ["0.5.0"]
        (tmp_path / "jaxlib" / "index.html").write_text("<html>")
        with pytest.raises(EnvironmentFailed, match="expected JSON"):
            list_releases(["jaxlib"])
        with pytest.raises(EnvironmentFailed, match="status 404"):
            list_releases(["jax"])
    with pytest.raises(EnvironmentFailed, match="cannot be read"):
        list_releases(["jaxlib"])


def test_the_python_is_the_nearest_that_is_on_the_machine() -> None:
    release = Release("2.15.0", "2026-10-28", ("3.11", "3.12", "3.13"), ())
    assert release.python("3.10") == "3.11"
    assert release.python("3.12") == "3.12"
    assert release.python("3.10", lambda python: python == "3.13") == "3.13"
    assert release.python("3.10", lambda _: False) == "3.11"
    assert Release("1.0.0", "", (), ()).python("3.10") is None

"""The index of study.json: a study is the same with and without it, and only what portbench wrote is trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import BadInput
from portbench.study.merge import merge
from portbench.study.store import read_study

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]


@pytest.fixture
def study(write: Write, make_run: Make, tmp_path: Path) -> Path:
    """A study of two targets, in two merges."""
    for machine in ("a", "b"):
        merge([str(write(f"{machine}.json", make_run(machine=machine)))], tmp_path / "study")
    return tmp_path / "study"


def index_of(study: Path) -> Path:
    (index,) = study.glob("tables-*/INDEX")
    return index


def garbled(index: Path) -> None:
    index.write_text("{")


def of_no_targets(index: Path) -> None:
    index.write_text(json.dumps({**json.loads(index.read_text()), "targets": []}))


def shifted(index: Path) -> None:
    found = json.loads(index.read_text())
    found["targets"][0][-2] += 3
    index.write_text(json.dumps(found))


def fifo(index: Path) -> None:
    index.unlink()
    os.mkfifo(index)


@pytest.mark.parametrize("damage", [Path.unlink, garbled, of_no_targets, shifted, fifo])
def test_without_a_fitting_index_the_study_is_the_same(study: Path, damage: Callable[[Path], None]) -> None:
    with_index = read_study(study)
    damage(index_of(study))
    without = read_study(study)
    written = json.loads((study / "study.json").read_text("utf-8"))
    assert with_index.summary == without.summary == written
    assert [target.key for target in with_index.targets] == [target.key for target in without.targets]
    assert [bytes(target.text) for target in with_index.targets] == [target.text for target in without.targets]
    assert [target.functions for target in with_index.targets] == [target.functions for target in without.targets]


@pytest.mark.parametrize("has_index", [True, False])
def test_a_merge_keeps_the_other_targets_as_they_are(
    study: Path, write: Write, make_run: Make, make_result: Make, has_index: bool, tmp_path: Path
) -> None:
    more = write("c.json", make_run([make_result(outcome="failed")], machine="b"))
    if not has_index:
        index_of(study).unlink()
    merge([str(more)], study)
    merge([str(tmp_path / name) for name in ("a.json", "b.json", "c.json")], tmp_path / "at once")
    assert (study / "study.json").read_bytes() == (tmp_path / "at once" / "study.json").read_bytes()
    assert index_of(study).read_bytes() == index_of(tmp_path / "at once").read_bytes()
    assert read_study(study).summary == json.loads((study / "study.json").read_text("utf-8"))


def test_a_changed_summary_is_checked_whole(study: Path) -> None:
    file = study / "study.json"
    file.write_text(file.read_text("utf-8").replace('"all_pass"', '"all_good"', 1), "utf-8")
    with pytest.raises(BadInput, match=r"study\.json: \$\.targets"):
        read_study(study)

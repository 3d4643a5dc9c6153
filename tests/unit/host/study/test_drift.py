"""Drift: facts of one target or one machine that are not the same in all run files of a study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.errors import Contradiction
from portbench.report.environment import drift_table
from portbench.study.merge import merge
from portbench.study.open import analysed
from portbench.study.store import read_study

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study"


def changed(run: Document, **facts: Any) -> Document:
    """A run file with other facts in its environment (model and driver: of the device) and a run_id of its own."""
    device = {name: facts.pop(name) for name in ("model", "driver") if name in facts}
    environment = run["environment"] | facts
    environment["device"] = environment["device"] | device
    return run | {
        "environment": environment,
        "run_id": hashlib.sha256(json.dumps(facts | device).encode()).hexdigest()[:32],
    }


def locked(sha256: str) -> Document:
    """The fact ``pins`` of an environment with a lock."""
    return {"kind": "hash-locked", "lock_sha256": sha256}


DRIFTS = [
    ({"pins": locked("1" * 64)}, {"pins": locked("2" * 64)}, "torch-2.9.0-gpu: pins.lock_sha256"),
    (
        {"made_from": {"dockerfile_sha256": "1" * 64}},
        {"made_from": {"dockerfile_sha256": "2" * 64}},
        "torch-2.9.0-gpu: made_from.dockerfile_sha256",
    ),
    ({}, {"runner_sha256": "c" * 64}, "torch-2.9.0-gpu: runner_sha256"),
    ({}, {"python": "3.11.9"}, "torch-2.9.0-gpu: python"),
    ({}, {"packages": {"torch": "2.9.0", "numpy": "2.0.0"}}, "torch-2.9.0-gpu: packages.numpy"),
    ({}, {"packages": {"torch": "2.9.0"}}, "torch-2.9.0-gpu: packages.numpy"),
    ({}, {"kernel": "6.18.0"}, "box: kernel"),
    ({}, {"cpu_model": "another"}, "box: cpu_model"),
    ({}, {"model": "Tesla T4"}, "torch-2.9.0-gpu on box: device.model"),
    ({"driver": "535"}, {"driver": "570"}, "torch-2.9.0-gpu on box: device.driver"),
]


@pytest.mark.parametrize(("first", "second", "key"), DRIFTS)
def test_drift_is_refused_with_key_values_and_files(
    first: Document, second: Document, key: str, write: Write, make_run: Make, study: Path
) -> None:
    base = make_run(target="torch-2.9.0-gpu")
    one = write("one.json", changed(base, **first))
    two = write("two.json", changed(base, **second))
    for paths in ([str(one), str(two)], [str(study.parent / "*.json")]):
        with pytest.raises(Contradiction) as caught:
            merge(paths, study)
        for part in (key, str(one), str(two)):
            assert part in str(caught.value)
        assert "--allow-drift" in caught.value.remedy
        assert not study.exists()
    merge([str(one)], study)
    before = (study / "study.json").read_bytes()
    with pytest.raises(Contradiction, match=str(two)):
        merge([str(two)], study)
    assert (study / "study.json").read_bytes() == before


def test_the_message_has_the_values(write: Write, make_run: Make, study: Path) -> None:
    base = make_run()
    write("r/1.json", base)
    write("r/2.json", changed(base, kernel="6.18.0\x1b[2J"))
    with pytest.raises(Contradiction) as caught:
        merge([str(study.parent / "r")], study)
    assert "6.1.0-18-amd64 of" in str(caught.value)
    assert r"6.18.0\x1b[2J of" in str(caught.value)


def test_machines_targets_and_the_host_may_differ(write: Write, make_run: Make, study: Path) -> None:
    base = make_run()
    other = make_run(machine="lab")
    write("r/1.json", changed(base, runner_commit="2" * 40))
    write("r/2.json", changed(other, kernel="6.18.0", cpu_model="another", model="another"))
    write("r/3.json", changed(make_run(target="jax-0.10.2-cpu"), python="3.12.1", model="another"))
    write("r/4.json", changed(base, runner_commit="1" * 40))
    write("r/5.json", changed(base, packages=base["environment"]["packages"] | {"pip": "26.1"}))
    summary = merge([str(study.parent / "r")], study).study.summary
    assert len(summary["run_files"]) == 5
    assert summary["drift"] == []
    assert list(drift_table(summary)) == []


def test_containers_of_two_engines_and_an_environment_of_the_same_lock_are_merged(
    write: Write, make_run: Make, study: Path
) -> None:
    image = {"dockerfile_sha256": "b" * 64, "source_sha256": "c" * 64}
    containers = {"backend": "docker", "container": "docker", "made_from": image, "pins": locked("a" * 64)}
    for name, machine in (("1", "box"), ("2", "lab")):
        facts = containers | {"image_digest": f"sha256:{name * 64}"}
        write(f"r/{name}.json", changed(make_run(machine=machine), **facts))
    write("r/3.json", changed(make_run(machine="lab"), backend="venv", pins=locked("a" * 64)))
    # A source of the image that is neither Dockerfile, lock nor runner, such as its entry point.
    write("r/4.json", changed(make_run(), **containers | {"made_from": image | {"source_sha256": "d" * 64}}))
    summary = merge([str(study.parent / "r")], study).study.summary
    assert (len(summary["run_files"]), summary["drift"]) == (4, [])
    other = changed(make_run(machine="lab"), backend="venv", pins=locked("e" * 64))
    with pytest.raises(Contradiction, match=r"pins\.lock_sha256"):
        merge([str(write("5.json", other))], study)


def test_allowed_drift_is_reported_and_does_not_stop_later_merges(
    write: Write, make_run: Make, study: Path, portbench: Command
) -> None:
    base = make_run()
    one, two = write("1.json", base), write("2.json", changed(base, kernel="6.18.0"))
    done = portbench("merge", one, two, "-o", study, "--allow-drift")
    assert done.exit_code == 0, done.exception
    assert "drift of box: 2 values of kernel" in done.stdout
    digests = {run["run_id"]: run["sha256"] for run in read_study(study).summary["run_files"]}
    (drift,) = read_study(study).summary["drift"]
    assert (drift["target"], drift["machine"], drift["fact"]) == (None, "box", "kernel")
    found = {value["value"]: value["run_files"] for value in drift["values"]}
    new = json.loads(two.read_text())["run_id"]
    assert found == {"6.1.0-18-amd64": [digests[base["run_id"]]], "6.18.0": [digests[new]]}
    # More of the same is no new drift; a third kernel is.
    merge([str(write("3.json", changed(base, kernel="6.18.0", container="docker")))], study)
    with pytest.raises(Contradiction, match="box: kernel"):
        merge([str(write("4.json", changed(base, kernel="7.0")))], study)


def test_a_report_shows_drift(write: Write, make_run: Make, study: Path) -> None:
    base = make_run()
    write("r/1.json", base)
    write("r/2.json", changed(base, kernel="6.18.0"))
    merge([str(study.parent / "r")], study, allow_drift=True)
    with analysed(read_study(study)) as shown:
        (table,) = drift_table(shown.summary)
    assert table.flat_rows == (
        ("-", "box", "kernel", "6.1.0-18-amd64", "1 run file"),
        ("-", "box", "kernel", "6.18.0", "1 run file"),
    )


def test_run_files_with_drift_can_be_reported(write: Write, make_run: Make, portbench: Command, tmp_path: Path) -> None:
    base = make_run()
    write("r/1.json", base)
    write("r/2.json", changed(base, kernel="6.18.0"))
    assert portbench("report", tmp_path / "r").exit_code == 0

"""Tests that are not timed run in several lanes at the same time, and nothing else changes by that."""

from __future__ import annotations

import json
import resource
import signal
from functools import partial
from pathlib import Path

import pytest

from runners.core import environment
from runners.core.process import lanes
from runners.core.process.settings import Settings
from tests.unit.runner.runner_cli import alive, descendants

FUNCTIONS = ("fake.identity", "fake.root")


def two_functions(*cases, timed=False):
    """Two functions with a test for each case: its id, its name, and its parameters for the first and the second."""
    return [
        {
            "function": function,
            "tests": [
                {"id": f"{id}-{number}", "case": f"fake.behaviours:{case}", "params": parameters, "timed": timed}
                for id, case, parameters in ((id, case, each[number]) for id, case, *each in cases)
            ],
        }
        for number, function in enumerate(FUNCTIONS)
    ]


def meets(id, *others):
    """A test of each function that waits for a file, each for one of ``others``."""
    return id, "meets", *({"name": f"{id}-{number}", "other": other} for number, other in enumerate(others))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where tests meet."""
    monkeypatch.setenv("FAKE_MEETS", str(tmp_path))
    return tmp_path


@pytest.fixture
def start_two(start):
    """Starts a runner that has two lanes."""
    return partial(start, module="tests.unit.runner.process.two_lanes", schema_version=7)


def outcomes(run):
    return {result["test"]: (result["outcome"], result["category"]) for result in run.document["results"]}


def results(run):
    return [event["test"] for event in run.events if event["event"] == "result"]


def test_tests_of_two_functions_run_at_the_same_time(start_two):
    finished = start_two(two_functions(meets("meet", "meet-1", "meet-0")), "--runs", "1").wait()
    assert outcomes(finished) == {"meet-0": ("passed", None), "meet-1": ("passed", None)}
    assert len({result["worker"] for result in finished.document["results"]}) == 2


def test_timed_tests_run_one_at_a_time(start_two, folder):
    notes = ("time", "notes_its_time", {"name": "first"}, {"name": "second"})
    start_two(two_functions(notes, timed=True), "--runs", "1").wait()
    first, second = (tuple(map(int, (folder / name).read_text().split())) for name in ("first", "second"))
    assert first[1] < second[0]


def test_every_end_of_a_test_is_the_same_in_any_lane(start_two, run, tmp_path):
    ends = ("raises", "segfaults", "is_killed", "exits", "skips", "poisons", "fails", "leaves_a_child", "prints")
    functions = two_functions(*((end, end, {}, {}) for end in ends))
    alone = outcomes(run(functions, "--runs", "1", "--out", str(tmp_path / "alone"), schema_version=7))
    beside = outcomes(start_two(functions, "--runs", "1", "--out", str(tmp_path / "beside")).wait())
    assert len(alone) == 2 * len(ends)
    assert beside == alone


def test_an_interruption_ends_all_lanes_and_the_run_can_go_on(start_two, folder):
    functions = two_functions(meets("meet", "meet-1", "meet-0"), meets("wait", "go", "go"), meets("too", "go", "go"))
    running = start_two(functions, "--runs", "1")
    for _ in running:
        if len(results(running)) == 2:
            break
    below = descendants(running.process.pid)
    running.process.send_signal(signal.SIGINT)
    running.wait()
    assert running.status == 130
    assert below and not any(map(alive, below))
    (folder / "go").touch()
    resumed = start_two(functions, "--runs", "1", "--resume").wait()
    tests = ("meet-0", "meet-1", "wait-0", "wait-1", "too-0", "too-1")
    assert outcomes(resumed) == dict.fromkeys(tests, ("passed", None))
    assert len(results(resumed)) == 4


def test_an_error_in_one_lane_ends_the_others(start_two):
    def limit():
        # There is room for the header and some results.
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    functions = two_functions(*((f"skip-{number}", "skips", {}, {}) for number in range(40)))
    failed = start_two(functions, "--runs", "1", limit=limit).wait()
    assert failed.status == 5
    assert "cannot be written" in failed.error["message"]
    resumed = start_two(functions, "--runs", "1", "--resume").wait()
    assert len(outcomes(resumed)) == 80
    assert len(results(failed)) + len(results(resumed)) == 80 > len(results(resumed))


def test_a_lane_that_cannot_be_opened_leaves_its_tests_to_the_others(start_two, folder, monkeypatch):
    kills = folder / "kills"
    kills.touch()
    monkeypatch.setenv("FAKE_KILLED_STARTS", str(kills))
    # A test that is timed runs before the lanes open.
    functions = two_functions(meets("wait", "go", "go"), ("skip", "skips", {}, {}))
    functions.append({"function": "fake.noise", "tests": [{**functions[0]["tests"][0], "id": "first", "timed": True}]})
    running = start_two(functions, "--runs", "1")
    assert next(iter(running))["event"] == "start"
    # A lane tries four times, so of seven starts that are killed at least one lane is lost.
    kills.write_text("killed!")
    (folder / "go").touch()
    assert len(outcomes(running.wait())) == 5
    assert any(event["event"] == "warning" and "one lane less" in event["message"] for event in running.events)


def test_mutants_are_tried_in_two_lanes(start_two, tmp_path):
    tensor = {"tensor": {"values": [1.0, 2.0], "dtype": "float64"}}
    functions = two_functions(meets("meet", "meet-1", "meet-0"))
    scaled = {"id": "scaled", "case": "call", "args": [tensor, 2.0], "expect": {"numpy": "multiply"}}
    functions.append({"function": "fake.scale", "tests": [scaled]})
    finished = start_two(functions, "--runs", "1", "--mutant", "scaled").wait()
    assert finished.status == 0, finished.stderr
    documents = [json.loads(path.read_text()) for path in sorted(finished.out.glob("*.json"))]
    by_mutant = {
        document["protocol"]["mutant"]: {result["test"]: result["outcome"] for result in document["results"]}
        for document in documents
    }
    assert by_mutant == {
        None: {"meet-0": "passed", "meet-1": "passed", "scaled": "passed"},
        "scaled": {"meet-0": "passed", "meet-1": "passed", "scaled": "failed"},
    }


@pytest.mark.parametrize(
    ("framework", "device", "cores", "gigabytes", "tests", "expected"),
    [
        ("jax", "cpu", 2, 24, 5000, 2),
        ("jax", "tpu-v5e", 2, 24, 5000, 2),
        ("torch", "xla", 4, 64, 5000, 4),
        ("jax", "cpu", 96, 512, 5000, lanes.MOST),
        # One process holds it.
        ("jax", "tpu", 96, 512, 5000, 1),
        ("torch", "gpu", 16, 128, 5000, 1),
        ("torch", "pjrt", 16, 128, 5000, 1),
        # No core, no memory, or no work for another lane.
        ("jax", "cpu", 1, 24, 5000, 1),
        ("jax", "cpu", 2, 6, 5000, 1),
        ("jax", "cpu", 2, 24, 300, 1),
    ],
)
def test_how_many_lanes_there_are(framework, device, cores, gigabytes, tests, expected, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)))
    monkeypatch.setattr(environment, "free_memory_bytes", lambda: gigabytes << 30)
    settings = Settings(framework, device, None, Path(), "here")
    assert lanes.count(settings, tests) == expected


def test_there_are_at_most_as_many_lanes_as_are_asked_for(start_two):
    functions = two_functions(("skip", "skips", {}, {}))
    finished = start_two(functions, "--runs", "1", "--lanes", "1").wait()
    assert {result["worker"] for result in finished.document["results"]} == {1}

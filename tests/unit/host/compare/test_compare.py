"""``portbench compare``: what changed, what could not be compared, and what a CI job makes of it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result
from markdown_it import MarkdownIt

from portbench.analysis.configurations import Configuration
from portbench.compare.selection import comparable_pairs
from portbench.errors import BadInput, NothingRan, StorageFailed
from portbench.formats.documents import read_document
from portbench.study.merge import merge
from portbench.util.text import escape_control

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]

OLD, NEW = "torch-2.8.0-cpu", "torch-2.9.0-cpu"
ON_HOST = {"verdict": "host", "evidence": [], "host_operations": ["aten::sort"]}


@pytest.fixture
def versions(write: Write, make_run: Make) -> Callable[..., Path]:
    """Writes run files of two versions into a folder: two lists of results, and changes of the second document."""

    def write_both(before: list[Document], after: list[Document], **changes: Any) -> Path:
        write("study/before.json", make_run(before, target=OLD))
        return write("study/after.json", make_run(after, **({"target": NEW} | changes))).parent

    return write_both


@pytest.fixture
def compared(portbench: Command, tmp_path: Path) -> Callable[..., Document]:
    """The JSON of a comparison, once it was found to fit its schema."""

    def run(*arguments: object) -> Document:
        result = portbench("compare", *arguments, "--json")
        assert result.exit_code in (0, 1), result.output
        path = tmp_path / "comparison.json"
        path.write_text(result.stdout)
        return read_document(path, "comparison").data

    return run


def thrice(make_result: Make, *arguments: Any, **facts: Any) -> list[Document]:
    return [make_result(*arguments, run, **facts) for run in (1, 2, 3)]


def timed(make_result: Make, make_call: Make, test: str, factor: float, runs: int = 3, **facts: Any) -> list[Document]:
    """A test at 20 µs a call times ``factor``, and 1 ms for the first; eight blocks a run, each run 0.5 % slower."""
    results = []
    for run in range(1, runs + 1):
        ns = 2_000_000 * factor * (1 + 0.005 * run)
        blocks = tuple(round(ns * (1 + 0.001 * block)) for block in range(8))
        cold = round(1_000_000 * factor * (1 + 0.01 * run))
        results.append(make_result("torch.cat", test, run, calls=[make_call(cold, 0, blocks)], **facts))
    return results


def listed(changes: list[Document]) -> list[tuple[str, str, str]]:
    return [(change["test"], change["before"], change["after"]) for change in changes]


def test_changes_of_outcomes(
    versions: Callable[..., Path], make_result: Make, compared: Callable[..., Document]
) -> None:
    type_error = {"type": "TypeError", "message": "\nno kernel\nsecond", "traceback": "", "causes": []}
    failed = {"outcome": "failed"}
    before = [
        *thrice(make_result, "torch.cat", "breaks"),
        *thrice(make_result, "torch.cat", "fixed", **failed),
        *thrice(make_result, "torch.cat", "stays", **failed),
        *thrice(make_result, "torch.cat", "reason", **failed),
        *thrice(make_result, "torch.cat", "wrong"),
        *thrice(make_result, "torch.cat", "moves"),
        *thrice(make_result, "torch.cat", "returns", placement=ON_HOST),
        *thrice(make_result, "torch.cat", "flakes"),
        *thrice(make_result, "torch.cat", "goes"),
        *thrice(make_result, "torch.cat", "ends"),
    ]
    after = [
        *thrice(make_result, "torch.cat", "breaks", **failed, category="type", error=type_error),
        *thrice(make_result, "torch.cat", "fixed"),
        *thrice(make_result, "torch.cat", "stays", **failed),
        *thrice(make_result, "torch.cat", "reason", outcome="crashed"),
        *thrice(make_result, "torch.cat", "wrong", **failed, category="precision", value_verdict="wrong"),
        make_result("torch.cat", "moves", 1, placement=ON_HOST),
        *thrice(make_result, "torch.cat", "moves")[1:],
        *thrice(make_result, "torch.cat", "returns"),
        *thrice(make_result, "torch.cat", "flakes")[:2],
        make_result("torch.cat", "flakes", 3, **failed),
        *thrice(make_result, "torch.cat", "goes", outcome="skipped"),
    ]
    (pair,) = compared(OLD, NEW, "--study", versions(before, after))["pairs"]
    assert listed(pair["new_failures"]) == [
        ("breaks", "passed", "failed (type)"),
        ("wrong", "passed", "failed (wrong values)"),
    ]
    assert pair["new_failures"][0]["evidence"] == "TypeError: no kernel"
    assert listed(pair["new_passes"]) == [("fixed", "failed (other)", "passed")]
    assert listed(pair["new_wrong_values"]) == [("wrong", "passed", "failed (wrong values)")]
    assert listed(pair["category_changes"]) == [("reason", "failed (other)", "failed (crash)")]
    assert listed(pair["placement_changes"]) == [("moves", "device", "host"), ("returns", "host", "device")]
    assert pair["placement_changes"][0]["evidence"] == "aten::sort"
    assert listed(pair["flaky"]) == [("flakes", "passed 3/3", "passed 2/3")]
    assert listed(pair["not_run"]) == [("ends", "passed", "missing"), ("goes", "passed", "removed")]
    assert {entry["test"]: entry["reason"] for entry in pair["not_compared"]} == {
        "ends": "missing on the second",
        "flakes": "flaky on the second",
        "goes": "removed in the version of the second",
    }
    assert pair["compared_tests"] == 7


def test_a_status_is_of_the_tests_that_both_sides_have(
    versions: Callable[..., Path], make_result: Make, compared: Callable[..., Document]
) -> None:
    before = [make_result("torch.add", "a"), make_result("torch.dot", "a")]
    before += [make_result("torch.eye", "a", outcome="failed")]
    after = [
        make_result("torch.add", "a"),
        make_result("torch.add", "new", outcome="failed"),
        make_result("torch.dot", "a", outcome="failed"),
        make_result("torch.eye", "a"),
    ]
    (pair,) = compared(OLD, NEW, "--study", versions(before, after))["pairs"]
    assert [(each["function"], each["before"], each["after"]) for each in pair["functions"]] == [
        ("torch.dot", "all_pass", "all_fail"),
        ("torch.eye", "all_fail", "all_pass"),
    ]
    assert [(each["test"], each["reason"]) for each in pair["not_compared"]] == [("new", "missing on the first")]


def test_a_successor_is_compared_with_itself_only(
    versions: Callable[..., Path], make_result: Make, compared: Callable[..., Document]
) -> None:
    own = make_result("torch.new", "a")
    instead = make_result("torch.new", "a", outcome="failed", successor_of="torch.old")
    (pair,) = compared(OLD, NEW, "--study", versions([own], [instead, make_result("torch.x")]))["pairs"]
    assert pair["new_failures"] == []
    of_new = [each for each in pair["not_compared"] if each["function"] == "torch.new"]
    assert [(each["successor_of"], each["reason"]) for each in of_new] == [
        (None, "missing on the second"),
        ("torch.old", "missing on the first"),
    ]


def test_differences_between_the_environments_come_first(
    versions: Callable[..., Path], make_run: Make, portbench: Command, compared: Callable[..., Document]
) -> None:
    environment = make_run()["environment"]
    state = {"start": {"sm_clock_mhz": 300}, "end": {"sm_clock_mhz": 900, "memory_clock_mhz": 5, "temperature_c": 70}}
    other = environment | {
        "kernel": "6.8.0",
        "packages": environment["packages"] | {"numpy": "2.1.0", "triton": "3.0"},
        "device": environment["device"] | {"driver": "550.1"},
        "device_state": state,
    }
    results = make_run()["results"]
    folder = versions(results, results, environment=other)
    document = json.loads((folder / "before.json").read_text())
    # Two run files, whose memory clocks are around that of the other side: no drift.
    for name, memory_clock in (("before", 4), ("again", 6)):
        end = {"sm_clock_mhz": 1400, "memory_clock_mhz": memory_clock, "temperature_c": 60}
        document["environment"]["device_state"] = {"start": {}, "end": end}
        document["run_id"] = f"{memory_clock}" * 32
        (folder / f"{name}.json").write_text(json.dumps(document))
    (pair,) = compared(OLD, NEW, "--study", folder)["pairs"]
    assert [tuple(entry.values()) for entry in pair["drift"]] == [
        ("device", "driver", [], ["550.1"]),
        ("clocks", "sm_clock_mhz", ["1400"], ["900"]),
        ("system", "kernel", ["6.1.0-18-amd64"], ["6.8.0"]),
        ("package", "numpy", ["1.26.4"], ["2.1.0"]),
        ("package", "triton", [], ["3.0"]),
    ]
    shown = portbench("compare", OLD, NEW, "--study", folder).stdout
    assert shown.index("550.1") < shown.index("newly failing") < shown.index("geometric mean")


FASTER, SAME, SLOWER = 0.7, 1.0, 1.3


def test_times_of_each_test_and_of_all_tests(
    versions: Callable[..., Path], make_result: Make, make_call: Make, compared: Callable[..., Document]
) -> None:
    factors = {"a": SLOWER, "b": SAME, "c": FASTER, "d": SAME}
    before = [result for test in factors for result in timed(make_result, make_call, test, 1)]
    after = [result for test, factor in factors.items() for result in timed(make_result, make_call, test, factor)]
    (pair,) = compared(OLD, NEW, "--study", versions(before, after))["pairs"]
    steady = pair["latency"]["steady"]
    assert {test["test"]: test["verdict"] for test in steady["tests"]} == {
        "a": "slower",
        "b": "similar",
        "c": "faster",
        "d": "similar",
    }
    for test in steady["tests"]:
        assert test["ratio"] == pytest.approx(factors[test["test"]], rel=1e-3)
        assert test["interval"]["low"] < test["ratio"] < test["interval"]["high"]
        assert (test["first_runs"], test["second_runs"]) == (3, 3)
        # The median block of eight is 0.35 % above the first; over the runs 0.5, 1 and 1.5 %.
        assert test["first_ns"] == pytest.approx(20_000 * 1.01 * 1.0035, rel=1e-4)
    # The fourth root of 1.3 * 0.7.
    assert steady["geometric_mean_ratio"] == pytest.approx(0.91**0.25, rel=1e-3)
    assert steady["median_ratio"] == pytest.approx(1)
    assert steady["covers_noise_between_runs"]


@pytest.mark.parametrize(("runs", "verdict"), [(3, "unclear"), (6, "slower")])
def test_first_calls_need_more_runs_for_a_verdict(
    runs: int,
    verdict: str,
    versions: Callable[..., Path],
    make_result: Make,
    make_call: Make,
    make_run: Make,
    compared: Callable[..., Document],
) -> None:
    # Ten timed calls a run do not make ten samples of it.
    def results(factor: float) -> list[Document]:
        return [result | {"calls": result["calls"] * 10} for result in timed(make_result, make_call, "a", factor, runs)]

    folder = versions(results(1), results(2))
    for file in folder.iterdir():
        document = json.loads(file.read_text())
        document["protocol"]["runs"] = runs
        file.write_text(json.dumps(document))
    (pair,) = compared(OLD, NEW, "--study", folder)["pairs"]
    (test,) = pair["latency"]["cold"]["tests"]
    assert (test["verdict"], test["p"] is None) == (verdict, runs == 3)
    assert test["ratio"] == pytest.approx(2, rel=1e-3)


def test_one_run_on_each_side_is_noted(
    versions: Callable[..., Path], make_result: Make, make_call: Make, portbench: Command
) -> None:
    before, after = (
        [timed(make_result, make_call, f"t{number}", factor, 1)[0] for number in range(9)] for factor in (1, 1.5)
    )
    folder = versions(before, after)
    result = portbench("compare", OLD, NEW, "--study", folder, "--fail-on", "slower:1.2")
    assert result.exit_code == 1
    said = " ".join(result.stdout.split())
    assert "noise between runs is NOT covered" in said
    assert "Most steady-state times moved together" in said
    assert "failed on slower:1.2 (9 tests, one run on each side)" in result.stderr


NOT_TIMED = {
    "not timed on the second": {"calls": []},
    "failed on the second": {"outcome": "failed"},
    "the synchronization check failed on the second": {
        "calls": [{"cold": None, "steady": None, "observed": None}],
        "sync_check": {
            "passed": False,
            "reason": "r",
            "units": 1,
            "base_ns": 1,
            "grown_ns": 1,
            "ratio": 1.0,
            "left_ns": 0,
        },
    },
}


@pytest.mark.parametrize("reason", NOT_TIMED)
def test_the_reason_why_times_are_not_comparable(
    reason: str, versions: Callable[..., Path], make_result: Make, compared: Callable[..., Document]
) -> None:
    folder = versions([make_result("torch.cat", "a")], [make_result("torch.cat", "a", **NOT_TIMED[reason])])
    (pair,) = compared(OLD, NEW, "--study", folder)["pairs"]
    assert [entry["reason"] for entry in pair["latency"]["steady"]["not_compared"]] == [reason]
    assert pair["latency"]["steady"]["geometric_mean_ratio"] is None


def test_tests_that_only_check_values_have_no_times_to_compare(
    versions: Callable[..., Path], make_result: Make, compared: Callable[..., Document]
) -> None:
    untimed = make_result("torch.cat", "a", calls=[])
    (pair,) = compared(OLD, NEW, "--study", versions([untimed], [untimed]))["pairs"]
    assert pair["latency"]["steady"]["not_compared"] == pair["latency"]["cold"]["not_compared"] == []


def test_other_protocols_and_calls_are_not_compared(
    versions: Callable[..., Path], make_result: Make, make_call: Make, compared: Callable[..., Document]
) -> None:
    before = [make_result("torch.cat", test) for test in ("calls", "protocol", "zero")]
    after = [
        make_result("torch.cat", "calls", calls=[make_call(), make_call()]),
        make_result("torch.cat", "protocol", calls=[make_call() | {"steady": None}]),
        make_result("torch.cat", "zero", calls=[make_call(block_ns=(0, 0))]),
    ]
    (pair,) = compared(OLD, NEW, "--study", versions(before, after))["pairs"]
    assert [entry["reason"] for entry in pair["latency"]["steady"]["not_compared"]] == [
        "other calls are timed: 1 on the first, 2 on the second",
        "other protocol: cold, not steady on the second",
        "a median of 0 ns on the second",
    ]
    assert [test["test"] for test in pair["latency"]["cold"]["tests"]] == ["protocol", "zero"]


def test_first_calls_of_tests_and_of_processes_are_not_compared(
    write: Write, make_run: Make, make_result: Make, make_call: Make, compared: Callable[..., Document], tmp_path: Path
) -> None:
    for target, cold in ((OLD, "test"), (NEW, "process")):
        write(f"study/{cold}.json", make_run(timed(make_result, make_call, "a", 1), target=target, cold=cold))
    (pair,) = compared(OLD, NEW, "--study", tmp_path / "study")["pairs"]
    times = pair["latency"]
    assert [entry["reason"] for entry in times["cold"]["not_compared"]] == [
        "each test has a process of its own on one side only (--cold)"
    ]
    assert [test["test"] for test in times["steady"]["tests"]] == ["a"]


@pytest.mark.parametrize(
    ("condition", "before", "after", "met"),
    [
        ("new-failure", {}, {"outcome": "failed"}, True),
        ("new-failure", {"outcome": "failed"}, {"outcome": "failed"}, False),
        ("new-failure", {}, {"outcome": "skipped"}, False),
        ("new-wrong", {"outcome": "failed"}, {"outcome": "failed", "value_verdict": "wrong"}, True),
        (
            "new-wrong",
            {"outcome": "failed", "value_verdict": "wrong"},
            {"outcome": "failed", "value_verdict": "wrong"},
            False,
        ),
        ("not-run", {}, {"outcome": "skipped"}, True),
        ("not-run", {"outcome": "skipped"}, {"outcome": "skipped"}, False),
        ("category", {"outcome": "failed"}, {"outcome": "crashed"}, True),
        ("category", {}, {"outcome": "crashed"}, False),
        ("placement", {}, {"placement": ON_HOST}, True),
        ("placement", {"placement": ON_HOST}, {}, False),
    ],
)
def test_each_condition_decides_the_exit_status(
    condition: str,
    before: Document,
    after: Document,
    met: bool,
    versions: Callable[..., Path],
    make_result: Make,
    portbench: Command,
) -> None:
    other = make_result("torch.cat", "other")
    folder = versions([make_result(**before), other], [make_result(**after), other])
    result = portbench("compare", OLD, NEW, "--study", folder, "--fail-on", condition)
    assert (result.exit_code, result.stderr) == ((1, f"failed on {condition} (1 test)\n") if met else (0, ""))


@pytest.mark.parametrize(("condition", "status"), [("slower", 1), ("slower:1.2", 1), ("slower:1.4", 0)])
def test_slower_has_a_factor(
    condition: str, status: int, versions: Callable[..., Path], make_result: Make, make_call: Make, portbench: Command
) -> None:
    folder = versions(timed(make_result, make_call, "a", 1), timed(make_result, make_call, "a", SLOWER))
    result = portbench("compare", OLD, NEW, "--study", folder, "--fail-on", f"new-failure,{condition}")
    assert result.exit_code == status, result.output
    assert result.stderr == (f"failed on {condition} (1 test)\n" if status else "")
    raised = portbench("compare", OLD, NEW, "--study", folder, "--fail-on", "slower", "--min-effect", 50)
    assert raised.exit_code == 0


@pytest.mark.parametrize("condition", ["newfailure", "", "slower:", "slower:0.9", "slower:nan", "category:2"])
def test_an_unknown_condition_is_a_usage_error_that_lists_the_known(condition: str, portbench: Command) -> None:
    result = portbench("compare", "a", "b", "--fail-on", condition)
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "new-failure, new-wrong, not-run, category, placement" in said or "a factor above 1" in said


@pytest.mark.parametrize("percent", ["nan", "inf", "-1", "x"])
def test_a_minimum_effect_is_a_number(percent: str, portbench: Command) -> None:
    result = portbench("compare", "a", "b", "--min-effect", percent)
    assert result.exit_code == 2
    assert "--min-effect" in result.stderr


def test_a_flaky_test_fails_no_job(versions: Callable[..., Path], make_result: Make, portbench: Command) -> None:
    steady = thrice(make_result, "torch.cat", "b")
    flaky = [make_result("torch.cat", "a", 1), make_result("torch.cat", "a", 2, outcome="failed")]
    folder = versions([*thrice(make_result, "torch.cat", "a"), *steady], [*flaky, *steady])
    result = portbench("compare", OLD, NEW, "--study", folder, "--fail-on", "new-failure,category")
    assert result.exit_code == 0, result.stderr
    assert "passed 3/3 → passed 1/2" in " ".join(result.stdout.split())


def test_two_studies_of_one_target_each_on_machines_of_any_name(
    write: Write, make_run: Make, make_result: Make, compared: Callable[..., Document], tmp_path: Path
) -> None:
    merge([str(write("r/1.json", make_run(machine="runner-17")))], tmp_path / "before")
    merge([str(write("r/2.json", make_run([make_result(outcome="failed")], machine="runner-4")))], tmp_path / "after")
    found = compared(tmp_path / "before", tmp_path / "after")
    (pair,) = found["pairs"]
    assert (pair["first"]["machine"], pair["second"]["machine"]) == ("runner-17", "runner-4")
    assert pair["drift"][0] == {"kind": "machine", "name": "machine", "first": ["runner-17"], "second": ["runner-4"]}
    assert len(pair["new_failures"]) == 1
    assert found["unpaired"] == []


def test_targets_in_one_study_only_are_listed_and_can_fail_a_job(
    write: Write, make_run: Make, portbench: Command, compared: Callable[..., Document], tmp_path: Path
) -> None:
    write("before/1.json", make_run(target=NEW))
    write("before/2.json", make_run(target="torch-2.9.0-gpu", machine="a"))
    write("before/3.json", make_run(target="torch-2.9.0-gpu", machine="b"))
    write("before/4.json", make_run(target=OLD))
    write("after/1.json", make_run(target=NEW, machine="c"))
    write("after/2.json", make_run(target="torch-2.9.0-gpu", machine="c"))
    found = compared(tmp_path / "before", tmp_path / "after")
    assert [pair["second"]["target"]["device"] for pair in found["pairs"]] == ["cpu"]
    assert [(each["side"]["machine"], each["study"], each["reason"]) for each in found["unpaired"]] == [
        ("box", "first", "not in the other study"),
        ("a", "first", "on several machines, none of them in both studies"),
        ("b", "first", "on several machines, none of them in both studies"),
        ("c", "second", "on several machines, none of them in both studies"),
    ]
    result = portbench("compare", tmp_path / "before", tmp_path / "after", "--fail-on", "not-run")
    assert (result.exit_code, result.stderr) == (1, "failed on not-run (3 targets)\n")


def test_the_ways_to_name_a_target(
    write: Write, make_run: Make, compared: Callable[..., Document], portbench: Command, tmp_path: Path
) -> None:
    for number, (target, machine) in enumerate([(OLD, "a"), (NEW, "a"), (NEW, "b"), ("jax-0.4.13-cpu", "a")]):
        write(f"study/{number}.json", make_run(target=target, machine=machine))
    study = tmp_path / "merged"
    merge([str(tmp_path / "study")], study)
    one, other = tmp_path / "study/0.json", tmp_path / "study/1.json"

    def sides(*arguments: object) -> list[tuple[str, str]]:
        (pair,) = compared(*arguments)["pairs"]
        return [(pair[side]["target"]["version"], pair[side]["machine"]) for side in ("first", "second")]

    assert sides(OLD, f"{NEW}@b", "--study", study) == [("2.8.0", "a"), ("2.9.0", "b")]
    assert sides(f"{study}:{NEW}@a", f"{study}:torch-2.9.0-cpu@b") == [("2.9.0", "a"), ("2.9.0", "b")]
    assert sides(f"{one}:torch-cpu", f"{other}:torch-cpu") == [("2.8.0", "a"), ("2.9.0", "a")]
    for arguments, message in [
        ((OLD, NEW, "--study", study), "has several targets that torch-2.9.0-cpu may mean"),
        ((OLD, "torch-2.9.0-cpx", "--study", study), "did you mean torch-2.9.0-cpu"),
        ((OLD, "torch-2.9.0-tpu@\x1b", "--study", study), r"has no target torch-2.9.0-tpu@\x1b"),
        ((OLD, OLD, "--study", study), "both arguments name the same results"),
        ((study, f"{study}:{OLD}"), "one argument names a target and the other does not"),
        ((study, "nowhere"), "nowhere: there is no such study"),
        ((one, other), "have no target in common: the first has torch-2.8.0-cpu"),
    ]:
        failure = portbench("compare", *arguments).exception
        assert isinstance(failure, BadInput), arguments
        assert message in str(failure)
        assert failure.remedy


def test_a_synchronization_is_chosen_and_never_mixed(
    write: Write, make_run: Make, make_result: Make, compared: Callable[..., Document], tmp_path: Path
) -> None:
    for number, (target, sync) in enumerate(
        [(OLD, "complete"), (OLD, "as-published"), (NEW, "complete"), (NEW, "as-published")]
    ):
        results = [make_result("torch.cat", "a"), *([make_result("torch.cat", "b")] if number else [])]
        write(f"study/{number}.json", make_run(results, target=target, sync=sync))
    (complete,) = compared(OLD, NEW, "--study", tmp_path / "study")["pairs"]
    assert complete["first"]["sync"] == complete["second"]["sync"] == "complete"
    assert [each["reason"] for each in complete["not_compared"]] == ["only with another synchronization on the first"]
    (study,) = compared(OLD, NEW, "--study", tmp_path / "study", "--sync", "study")["pairs"]
    assert study["first"]["sync"] == study["second"]["sync"] == "as-published"
    assert study["not_compared"] == []


@pytest.fixture
def two_devices(write: Write, make_run: Make, make_result: Make, make_call: Make) -> Path:
    """Two versions on cpu and gpu. On gpu only: one test fails, one is slower; on both: one fails, all are slower."""
    for version, device in [("2.8.0", "cpu"), ("2.8.0", "gpu"), ("2.9.0", "cpu"), ("2.9.0", "gpu")]:
        is_new, on_gpu = version == "2.9.0", device == "gpu"
        on_all = 1.2 if is_new else 1.0
        fails = {False: "passed", True: "failed"}
        results = [
            *thrice(make_result, "torch.dot", "here", outcome=fails[is_new and on_gpu]),
            *thrice(make_result, "torch.dot", "both", outcome=fails[is_new]),
            *thrice(make_result, "torch.dot", "cpu fails anyway", outcome=fails[is_new or not on_gpu]),
            *timed(make_result, make_call, "alike", on_all),
            *timed(make_result, make_call, "slower", on_all * (1.5 if is_new and on_gpu else 1)),
        ]
        write(f"study/{version}-{device}.json", make_run(results, target=f"torch-{version}-{device}"))
    return write("study/.keep", "").parent


def test_regressions_on_one_device_only(
    two_devices: Path, compared: Callable[..., Document], portbench: Command
) -> None:
    found = compared("torch-2.8.0-gpu", "torch-2.9.0-gpu", "--study", two_devices)
    assert len(found["pairs"]) == 1
    (devices,) = found["devices"]
    assert [devices[place]["second"]["target"]["device"] for place in ("here", "there")] == ["gpu", "cpu"]
    assert [key["test"] for key in devices["failing_here_only"]] == ["here"]
    assert [key["test"] for key in devices["failing_on_both"]] == ["both"]
    assert devices["failing_there_only"] == []
    (latency,) = devices["latencies"]
    assert latency["test"] == "slower"
    # 1.2 * 1.5 over 1.2.
    assert latency["ratio_of_ratios"] == pytest.approx(1.5, rel=1e-3)
    assert latency["interval"]["low"] < 1.5 < latency["interval"]["high"]
    assert (devices["timed_tests"], devices["tests_without_noise"]) == (2, 0)
    shown = portbench("compare", "torch-2.8.0-gpu", "torch-2.9.0-gpu", "--study", two_devices).stdout
    assert "torch-2.8.0-gpu → torch-2.9.0-gpu: gpu against cpu" in shown
    assert "Fails now on gpu only" in shown


def test_regressions_on_one_device_only_in_two_studies(
    write: Write, make_run: Make, make_result: Make, compared: Callable[..., Document], tmp_path: Path
) -> None:
    for device in ("cpu", "gpu", "xla"):
        write(f"before/{device}.json", make_run(target=f"torch-2.9.0-{device}"))
        outcome = "failed" if device == "gpu" else "passed"
        write(f"after/{device}.json", make_run([make_result(outcome=outcome)], target=f"torch-2.9.0-{device}"))
    found = compared(tmp_path / "before", tmp_path / "after")
    assert len(found["pairs"]) == 3
    only = {
        (each["here"]["first"]["target"]["device"], each["there"]["first"]["target"]["device"]): (
            len(each["failing_here_only"]),
            len(each["failing_there_only"]),
        )
        for each in found["devices"]
    }
    assert only == {("cpu", "gpu"): (0, 1), ("cpu", "xla"): (0, 0), ("gpu", "xla"): (1, 0)}


def test_junit_has_a_case_for_each_test(
    versions: Callable[..., Path], make_result: Make, portbench: Command, tmp_path: Path
) -> None:
    before = [make_result("torch.cat", test) for test in ("fine", "breaks", "goes")]
    after = [
        make_result("torch.cat", "fine"),
        make_result("torch.cat", "breaks", outcome="failed", value_verdict="wrong"),
        make_result("torch.cat", "goes", outcome="skipped"),
    ]
    path = tmp_path / "out" / "junit.xml"
    result = portbench("compare", OLD, NEW, "--study", versions(before, after), "--junit", path)
    assert result.exit_code == 0, result.output
    (suite,) = ElementTree.parse(path).getroot()
    assert suite.attrib == {
        "name": "torch-2.8.0-cpu on box to torch-2.9.0-cpu on box",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"breaks": ["failure"], "fine": [], "goes": ["skipped"]}
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.text is not None
    assert failure.get("type") == "new-failure"
    assert failure.get("message") == "passed before, now failed (wrong values): RuntimeError: it does not work"
    assert [line.partition(":")[0] for line in failure.text.splitlines()] == ["new-failure", "new-wrong"]
    portbench("compare", OLD, NEW, "--study", tmp_path / "study", "--junit", path, "--fail-on", "not-run")
    (suite,) = ElementTree.parse(path).getroot()
    assert {case.get("name"): [child.tag for child in case] for case in suite}["goes"] == ["failure"]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")


HOSTILE = (
    "\x1b[2J\u202e[bold]x[/]|`<script>alert(1)</script>![a](https://evil.example)[b](c)*d* ]]>\ufffe\n"
    "next &lt; last www.evil.example"
)


def test_hostile_text_reaches_no_output(
    versions: Callable[..., Path],
    make_run: Make,
    make_result: Make,
    portbench: Command,
    compared: Callable[..., Document],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    error = {"type": HOSTILE, "message": HOSTILE, "traceback": "", "causes": []}
    environment = make_run()["environment"]
    environment |= {"packages": {HOSTILE: HOSTILE}, "kernel": HOSTILE, "machine": HOSTILE}
    hostile = {"outcome": "failed", "error": error}
    folder = versions(
        [make_result(HOSTILE, HOSTILE), make_result("torch.cat"), make_result("torch.x", placement=ON_HOST)],
        [
            make_result(HOSTILE, HOSTILE, **hostile),
            make_result("torch.cat", outcome="skipped", reason=HOSTILE),
            make_result("torch.x", placement=ON_HOST | {"verdict": "mixed", "host_operations": [HOSTILE]}),
        ],
        environment=environment,
    )
    monkeypatch.setenv("COLUMNS", "300")
    markdown, junit = tmp_path / "c.md", tmp_path / "j.xml"
    arguments = ("compare", OLD, "torch-2.9.0-cpu", "--study", folder, "--markdown", markdown, "--junit", junit)
    result = portbench(*arguments, "--fail-on", "new-failure,not-run")
    assert result.exit_code == 1, result.output
    assert "[bold]x[/]|`<script>" in result.stdout
    assert all(line.isprintable() for line in (result.stdout + result.stderr).splitlines())
    text = markdown.read_text("utf-8")
    assert all(line.isprintable() for line in text.splitlines())
    assert "https://" not in text and "www.evil" not in text  # GitHub makes links of these
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    allowed = {"h1", "h2", "h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code"}
    assert set(re.findall(r"<(\w+)", page)) <= allowed
    assert escape_control(HOSTILE) in [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    names = {case.get("name") for case in ElementTree.parse(junit).getroot().iter("testcase")}
    assert escape_control(HOSTILE) in names
    # JSON carries the text as it is: escaped by JSON itself.
    (pair,) = compared(OLD, NEW, "--study", folder)["pairs"]
    assert pair["new_failures"][0]["function"] == HOSTILE


def test_the_markdown_starts_with_the_verdict_and_fits_into_a_comment(
    versions: Callable[..., Path], make_result: Make, portbench: Command, tmp_path: Path
) -> None:
    names = [f"test-{number:04}" + "x" * 300 for number in range(500)]
    folder = versions(
        [make_result("torch.cat", name, calls=[]) for name in names],
        [make_result("torch.cat", name, outcome="failed") for name in names],
    )
    path = tmp_path / "comment.md"
    result = portbench("compare", OLD, NEW, "--study", folder, "--markdown", path, "--fail-on", "new-failure")
    assert result.exit_code == 1
    text = path.read_text("utf-8")
    assert len(text) < 65_536
    assert text.splitlines()[2] == "**failed on new-failure (500 tests)**"
    assert "rows more: --json has all." in text


@pytest.mark.parametrize("width", [60, 100])
def test_the_terminal_keeps_to_its_width(width: int, two_devices: Path, portbench: Command, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = portbench("compare", "torch-2.8.0-gpu", "torch-2.9.0-gpu", "--study", two_devices).stdout
    assert max(map(len, shown.splitlines())) <= width


def test_nothing_to_compare_is_an_error_that_shows_why(
    versions: Callable[..., Path], make_result: Make, portbench: Command
) -> None:
    folder = versions([make_result("torch.cat")], [make_result("torch.cat", outcome="skipped")])
    result = portbench("compare", OLD, NEW, "--study", folder)
    assert isinstance(result.exception, NothingRan)
    assert "removed in the version of the second" in " ".join(result.stdout.split())


def test_a_file_that_cannot_be_written_is_an_error(
    versions: Callable[..., Path], make_result: Make, portbench: Command, write: Write
) -> None:
    folder = versions([make_result()], [make_result()])
    result = portbench("compare", OLD, NEW, "--study", folder, "--markdown", write("file", "") / "c.md")
    assert isinstance(result.exception, StorageFailed)


def test_help_shows_grammar_conditions_and_examples(portbench: Command) -> None:
    shown = portbench("compare", "--help").stdout
    assert "portbench compare " in shown.partition("Examples:")[2]
    for word in ("STUDY:TARGET", "@MACHINE", "new-failure", "new-wrong", "not-run", "category", "placement", "slower"):
        assert word in shown


def test_the_most_comparable_pair_is_of_one_machine_measured_and_with_a_baseline_first() -> None:
    def side(target: str, machine: str = "box", sync: str = "complete") -> Configuration:
        framework, version, device = target.split("-", 2)
        return Configuration(framework, version, device, machine, sync)

    old, new = side("torch-2.8.0-cpu"), side("torch-2.9.0-cpu")
    tpu, gpu = side("torch-2.9.0-tpu", "tpu-vm"), side("torch-2.9.0-gpu", "gpu-vm")
    others = [side("jax-0.4.8-cpu"), side("torch-2.9.0-cpu", sync="as-published"), side("torch-2.9.0-tpu-v3")]
    pairs = comparable_pairs([tpu, gpu, new, old, *others], {})
    assert pairs[:2] == [(old, new), (gpu, tpu)]
    assert all(other not in pair for pair in pairs for other in others)
    assert (old, gpu) not in pairs
    # Another manifest is a difference more.
    assert comparable_pairs([old, new, side("torch-2.9.0-xla")], {old: frozenset({"a"})})[0][0].version == "2.9.0"

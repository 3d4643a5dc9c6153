"""The verdict of a recording: what counts as what, how it is ranked, and its forms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from tests.unit.host.conftest import Document, result_document, run_document
from tests.unit.host.record.recordings import (
    failed,
    recorded_manifest,
    recorded_test,
    replayed,
    run_of,
    write_recording,
    write_run,
)

Portbench = Callable[..., Any]

LEFT_OUT = {
    "function": "torch.odd",
    "reason": "an argument is a Thing",
    "calls": 3,
    "seconds": 0.5,
    "sites": ["a.py:9"],
}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording with a function for each verdict, and a run on torch-xla."""
    functions = {
        "torch.add": [recorded_test("a", 90, 5.0), recorded_test("b", 2, 0.5)],
        "torch.sort": [recorded_test("a", 4, 1.0, "model.py:7")],
        "torch.erf": [recorded_test("a", 3, 0.25, "model.py:8")],
        "torch.linalg.eig": [recorded_test("a", 1, 2.0, "loss.py:3"), recorded_test("b", 1, 0.5, "loss.py:4")],
        "torch.never": [recorded_test("a", 1, 0.25)],
    }
    folder = write_recording(tmp_path / "rec", recorded_manifest(functions, [LEFT_OUT]))
    results = [
        replayed("torch.add", "a"),
        replayed("torch.add", "b"),
        replayed("torch.sort", "a", placement="mixed", host_operations=["aten::sort"]),
        failed("torch.erf", "a", "wrong value: 1 is not 2", "precision", phase="compare", value_verdict="wrong"),
        failed("torch.linalg.eig", "a", "eig is not implemented on XLA", "not_implemented"),
        failed("torch.linalg.eig", "b", "another message", "not_implemented"),
    ]
    write_run(folder, run_of(folder, results))
    return folder


def of(portbench: Portbench, *arguments: object) -> Document:
    done = portbench("verdict", *arguments, "--json")
    assert done.exception is None, done.exception
    (found,) = json.loads(done.stdout)["recordings"]
    return dict(found)


def test_every_call_has_one_verdict(portbench: Portbench, recording: Path) -> None:
    found = of(portbench, recording)
    (target,) = found["targets"]
    calls = {name: share["calls"] for name, share in target["shares"].items()}
    assert calls == {"runs": 92, "host": 4, "wrong": 3, "refused": 2, "unknown": 4}
    assert sum(calls.values()) == found["all"]["calls"]
    assert target["shares"]["refused"]["seconds"] == 2.5
    assert found["left_out"] == {"calls": 3, "seconds": 0.5}
    assert target["running"] == ["torch.add"]


def test_functions_are_ranked_by_their_share_of_the_time(portbench: Portbench, recording: Path) -> None:
    functions = of(portbench, recording)["targets"][0]["functions"]
    assert [(each["function"], each["verdict"]) for each in functions] == [
        ("torch.linalg.eig", "refused"),
        ("torch.sort", "host"),
        ("torch.odd", "unknown"),
        ("torch.erf", "wrong"),
        ("torch.never", "unknown"),
    ]
    eig = functions[0]
    assert (eig["calls"], eig["category"], eig["message"]) == (2, "not_implemented", "eig is not implemented on XLA")
    assert (eig["sites"], eig["tests"]) == (["loss.py:3", "loss.py:4"], ["a", "b"])
    assert "aten::sort" in functions[1]["message"]
    assert "an argument is a Thing" in functions[2]["message"]
    assert functions[4]["message"] == "it was not run"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (replayed("torch.f", "t", placement="device"), "runs"),
        (replayed("torch.f", "t", placement="unknown"), "runs"),
        (replayed("torch.f", "t", placement="host"), "host"),
        (replayed("torch.f", "t", "timed_out"), "refused"),
        (replayed("torch.f", "t", "crashed"), "refused"),
        (failed("torch.f", "t", "no"), "refused"),
        (failed("torch.f", "t", "no", value_verdict="wrong", phase="compare"), "wrong"),
        (failed("torch.f", "t", "dtype", phase="compare"), "wrong"),
        (failed("torch.f", "t", "no", value_verdict="unexpected", phase="compare"), "unknown"),
        (replayed("torch.f", "t", "skipped"), "refused"),  # removed
        (replayed("torch.f", "t", "skipped", category=None, reason="the CPU does not repeat the call"), "unknown"),
        (replayed("torch.f", "t", "error"), "unknown"),
    ],
)
def test_the_verdict_of_a_result(portbench: Portbench, tmp_path: Path, result: Document, expected: str) -> None:
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [recorded_test("t")]}))
    write_run(folder, run_of(folder, [result]))
    shares = of(portbench, folder)["targets"][0]["shares"]
    assert [name for name, share in shares.items() if share["calls"]] == [expected]


def test_a_call_that_fails_on_the_cpu_too_is_unknown(portbench: Portbench, tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [recorded_test("t")]}))
    error = {"type": "E", "message": "no", "traceback": "", "causes": []}
    control = {"outcome": "failed", "reason": None, "category": "other", "error": error}
    write_run(folder, run_of(folder, [failed("torch.f", "t", "no", cpu_control=control)]))
    (function,) = of(portbench, folder)["targets"][0]["functions"]
    assert function["verdict"] == "unknown" and "on the CPU, too" in function["message"]


def test_the_worst_of_several_runs_counts(portbench: Portbench, tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [recorded_test("t")]}))
    run = run_of(folder, [replayed("torch.f", "t"), failed("torch.f", "t", "no", run=2)])
    run["protocol"]["runs"] = 2
    write_run(folder, run)
    assert of(portbench, folder)["targets"][0]["shares"]["refused"]["calls"] == 1


def test_the_newest_run_file_of_a_target_counts(portbench: Portbench, recording: Path) -> None:
    everything = [("torch.add", "ab"), ("torch.sort", "a"), ("torch.erf", "a"), ("torch.linalg.eig", "ab")]
    results = [replayed(name, test) for name, tests in everything for test in tests]
    later = run_of(recording, results, started_at="2026-11-22T09:00:00Z", ended_at="2026-11-22T09:10:00Z")
    write_run(recording, later, "later.json")
    (target,) = of(portbench, recording)["targets"]
    assert target["shares"]["runs"]["calls"] == 101


def test_the_headline_is_one_line(portbench: Portbench, recording: Path) -> None:
    first, *rest = portbench("verdict", recording).stdout.splitlines()
    assert first.startswith("92 of 105 calls (55.0 % of time) run on torch-2.9.0-xla; ")
    assert "1 function is refused: torch.linalg.eig" in first
    assert "2 functions are unknown: torch.odd, torch.never" in first
    assert "           at loss.py:3, loss.py:4" in rest
    assert rest[-1] == "No test repeats 3 calls (5.0 % of time): they count as unknown."


def test_a_small_share_is_neither_nothing_nor_everything(portbench: Portbench, tmp_path: Path) -> None:
    functions = {"torch.f": [recorded_test("t", 99_999, 100.0)], "torch.g": [recorded_test("t", 1, 1e-6)]}
    folder = write_recording(tmp_path / "rec", recorded_manifest(functions))
    write_run(folder, run_of(folder, [replayed("torch.f", "t"), failed("torch.g", "t", "no")]))
    text = portbench("verdict", folder).stdout
    assert "99,999 of 100,000 calls (99.9 % of time)" in text
    assert "(1 call, <0.1 % of time)" in text


def test_a_predicted_target_is_marked(portbench: Portbench, tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [recorded_test("t")]}))
    figures = dict.fromkeys(("reason", "compile_ns", "flops", "bytes", "memory_bytes", "roofline_ns"))
    passed = replayed("torch.f", "t", calls=[], prediction={"verdict": "accepted", **figures})
    run = run_of(folder, [passed], "torch-2.9.0-tpu-v5e")
    run["prediction"] = {"kind": "compiled", "compiler": "libtpu 0.0.42", "topology": "v5e:2x2"}
    write_run(folder, run)
    text = portbench("verdict", folder).stdout
    assert "run on torch-2.9.0-tpu-v5e (predicted)" in text


def test_fail_on(portbench: Portbench, recording: Path) -> None:
    assert portbench("verdict", recording).exit_code == 0
    assert portbench("verdict", recording, "--fail-on", "wrong,host").exit_code == 1
    write_run(recording, run_of(recording, [replayed("torch.add", "a")]))
    assert portbench("verdict", recording, "--fail-on", "refused,wrong,host").exit_code == 0
    assert portbench("verdict", recording, "--fail-on", "unknown").exit_code == 1
    assert portbench("verdict", recording, "--fail-on", "bad").exit_code == 2


def test_json_is_a_document_of_its_format(portbench: Portbench, recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(portbench("verdict", recording, "--json").stdout)
    assert read_document(path).kind == "verdict"


def test_the_folder_has_page_markdown_and_json(portbench: Portbench, recording: Path, tmp_path: Path) -> None:
    done = portbench("verdict", recording, "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert read_document(tmp_path / "out" / "verdict.json", "verdict")
    page = (tmp_path / "out" / "index.html").read_text()
    for text in ("torch.linalg.eig", "loss.py:3", "eig is not implemented on XLA", "torch-2.9.0-xla"):
        assert text in page
        assert text.replace("_", "\\_") in (tmp_path / "out" / "verdict.md").read_text()
    assert portbench("verdict", recording, "-o", tmp_path / "out").exit_code == 0


def test_a_folder_of_somebody_else_stays_as_it_is(portbench: Portbench, recording: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_text("mine")
    done = portbench("verdict", recording, "-o", tmp_path / "out")
    assert isinstance(done.exception, BadInput)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]


def test_no_text_of_a_recording_acts_on_the_page_or_in_markdown(portbench: Portbench, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> | [x](http://evil) \x1b[2J"
    test = recorded_test("t", site=f"{hostile}.py:1")
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [test]}))
    write_run(folder, run_of(folder, [failed("torch.f", "t", hostile)]))
    portbench("verdict", folder, "-o", tmp_path / "out")
    page, text = ((tmp_path / "out" / name).read_text() for name in ("index.html", "verdict.md"))
    assert "<script" not in page and "\x1b" not in page
    assert "<script" not in text and not re.search(r"(?<!\\)\]\(", text) and "\x1b" not in text
    assert "\x1b" not in portbench("verdict", folder).stdout


def test_advice_is_a_successor_that_is_not_known_to_fail(portbench: Portbench, recording: Path, tmp_path: Path) -> None:
    def advice(*arguments: object) -> list[Document]:
        return list(of(portbench, recording, *arguments)["targets"][0]["functions"][0]["advice"])

    (unknown,) = advice()
    assert (unknown["instead"], unknown["known"]) == ("torch.linalg.eigh", "not known whether it runs there")
    assert unknown["if"] and unknown["source"].startswith("https://")
    for outcome, expected in (("passed", ["all its tests pass on torch-2.9.0-xla"]), ("failed", [])):
        result = result_document("torch.linalg.eigh", "t", outcome=outcome)
        study = tmp_path / f"{outcome}.json"
        study.write_text(json.dumps(run_document([result], target="torch-2.9.0-xla")))
        assert [each["known"] for each in advice("--study", study)] == expected


def test_a_successor_that_the_program_calls_itself_is_known(portbench: Portbench, tmp_path: Path) -> None:
    functions = {name: [recorded_test("t")] for name in ("torch.linalg.eig", "torch.linalg.eigh")}
    folder = write_recording(tmp_path / "rec", recorded_manifest(functions))
    write_run(folder, run_of(folder, [failed("torch.linalg.eig", "t", "no"), replayed("torch.linalg.eigh", "t")]))
    (function,) = of(portbench, folder)["targets"][0]["functions"]
    assert function["advice"][0]["known"] == "this program calls it, and it runs there"


def test_each_function_that_is_replaced_has_a_source() -> None:
    from portbench.record.advice import successors
    from portbench.util.repository import find_checkout

    table = successors(find_checkout())
    assert {"torch.linalg.eig", "jax.numpy.linalg.eig", "tf.linalg.eig"} <= table.keys()
    for name, rows in table.items():
        for row in rows:
            assert row.instead.partition(".")[0] == name.partition(".")[0] != ""
            assert row.source.startswith(("https://", "manifests/study/"))


def wrong_place(folder: Path) -> Path:
    return folder.parent / "nowhere"


def damaged_manifest(folder: Path) -> Path:
    (folder / "torch.json").write_text("{")
    return folder


def no_recording(folder: Path) -> Path:
    (folder.parent / "empty").mkdir()
    return folder.parent / "empty"


def no_manifest(folder: Path) -> Path:
    (folder / "torch.json").unlink()
    return folder


def curated_manifest(folder: Path) -> Path:
    manifest = json.loads((folder / "torch.json").read_text())
    del manifest["recorded"]
    (folder / "torch.json").write_text(json.dumps(manifest))
    return folder


def newer_format(folder: Path) -> Path:
    manifest = json.loads((folder / "torch.json").read_text())
    (folder / "torch.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    return folder


def recorded_again(folder: Path) -> Path:
    (folder / "torch.json").write_text((folder / "torch.json").read_text() + "\n")
    return folder


def without_results(folder: Path) -> Path:
    (folder / "results" / "run.json").unlink()
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (wrong_place, "is no folder"),
        (damaged_manifest, "not JSON"),
        (no_recording, "holds no recording"),
        (no_manifest, "called no framework"),
        (curated_manifest, "called no framework"),
        (newer_format, "newer portbench"),
        (recorded_again, "1 run file there is of another recording"),
        (without_results, "no run file in"),
    ],
)
def test_a_folder_that_cannot_be_judged(
    portbench: Portbench, recording: Path, change: Callable[[Path], Path], message: str
) -> None:
    done = portbench("verdict", change(recording))
    assert isinstance(done.exception, BadInput)
    assert message in str(done.exception)
    assert done.exception.remedy
    assert done.stdout == ""


def test_results_that_are_named_must_be_run_files_of_the_recording(
    portbench: Portbench, recording: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(run_document()))
    for given, message in (
        (other, "no run file in"),
        (tmp_path / "gone", "does not exist"),
        (recording / "torch.json", "not a run"),
    ):
        done = portbench("verdict", recording, given)
        assert isinstance(done.exception, BadInput), given
        assert message in str(done.exception)


def test_a_damaged_run_file_is_named(portbench: Portbench, recording: Path) -> None:
    path = recording / "results" / "run.json"
    run = json.loads(path.read_text())
    del run["target"]
    path.write_text(json.dumps(run))
    done = portbench("verdict", recording)
    assert isinstance(done.exception, BadInput)
    assert str(path) in str(done.exception)


def test_other_files_in_the_results_do_not_matter(portbench: Portbench, recording: Path) -> None:
    (recording / "results" / "notes.json").write_text("{")
    (recording / "results" / "study.json").write_text(json.dumps(run_document()))
    (recording / "notes.json").write_text("{")
    assert portbench("verdict", recording).exit_code == 0


def test_a_whole_program_is_shown_beside_the_calls(portbench: Portbench, tmp_path: Path) -> None:
    digest = {"stablehlo": "a" * 64}
    program = {"id": "train_step-0a1b2c3d", "case": "program", "modules": {"any": digest}, "operations": 212}
    manifest = recorded_manifest({"torch.f": [recorded_test("t", 5)]})
    manifest["functions"].append({"function": "torch.nn.Module", "tests": [program]})
    folder = write_recording(tmp_path / "rec", manifest)
    refused = failed("torch.nn.Module", program["id"], "it needs 20 GiB", "memory") | {"case": "program"}
    write_run(folder, run_of(folder, [replayed("torch.f", "t"), refused]))
    (target,) = of(portbench, folder)["targets"]
    assert target["shares"]["runs"]["calls"] == 5 and not target["functions"]
    (found,) = target["programs"]
    assert (found["name"], found["verdict"], found["operations"]) == ("train_step", "refused", 212)
    assert "  refused  train_step (212 operations)" in portbench("verdict", folder).stdout.splitlines()
    assert "train\\_step (212 operations)" in portbench("verdict", folder, "--markdown").stdout
    assert portbench("verdict", folder, "--fail-on", "refused").exit_code == 1


def test_the_memory_of_a_whole_program_is_held_against_the_devices(portbench: Portbench, tmp_path: Path) -> None:
    program = {"id": "train_step-0a1b2c3d", "case": "program", "modules": {"any": {"unknown": "no"}}, "operations": 212}
    manifest = recorded_manifest({"torch.f": [recorded_test("t", 5)]})
    manifest["functions"].append({"function": "torch.nn.Module", "tests": [program]})
    folder = write_recording(tmp_path / "rec", manifest)
    figures: dict[str, Any] = {
        "memory_bytes": 6 << 30,
        "flops": 4e12,
        "bytes": 5e9,
        "compile_ns": 1,
        "roofline_ns": 1.0,
    }
    prediction = {"verdict": "accepted", "reason": "compiled; needs cuDNN", **figures}
    passed = replayed("torch.nn.Module", program["id"], calls=[], prediction=prediction) | {"case": "program"}
    run = run_of(folder, [passed], "torch-2.9.0-tpu-v5e")
    run["prediction"] = {"kind": "compiled", "compiler": "libtpu 0.0.52", "topology": "v5e:2x2"}
    run["environment"]["device"]["memory_bytes"] = 16 << 30
    write_run(folder, run)
    done = portbench("verdict", folder)
    assert done.exception is None, done.exception
    lines = done.stdout.splitlines()
    assert "  runs     train_step (212 operations, 6.0 GiB of 16.0 GiB of device memory)" in lines
    assert "           compiled; needs cuDNN" in lines
    (found,) = of(portbench, folder)["targets"][0]["programs"]
    assert (found["device_bytes"], found["flops"], found["moved_bytes"]) == (16 << 30, 4e12, 5e9)


@pytest.mark.parametrize("command", ["merge", "report"])
def test_results_of_a_recording_never_get_into_a_study(
    portbench: Portbench, recording: Path, tmp_path: Path, command: str
) -> None:
    run_file = recording / "results" / "run.json"
    options = ["-o", tmp_path / "study"] if command == "merge" else []
    done = portbench(command, run_file, *options)
    assert isinstance(done.exception, BadInput)
    assert "repeat the calls of a recorded program" in str(done.exception)
    (recording / "results" / "curated.json").write_text(json.dumps(run_document()))
    done = portbench(command, recording / "results", "--json", *options)
    assert done.exception is None, done.exception
    assert "torch-2.9.0-xla" not in done.stdout and "2.9.0" in done.stdout
    (recording / "results" / "curated.json").unlink()
    done = portbench(command, recording / "results", "-o", tmp_path / "other")
    assert isinstance(done.exception, BadInput)
    assert "no run file" in str(done.exception)


def test_another_version_than_the_programs_is_said(portbench: Portbench, tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [recorded_test("t")]}))
    write_run(folder, run_of(folder, [replayed("torch.f", "t")], "torch-1.12.0-cpu"))
    said = "The program ran with torch 2.9.0: what is refused may be the version 1.12.0."
    assert said in portbench("verdict", folder).stdout
    assert said in portbench("verdict", folder, "--markdown").stdout


def test_what_the_cpu_of_the_programs_version_does_not_repeat_is_unknown(portbench: Portbench, tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "rec", recorded_manifest({"torch.f": [recorded_test("t")]}))
    for version in ("2.9.0", "1.12.0"):
        write_run(folder, run_of(folder, [failed("torch.f", "t", "no")], f"torch-{version}-cpu"), f"{version}.json")
    older, same = of(portbench, folder)["targets"]
    assert [each["functions"][0]["verdict"] for each in (older, same)] == ["refused", "unknown"]
    assert same["functions"][0]["message"] == "the CPU does not repeat the call: no"

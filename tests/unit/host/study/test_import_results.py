"""Imports reports of pytest and JUnit XML files of other programs as run files."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.study.foreign.import_results import import_results
from portbench.study.merge import merge
from tests.fuzz.strategies import ODD
from tests.paths import DATA, EXAMPLES
from tests.unit.host.opened_study import opened_study

REPORTS = {"pytest-json": DATA / "reports" / "report.json", "junit": DATA / "reports" / "report.xml"}
IDS = {"pytest-json": "tests/test_cat.py::", "junit": "tests.test_cat."}
OUTCOMES = {
    "rows[float32]": ("passed", None, None),
    "rows[float64]": ("passed", None, None),
    "values": ("failed", "precision", "AssertionError"),
    "half": ("failed", "type", "RuntimeError"),
    "own_error": ("failed", "other", "test_cat.MyError"),
    "setup": ("failed", "memory", "MemoryError"),
    "teardown": ("failed", "other", "OSError"),
    "two": ("skipped", None, None),
    "notrun": ("skipped", None, None),
    "xpass": ("passed", None, None),
    "assert": ("failed", "other", "AssertionError"),
    "fail": ("failed", "other", "Failed"),
}

Portbench = Callable[..., Result]
Write = Callable[[str, Any], Path]


def mapping(**changes: Any) -> dict[str, Any]:
    """A mapping of the reports in tests/data, for a GPU."""
    return {
        "schema": "portbench/mapping",
        "schema_version": 1,
        "source": "https://example.org/results",
        "target": {"framework": "torch", "version": "2.9.0", "device": "gpu"},
        "environment": {"machine": "ci-t4"},
        "remove": [*IDS.values(), "TestCatCUDA::test_", "_cuda"],
        "tests": [{"nodes": "*TestCat*", "function": "torch.cat"}],
    } | changes


def imported(write: Write, report: Path | list[Path], form: str, **changes: Any) -> dict[str, Any]:
    """The run file of reports, which is valid."""
    path = write("mapping.json", mapping(**changes))
    out = path.parent / "out.json"
    import_results([report] if isinstance(report, Path) else report, form, path, out)
    return read_document(out, "run").data


def results(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["test"]: result for result in document["results"]}


@pytest.mark.parametrize("form", REPORTS)
def test_outcomes_categories_and_types_are_those_of_the_report(form: str, write: Write) -> None:
    found = results(imported(write, REPORTS[form], form))
    # A JUnit file does not have the error of a test that is expected to fail.
    expected = found.pop("xfail")
    assert expected["outcome"] == ("failed" if form == "pytest-json" else "skipped")
    assert {
        test: (result["outcome"], result["category"], (result["error"] or {}).get("type"))
        for test, result in found.items()
    } == OUTCOMES
    assert found["half"]["error"]["message"] == "\"cat_cuda\" not implemented for 'Half'"
    assert "raise RuntimeError(" in found["half"]["error"]["traceback"]
    assert found["two"]["reason"] == "needs two devices"
    assert found["half"]["case"] == f"{IDS[form]}TestCatCUDA::test_half_cuda"


@pytest.mark.parametrize("form", REPORTS)
def test_what_reports_and_mapping_do_not_say_is_null(form: str, write: Write) -> None:
    document = imported(write, REPORTS[form], form)
    environment = document["environment"]
    unknown = ["os", "kernel", "cpu_model", "cpu_cores", "memory_bytes", "runner_commit", "runner_sha256"]
    assert [environment[key] for key in unknown] == [None] * len(unknown)
    assert environment["python"] == ("3.11.7" if form == "pytest-json" else None)
    assert environment["packages"] == {"torch": "2.9.0"}
    assert document["protocol"]["timeout_s"] is None
    assert document["imported"]["source"] == "https://example.org/results"
    for result in document["results"]:
        assert (result["phase"], result["worker"], result["calls"]) == (None, None, [])
        assert result["placement"] == {"verdict": "unknown", "evidence": []}
    # Only pytest-json-report has the time of a test without its fixtures.
    times = [result["case_ns"] for result in document["results"] if result["outcome"] == "passed"]
    assert all(times) if form == "pytest-json" else times == [None] * 3
    assert document["started_at"] < document["ended_at"] < "2027"


def test_facts_of_the_mapping_are_in_the_run_file(write: Write) -> None:
    stated = {"machine": "ci", "os": "Debian", "cpu_cores": 8, "python": "3.12.1", "device": {"model": "Tesla T4"}}
    environment = imported(write, REPORTS["pytest-json"], "pytest-json", environment=stated)["environment"]
    assert {key: environment[key] for key in stated} == stated


def test_each_report_is_a_run(write: Write) -> None:
    document = imported(write, [REPORTS["junit"]] * 3, "junit")
    assert document["protocol"]["runs"] == 3
    assert [result["run"] for result in document["results"] if result["test"] == "half"] == [1, 2, 3]


def test_the_same_input_gives_the_same_file(write: Write) -> None:
    first = imported(write, REPORTS["junit"], "junit")
    assert imported(write, REPORTS["junit"], "junit") == first


def test_results_of_two_devices_pair_in_a_study(write: Write, tmp_path: Path) -> None:
    """The ids of a JUnit file of a CPU and of a JSON report of a GPU become the same."""
    cpu = REPORTS["junit"].read_text("utf-8").replace("_cuda", "_cpu").replace("TestCatCUDA", "TestCatCPU")
    target = {"framework": "torch", "version": "2.9.0", "device": "cpu"}
    of_cpu = write("cpu.json", mapping(target=target, remove=[IDS["junit"], "TestCatCPU::test_", "_cpu"]))
    report = tmp_path / "cpu.xml"
    report.write_text(cpu, "utf-8")
    import_results([report], "junit", of_cpu, tmp_path / "runs" / "cpu.json")
    of_gpu = write("gpu.json", mapping())
    import_results([REPORTS["pytest-json"]], "pytest-json", of_gpu, tmp_path / "runs" / "gpu.json")
    merge([str(tmp_path / "runs")], tmp_path / "study")
    paired = (
        opened_study(tmp_path / "study")
        .execute(
            "SELECT count(*) FROM results AS a JOIN results AS b USING (function, test, run) "
            "WHERE a.device = 'cpu' AND b.device = 'gpu'"
        )
        .fetchone()
    )
    assert paired == (len(OUTCOMES) + 1,)


def test_the_smallest_run_file_of_the_manual_merges(tmp_path: Path) -> None:
    merge([str(EXAMPLES / "run" / "valid" / "smallest_imported.json")], tmp_path / "study")
    rows = opened_study(tmp_path / "study").execute("SELECT test, outcome, category FROM results ORDER BY test")
    assert rows.fetchall() == [("rows[dtype=float16]", "failed", "type"), ("rows[dtype=float32]", "passed", None)]


CRASHED = "worker 'gw0' crashed while running 'cat.five'"


def junit(*cases: str) -> str:
    return f'<testsuite name="s">{"".join(cases)}</testsuite>'


def test_a_junit_file_of_another_program(write: Write) -> None:
    """Without class names, with types in an attribute, and with a test that was reported twice."""
    document = imported(
        write,
        write(
            "report.xml",
            junit(
                '<testcase name="cat.one"/>',
                '<testcase name="cat.two"><failure type="builtins.ValueError">too few</failure></testcase>',
                '<testcase name="cat.three"><failure message="Expected equality"/></testcase>',
                '<testcase name="cat.four"/>',
                '<testcase name="cat.four"><error message="OSError: no space"/></testcase>',
                f'<testcase name="cat.five"><failure message="{CRASHED}"/></testcase>',
                '<testcase name="cat.six"><skipped/></testcase>',
            ),
        ),
        "junit",
        tests=[{"nodes": "cat.*", "function": "torch.cat"}],
    )
    found = results(document)
    assert {test.removeprefix("cat."): result["outcome"] for test, result in found.items()} == {
        "one": "passed",
        "two": "failed",
        "three": "failed",
        "four": "failed",
        "five": "crashed",
        "six": "skipped",
    }
    errors = {test: found[f"cat.{test}"]["error"] for test in ("two", "three", "four")}
    assert {test: (error["type"], error["message"]) for test, error in errors.items()} == {
        "two": ("ValueError", "too few"),
        "three": ("Exception", "Expected equality"),
        "four": ("OSError", "no space"),
    }
    assert found["cat.five"]["category"] == "crash"
    assert (document["started_at"], document["ended_at"]) == (None, None)


def test_the_first_entry_that_matches_names_the_function(write: Write) -> None:
    tests = [
        {"nodes": "*test_two*", "function": None},
        {"nodes": "*[float32]", "function": "torch.float"},
        {"nodes": "*TestCat*", "function": "torch.cat"},
    ]
    found = imported(write, REPORTS["junit"], "junit", tests=tests)
    assert [r["test"] for r in found["results"] if r["function"] == "torch.float"] == ["rows[float32]"]
    assert "two" not in results(found)
    assert {f["name"]: f["tests"] for f in found["manifest"]["functions"]} == {"torch.float": 1, "torch.cat": 11}


def test_the_command_says_what_it_left_out(portbench: Portbench, write: Write, tmp_path: Path) -> None:
    path = write("m.json", mapping(tests=[*mapping()["tests"], {"nodes": "*add*", "function": "torch.add"}]))
    out = tmp_path / "new" / "gpu.json"
    done = portbench("import", REPORTS["pytest-json"], "--from", "pytest-json", "--map", path, "-o", out)
    assert done.exit_code == 0
    assert "1 report imported: 3 passed, 8 failed, 2 skipped" in done.output
    assert "left out, no entry of the mapping matches: tests/test_cat.py::test_free_function" in done.output
    assert "not collected, so its tests are missing: tests/test_broken.py" in done.output
    assert f"matches no test: {path}: $.tests[1]" in done.output
    assert read_document(out, "run").data["target"]["device"] == "gpu"


LAUGHS = (
    '<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<testsuite><testcase name="&b;"/></testsuite>'
)
FILE = '<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="x">&a;</testcase></testsuite>'
ONE = {"nodeid": "a::b", "outcome": "passed"}


@pytest.mark.parametrize(
    ("form", "content", "said"),
    [
        ("pytest-json", "<testsuite/>", "line 1, column 1: not JSON"),
        ("pytest-json", "", "the file is empty"),
        ("pytest-json", [], "$: found"),
        ("pytest-json", {"summary": {}}, "$.tests: found nothing"),
        ("pytest-json", {"tests": []}, "$.tests"),
        ("pytest-json", {"tests": [3]}, "$.tests[0]: found"),
        ("pytest-json", {"tests": [ONE, {"outcome": "passed"}]}, "$.tests[1].nodeid: found nothing"),
        (
            "pytest-json",
            {"tests": [ONE | {"outcome": "exploded"}]},
            '$.tests[0].outcome: found "exploded", expected one',
        ),
        ("pytest-json", {"tests": [ONE | {"call": {"duration": -1}}]}, "$.tests[0].call.duration"),
        ("pytest-json", {"tests": [ONE], "created": 1e30, "duration": 1}, "$.created"),
        ("pytest-json", {"tests": [ONE | {"setup": 3}]}, "$.tests[0].setup"),
        ("junit", "{}", "line 1, column 1: not XML"),
        ("junit", "", "not XML: no element found"),
        ("junit", junit('<testcase name="a">'), "not XML: mismatched tag"),
        ("junit", "<html><testcase/></html>", "found the element <html>, expected <testsuites> or <testsuite>"),
        ("junit", junit(), "found no <testcase>"),
        ("junit", junit('<testcase classname="a"/>'), "<testcase> number 1: found no name"),
        ("junit", LAUGHS, "line 1: found a document type"),
        ("junit", FILE, "line 1: found a document type"),
        ("junit", junit("<a>" * 200 + "</a>" * 200), "nested more than 100 deep"),
        ("junit", '<?xml version="1.0" encoding="no-such"?><testsuite/>', "not XML"),
    ],
)
def test_a_bad_report_is_refused_with_its_place(
    form: str, content: Any, said: str, write: Write, tmp_path: Path
) -> None:
    report, out = write("report", content), tmp_path / "out.json"
    with pytest.raises(BadInput) as caught:
        import_results([REPORTS[form], report], form, write("m.json", mapping()), out)
    assert str(report) in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.remedy
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tests": [{"nodes": "nothing", "function": "torch.cat"}]}, 'such as "tests/test_cat.py::TestCatCUDA::'),
        ({"remove": [*IDS.values(), "TestCatCUDA::test_", "[float32]", "[float64]"]}, 'both get the id "rows_cuda"'),
        ({"remove": ["tests/test_cat.py::TestCatCUDA::test_two"]}, "removes all of the id"),
        ({"target": {"framework": "torch", "version": "2.9.0+cu128", "device": "gpu"}}, "$.target.version"),
        ({"target": {"framework": "torch", "version": "2.9.0", "device": "gpu-predicted"}}, "$.target.device"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(
    changes: dict[str, Any], said: str, portbench: Portbench, write: Write, tmp_path: Path
) -> None:
    path, out = write("m.json", mapping(**changes)), tmp_path / "out.json"
    done = portbench("import", REPORTS["pytest-json"], "--from", "pytest-json", "--map", path, "-o", out)
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
    assert str(path) in f"{done.exception} {done.exception.remedy}"
    assert done.exception.exit_status == 2
    assert not out.exists()


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a document except its root."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inside for place in ((*path, key), *places(item, (*path, key)))]


REPORT = json.loads(REPORTS["pytest-json"].read_text("utf-8"))
PLACES = places(REPORT)
XML = REPORTS["junit"].read_bytes()
PIECES = st.sampled_from(
    [b"<", b">", b"</testcase>", b"<skipped/>", b"&#0;", b"&x;", b"\xff", b"<!-- -->", b"<![CDATA[", b""]
)


def imported_or_refused(write: Write, report: Path, form: str) -> None:
    """A run file is valid, or it is not written."""
    path = write("mapping.json", mapping(tests=[{"nodes": "*", "function": "torch.cat"}], remove=[]))
    out = path.parent / "out.json"
    out.unlink(missing_ok=True)
    try:
        import_results([report], form, path, out)
    except BadInput:
        assert not out.exists()
    else:
        read_document(out, "run")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), value=ODD)
def test_a_report_with_any_value_at_any_place_is_imported_or_refused(
    place: tuple[str | int, ...], value: Any, write: Write
) -> None:
    changed: Any = copy.deepcopy(REPORT)
    home = changed
    for key in place[:-1]:
        home = home[key]
    home[place[-1]] = value
    imported_or_refused(write, write("report.json", changed), "pytest-json")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(XML)), length=st.integers(0, 40), piece=PIECES)
def test_a_damaged_junit_file_is_imported_or_refused(at: int, length: int, piece: bytes, write: Write) -> None:
    report = write("report.xml", "")
    report.write_bytes(XML[:at] + piece + XML[at + length :])
    imported_or_refused(write, report, "junit")


def test_a_missing_file_is_named(write: Write, tmp_path: Path) -> None:
    for form in REPORTS:
        with pytest.raises(BadInput, match=r"nothing\.json does not exist"):
            import_results([tmp_path / "nothing.json"], form, write("m.json", mapping()), tmp_path / "out.json")


def test_a_long_id_is_kept_and_one_that_is_too_long_is_refused(write: Write, tmp_path: Path) -> None:
    def report(length: int) -> Path:
        return write("report.json", {"tests": [{"nodeid": "TestCat" + "x" * length, "outcome": "passed"}]})

    (result,) = imported(write, report(3_000), "pytest-json")["results"]
    assert result["test"] == "TestCat" + "x" * 3_000 and len(result["case"]) == 300
    out = tmp_path / "refused.json"
    with pytest.raises(BadInput, match=r"report\.json: .* \$\.results\[0\]\.test: found 4007 characters"):
        import_results([report(4_000)], "pytest-json", write("mapping.json", mapping()), out)
    assert not out.exists()


def test_long_texts_are_clipped(write: Write) -> None:
    failed = {"outcome": "failed", "crash": {"message": "ValueError: " + "x" * 20_000}, "longrepr": "y" * 40_000}
    test = {"nodeid": "TestCat", "outcome": "failed", "call": failed | {"stdout": "é" * 100_000}}
    document = imported(write, write("report.json", {"tests": [test]}), "pytest-json")
    (result,) = document["results"]
    assert 7_990 <= len(result["error"]["message"]) <= 8_000
    assert 15_990 <= len(result["error"]["traceback"]) <= 16_000
    assert len(result["output"]["text"]) <= 65_536
    assert result["output"]["total_bytes"] == 200_000
    assert json.dumps(document)

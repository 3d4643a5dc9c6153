"""Collecting tests from samples: what becomes a test, what is left out and why, and what a run of them gives."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("numpy")

from runners.core import documents
from tests.unit.runner.runner_cli import ROOT

COLLECT = [sys.executable, "-m", "runners", "--framework", "fake", "--device", "cpu", "--progress", "json"]


def collected(out, *options):
    """The runner's exit status, its last event, and the manifest's path."""
    command = [*COLLECT, "--collect", "numbers", "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = json.loads(done.stdout.splitlines()[-1])
    return done.returncode, last, out / "fake-1.0.0.collected.json"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    status, last, path = collected(tmp_path_factory.mktemp("collected"))
    assert (status, last["event"]) == (0, "end"), last
    return path


@pytest.fixture(scope="module")
def document(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def tests(document):
    return {
        entry["function"]: {test["id"]: test["params"] for test in entry["tests"]} for entry in document["functions"]
    }


def test_the_manifest_fits_its_schema_and_names_where_its_tests_come_from(document):
    assert documents.first_mistake(documents.checker("manifest"), document) == ""
    assert (document["name"], document["written_for"]) == ("collected-fake-1.0.0", "1.0.0")
    (source,) = document["collected"]["sources"]
    assert (source["name"], source["package"], source["entries"]) == ("numbers", "numpy", 10)
    assert source["version"][0].isdigit()


def test_what_the_cpu_computes_becomes_a_test_of_each_function_that_takes_it(tests):
    assert set(tests) == {
        *("fake.noise", "fake.refuse", "fake.scale", "fake.scale_by_rounding"),
        *("fake.scale_without_kernel", "fake.scale_wrongly"),
    }
    ids = ["numbers-float32", "numbers-float64", "numbers-by-host-float64", "numbers-inside-float64"]
    assert list(tests["fake.scale"]) == ids
    assert list(tests["fake.scale_wrongly"]) == ["numbers-float32", "numbers-float64", "numbers-inside-float64"]


def test_a_call_inside_of_another_one_has_a_reference_too(tests):
    assert tests["fake.scale"]["numbers-inside-float64"]["reference"] == "independent"


def test_errors_that_the_cpu_does_not_raise_are_left_out(tests):
    test = tests["fake.refuse"]["numbers-refusal-float64"]
    assert (test["positions"], "reference" in test) == ([3, 6], False)


def test_a_reference_counts_where_the_cpu_agrees_with_it(tests):
    assert tests["fake.scale"]["numbers-float64"]["reference"] == "independent"
    assert "reference" not in tests["fake.scale"]["numbers-by-host-float64"], "it has none"
    assert "reference" not in tests["fake.scale_by_rounding"]["numbers-float64"], "the CPU contradicts it"


def test_samples_are_spread_over_an_entry(tests, tmp_path):
    assert tests["fake.scale"]["numbers-float64"]["positions"] == [0, 3, 6]
    for most, positions in (("1", [0]), ("2", [0, 6]), ("9", list(range(7)))):
        _, _, path = collected(tmp_path / most, "--samples", most, "--function", "fake.scale")
        (entry,) = json.loads(path.read_text())["functions"]
        assert entry["tests"][0]["params"]["positions"] == positions


def test_what_is_left_out_has_a_reason(document):
    reasons = {each["entry"]: each["reason"] for each in document["collected"]["left_out"]}
    assert reasons.keys() == {"refuse", "killer", "empty", "lambda"}
    assert reasons["refuse"] == "NotImplementedError: refuse is not implemented for Tensor"
    assert reasons["killer"] == "the process was ended by SIGKILL"
    assert reasons["empty"] == "Skip: the source has no sample in this dtype"
    assert reasons["lambda"].startswith("it is for no public function")


def test_the_same_packages_give_the_same_bytes(path, tmp_path):
    assert collected(tmp_path)[2].read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--collect", "opinfo"), "there is no source 'opinfo' of samples: fake has numbers"),
        (("--collect", ","), "--collect names no source"),
        (("--samples", "0"), "--samples 0: expected 1 to 1000"),
        (("--function", "fake.sclae"), "no sample of numbers of functions fake.sclae passes on the CPU"),
    ],
)
def test_mistakes_are_errors_and_nothing_is_written(tmp_path, options, said):
    status, last, path = collected(tmp_path, *options)
    assert (status, last["event"]) == (2, "error")
    assert said in last["message"]
    assert not path.exists()


def test_a_source_that_cannot_be_imported_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SAMPLES", "none")
    status, last, path = collected(tmp_path)
    assert (status, last["event"], path.exists()) == (2, "error", False)
    assert last["message"] == (
        "the source numbers cannot be imported: No module named 'numbers'; it needs any NumPy, and fake is 1.0.0 here"
    )


def run(path, out, device="cpu", *options):
    """The results of the manifest by function and test."""
    command = [
        *COLLECT[:-4],
        "--device",
        device,
        "--progress",
        "json",
        "--manifest",
        str(path),
        "--runs",
        "1",
        *options,
    ]
    done = subprocess.run([*command, "--out", str(out)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr
    document = json.loads(next(out.glob("fake-*.json")).read_text())
    return {(result["function"], result["test"]): result for result in document["results"]}


def test_all_of_it_passes_on_the_cpu(path, tmp_path):
    assert {result["outcome"] for result in run(path, tmp_path).values()} == {"passed"}


def test_a_device_is_judged_by_it(path, tmp_path):
    results = run(path, tmp_path, "xla")
    wrong = results["fake.scale_wrongly", "numbers-float64"]
    assert (wrong["outcome"], wrong["value_verdict"]) == ("failed", "wrong")
    assert wrong["output"]["text"].splitlines()[-1] == "sample 0 of scale in float64"
    assert results["fake.scale_wrongly", "numbers-inside-float64"]["value_verdict"] == "wrong"
    assert results["fake.scale", "numbers-float64"]["outcome"] == "passed"
    assert results["fake.scale_without_kernel", "numbers-float64"]["placement"]["verdict"] == "host"
    assert results["fake.noise", "numbers-float64"]["outcome"] == "passed", "random numbers may differ"


@pytest.mark.parametrize(("device", "outcome"), [("cpu", "failed"), ("xla", "passed")])
def test_a_call_must_raise_the_error_in_the_words_of_the_cpu_on_the_cpu_alone(device, outcome, path, tmp_path):
    document = json.loads(path.read_text())
    (entry,) = (each for each in document["functions"] if each["function"] == "fake.refuse")
    entry["tests"][0]["params"]["positions"] = [0]
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    results = run(changed, tmp_path / "out", device, "--function", "fake.refuse")
    result = results["fake.refuse", entry["tests"][0]["id"]]
    assert result["outcome"] == outcome
    message = result["error"] and result["error"]["message"]
    assert outcome == "passed" or "expected 'overflow' in the message of NotImplementedError" in message


def test_samples_of_another_version_are_not_tested(path, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SAMPLES", "8")
    results = run(path, tmp_path)
    assert {result["outcome"] for result in results.values()} == {"skipped"}
    reason = results["fake.scale", "numbers-float64"]["reason"]
    assert reason == "this numpy makes other samples of scale in float64: collect again with this version"


def test_an_entry_that_the_package_lacks_is_not_tested(path, tmp_path):
    changed = tmp_path / "changed.json"
    changed.write_text(path.read_text().replace('"entry": "scale"', '"entry": "gone"'))
    result = run(changed, tmp_path / "out")["fake.scale", "numbers-float64"]
    assert (result["outcome"], result["reason"]) == (
        "skipped",
        "this numpy has no entry gone: collect again with this version",
    )


def test_an_unknown_source_in_a_manifest_is_its_mistake(path, tmp_path):
    document = json.loads(path.read_text())
    document["functions"] = document["functions"][:1]
    document["functions"][0]["tests"] = document["functions"][0]["tests"][:1]
    document["functions"][0]["tests"][0]["params"]["source"] = "nowhere"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    (result,) = run(changed, tmp_path / "out").values()
    assert result["outcome"] == "error"
    assert "there is no source 'nowhere' of samples" in result["error"]["message"]

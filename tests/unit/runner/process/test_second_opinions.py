"""What the runner tells of a test beyond its outcome, on the fake framework's pretended accelerator."""

from __future__ import annotations

import json

import pytest

from tests.unit.runner.runner_cli import ROOT, cases, numbered

TENSOR = {"tensor": {"values": [1.2345678, 2.3456789, 4.4567891], "dtype": "float64"}}


@pytest.fixture
def result(run):
    """The result of calling one function on the device."""

    def of(function, *options, args=(TENSOR, 3), expect=None, device="xla"):
        test = {"id": "t", "case": "call", "args": list(args), "expect": expect or {"numpy": "multiply"}}
        functions = [{"function": f"fake.{function}", "tests": [test]}]
        (found,) = run(functions, "--device", device, "--runs", "1", *options).document["results"]
        return found

    return of


@pytest.mark.parametrize(
    ("function", "verdict", "host_operations"),
    [
        ("scale", "device", []),
        ("scale_without_kernel", "host", ["fake::scale"]),
        ("scale_half_without_kernel", "mixed", ["fake::scale"]),
    ],
)
def test_where_it_ran(result, function, verdict, host_operations):
    found = result(function)
    assert (found["outcome"], found["value_verdict"]) == ("passed", "equal")
    assert (found["placement"]["verdict"], found["placement"]["host_operations"]) == (verdict, host_operations)
    assert "output on xla:0" in found["placement"]["evidence"]
    assert [call["observed"] for call in found["calls"]] == [{"counters": {}}]


def test_on_the_cpu_the_host_is_the_device(result):
    found = result("scale_without_kernel", device="cpu")
    assert found["placement"]["verdict"] == "device"
    assert found["cpu_control"] is None


def test_a_lack_of_the_device_passes_in_the_control_run(result):
    found = result("refuse_on_device", args=[TENSOR], expect={"value": TENSOR["tensor"]["values"]})
    assert (found["outcome"], found["category"], found["value_verdict"]) == ("failed", "not_implemented", None)
    assert found["cpu_control"] == {"outcome": "passed", "reason": None, "category": None, "error": None}


def test_a_lack_of_the_function_fails_in_the_control_run_too(result):
    found = result("refuse", args=[TENSOR])
    assert (found["outcome"], found["cpu_control"]["outcome"]) == ("failed", "failed")
    assert found["cpu_control"]["category"] == "not_implemented"
    assert found["cpu_control"]["error"]["type"] == "NotImplementedError"


def test_wrong_values_are_told_from_imprecise_ones(result):
    wrong = result("scale_wrongly")
    assert (wrong["outcome"], wrong["value_verdict"], wrong["category"]) == ("failed", "wrong", "other")
    assert wrong["cpu_control"]["outcome"] == "passed"
    assert wrong["full_precision"] is None
    assert wrong["placement"]["evidence"] == ["output on xla:0", "fake::scale on xla:0"], "it is watched too"
    assert wrong["deviation"]["device"] == pytest.approx(2 / 3)
    assert wrong["deviation"]["host"] == 0


@pytest.mark.parametrize(("case", "value_verdict"), [("squares_back", "imprecise"), ("is_positive", None)])
def test_outputs_that_may_differ_and_be_right_are_not_wrong(run, case, value_verdict):
    found = run(cases(case, function="fake.root"), "--device", "xla", "--runs", "1").results[case]
    assert found["deviation"]["device"] == pytest.approx(2, abs=0.01)
    assert (found["outcome"], found["value_verdict"], found["cpu_control"]["outcome"]) == (
        "failed",
        value_verdict,
        "passed",
    )


def test_wrong_values_that_are_no_output_are_wrong_too(run):
    finished = run(cases("scales_in_place", function="fake.scale_wrongly_in_place"), "--device", "xla", "--runs", "1")
    found = finished.results["scales_in_place"]
    assert (found["value_verdict"], found["category"], found["cpu_control"]["outcome"]) == ("wrong", "other", "passed")


def test_imprecise_values_that_are_no_output_are_imprecise_too(run):
    function, options = "fake.scale_coarsely_in_place", ("--device", "xla", "--runs", "1")
    found = run(cases("scales_in_place", function=function, factor=1.2345678), *options).results["scales_in_place"]
    assert (found["value_verdict"], found["category"], found["full_precision"]["outcome"]) == (
        "imprecise",
        "precision",
        "passed",
    )


def test_small_errors_that_full_precision_does_not_mend_are_wrong(run):
    function, options = "fake.scale_almost_in_place", ("--device", "xla", "--runs", "1")
    found = run(cases("scales_in_place", function=function), *options).results["scales_in_place"]
    assert (found["value_verdict"], found["category"], found["full_precision"]) == ("wrong", "other", None)


def test_imprecise_values_are_tried_again_in_full_precision(result):
    imprecise = result("scale_by_rounding")
    assert (imprecise["outcome"], imprecise["value_verdict"], imprecise["category"]) == (
        "failed",
        "imprecise",
        "precision",
    )
    assert imprecise["full_precision"]["outcome"] == "passed"


def test_what_the_tolerance_of_the_dtype_calls_wrong_may_be_imprecise(result):
    expect = {"numpy": "multiply", "args": [{"arg": 0}, {"arg": 1}]}
    coarse = result("scale_by_rounding", args=(TENSOR, 3, 3), expect=expect)
    assert coarse["error"]["message"].startswith("wrong value")
    assert (coarse["value_verdict"], coarse["category"], coarse["full_precision"]["outcome"]) == (
        "imprecise",
        "precision",
        "passed",
    )


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_random_values_are_called_so(result, device):
    found = result("noise", args=[TENSOR], expect={"value": [0.1, 0.2, 0.3]}, device=device)
    assert (found["outcome"], found["value_verdict"], found["category"]) == ("failed", "random", "other")


@pytest.mark.parametrize(
    ("expected", "value_verdict", "category"),
    [
        ([1.0, 2.0, 3.0], "unexpected", "other"),
        ([1, 2, 3], "unexpected", "other"),
        ([3.703704, 7.0370367, 13.3703673], "imprecise", "precision"),
    ],
)
def test_where_the_host_fails_too_the_reference_has_the_last_word(result, expected, value_verdict, category):
    found = result("scale", expect={"value": expected})
    assert (found["value_verdict"], found["category"]) == (value_verdict, category)
    assert found["cpu_control"]["outcome"] == "failed"
    assert (found["full_precision"] or {}).get("outcome") == ("failed" if category == "precision" else None)


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_inputs_that_cannot_be_made_anywhere_are_an_error_of_the_manifest(result, device):
    found = result("scale", args=[{"attribute": "fake.absent"}, 3], device=device)
    assert (found["outcome"], found["phase"], found["category"]) == ("error", "inputs", None)
    assert "absent" in found["error"]["message"]
    assert (found["cpu_control"] or {}).get("outcome") == (None if device == "cpu" else "error")


def test_inputs_that_only_the_device_refuses_are_a_failure_of_the_device(run):
    found = run(cases("inputs_fail_on_device"), "--device", "xla", "--runs", "1").results["inputs_fail_on_device"]
    assert (found["outcome"], found["phase"], found["category"]) == ("failed", "inputs", "not_implemented")
    assert found["cpu_control"]["outcome"] == "passed"


def test_the_control_run_is_made_once(run):
    functions = [{"function": "fake.refuse_on_device", "tests": [
        {"id": "t", "case": "call", "args": [TENSOR], "expect": {"value": TENSOR["tensor"]["values"]}}
    ]}]  # fmt: skip
    results = run(functions, "--device", "xla", "--runs", "3").document["results"]
    assert [result["cpu_control"]["outcome"] for result in results] == ["passed"] * 3
    # A worker for each run of the test; those of the control run are counted apart.
    assert [result["worker"] for result in results] == [1, 2, 3]


def test_a_run_proves_that_waiting_works_and_later_workers_rely_on_it(run):
    functions = [{"function": "fake.scale", "tests": [
        {"id": "t", "case": "call", "args": [TENSOR, 3], "expect": {"numpy": "multiply"}}
    ]}]  # fmt: skip
    results = run(functions, "--device", "xla", "--runs", "3", "--protocol", "both").document["results"]
    assert [result["worker"] for result in results] == [1, 2, 3]
    proof = results[0]["sync_check"]
    assert proof["passed"] and proof["ratio"] >= 2.5
    assert proof["grown_ns"] > proof["base_ns"] > 0
    # No two measurements give the same nanoseconds.
    assert [result["sync_check"] for result in results] == [proof] * 3


def test_the_studys_synchronisation_is_shown_but_not_enforced(run, result):
    found = result("scale", "--protocol", "both", "--sync", "as-published")
    assert not found["sync_check"]["passed"]
    assert "the work was not done" in found["sync_check"]["reason"]
    assert found["calls"][0]["cold"] and found["calls"][0]["steady"]


def test_without_the_proof_there_are_outcomes_but_no_latencies(tmp_path, monkeypatch, run):
    """A copy of the runner whose wait does not wait."""
    import shutil

    from tests.unit.runner import runner_cli

    copy = tmp_path / "copy"
    for folder in ("runners", "schema"):
        shutil.copytree(ROOT / folder, copy / folder)
    adapter = copy / "runners" / "fake" / "adapter.py"
    broken = adapter.read_text().replace(
        "        if isinstance(leaf, library.Pending):\n            _ = leaf.values", "        pass"
    )
    assert broken != adapter.read_text()
    adapter.write_text(broken)
    monkeypatch.setattr(runner_cli, "ROOT", copy)
    functions = [{"function": "fake.scale", "tests": [
        {"id": "t", "case": "call", "args": [TENSOR, 3], "expect": {"numpy": "multiply"}}
    ]}]  # fmt: skip
    finished = run(functions, "--device", "xla", "--runs", "1", "--protocol", "both")
    (found,) = finished.document["results"]
    assert found["outcome"] == "passed"
    assert not found["sync_check"]["passed"]
    assert [(call["cold"], call["steady"]) for call in found["calls"]] == [(None, None)]
    (warning,) = [event for event in finished.events if event["event"] == "warning"]
    assert "no latencies" in warning["message"]


def test_a_device_that_is_not_there_leaves_no_file(run):
    finished = run([{"function": "fake.scale", "tests": [
        {"id": "t", "case": "call", "args": [TENSOR, 3], "expect": {"numpy": "multiply"}}
    ]}], "--device", "gpu")  # fmt: skip
    assert finished.status == 3
    assert finished.error["message"] == "the fake framework has no gpu"
    assert not finished.out.exists() or not list(finished.out.iterdir())


def test_a_run_of_another_synchronisation_is_not_resumed(start):
    running = start(numbered(50))
    for event in running:
        if event["event"] == "result":
            running.process.kill()
            break
    running.wait()
    again = start(numbered(50), "--resume", "--sync", "as-published").wait()
    assert again.status == 2
    assert "protocol.sync" in again.error["message"]
    header = json.loads(running.journals[0].read_text().splitlines()[0])["header"]
    assert header["document"]["protocol"]["sync"] == "complete"

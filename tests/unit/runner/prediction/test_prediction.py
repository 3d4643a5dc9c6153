"""What the runner predicts of a device that is not there, by the pretended compiler of the fake framework."""

from __future__ import annotations

import os
import signal
from functools import partial

import pytest

from runners.core.prediction import prediction
from runners.core.result import PHASES
from tests.unit.runner.runner_cli import numbered

TENSOR = {"tensor": {"values": [1.0, 2.0, 4.0], "dtype": "float64"}}


@pytest.fixture
def predicted(run):
    """The results of calls on a device, by test; each is (function, keyword arguments, factor that is expected)."""

    def of(calls, *options, device="tpu-v5e"):
        functions = {}
        for name, (function, kwargs, expected) in calls.items():
            args = [TENSOR] if function in ("noise", "refuse", "identity") else [TENSOR, 2]
            expect = {"value": [expected * value for value in TENSOR["tensor"]["values"]]}
            test = {"id": name, "case": "call", "args": args, "kwargs": kwargs, "expect": expect}
            functions.setdefault(function, []).append(test)
        entries = [{"function": f"fake.{function}", "tests": tests} for function, tests in functions.items()]
        return run(entries, "--device", device, "--runs", "1", *options)

    return of


def test_a_call_that_is_accepted_passes_with_its_figures_and_without_times(predicted):
    finished = predicted({"scale": ("scale", {}, 2)}, "--protocol", "both")
    result = finished.results["scale"]
    assert (result["outcome"], result["calls"], result["sync_check"], result["value_verdict"]) == (
        "passed",
        [],
        None,
        None,
    )
    figures = {"compile_ns": 1000, "flops": 3.0, "bytes": 48.0, "memory_bytes": 24, "roofline_ns": 2.0}
    assert result["prediction"] == {"verdict": "accepted", "reason": None, **figures}
    assert result["placement"]["verdict"] == "device"
    assert finished.document["prediction"] == {"kind": "compiled", "compiler": "pretence 1.0.0", "topology": None}
    assert finished.document["target"]["device"] == finished.document["environment"]["device"]["kind"] == "tpu-v5e"


def test_another_pass_would_find_the_same(predicted):
    finished = predicted({"scale": ("scale", {}, 2), "root": ("scale", {}, 2)}, "--runs", "3")
    assert [result["run"] for result in finished.document["results"]] == [1, 1]
    assert finished.document["protocol"]["runs"] == 3


def test_a_call_that_is_refused_fails_by_the_device_alone(predicted):
    result = predicted({"t": ("scale_as_compiled", {"compiling": "refuses"}, 2)}).results["t"]
    assert (result["outcome"], result["phase"], result["category"]) == ("failed", "call", "not_implemented")
    assert result["cpu_control"]["outcome"] == "passed"
    assert result["prediction"]["verdict"] == "refused"
    assert result["prediction"]["reason"] == result["error"]["message"]


def test_a_refusal_leaves_the_worker_to_the_next_test(predicted):
    refused = ("scale_as_compiled", {"compiling": "refuses"}, 2)
    results = predicted(
        {"first": ("scale", {}, 2), "refused": refused, "again": refused, "last": ("scale", {}, 2)}
    ).results
    assert results["refused"]["outcome"] == results["again"]["outcome"] == "failed"
    assert len({result["worker"] for result in results.values()}) == 1
    assert not any(result["contaminated"] for result in results.values())


def test_what_cannot_be_predicted_is_skipped_and_says_why(predicted):
    calls = {
        "random": ("noise", {}, 2),
        "fails": ("refuse", {}, 2),
        "wrong": ("scale", {}, 3),
    }
    results = predicted(calls).results
    assert {result["outcome"] for result in results.values()} == {"skipped"}
    assert {result["prediction"]["verdict"] for result in results.values()} == {"unknown"}
    assert "a source that is not there" in results["random"]["reason"]
    assert "does not pass on the stand-in cpu: NotImplementedError" in results["fails"]["reason"]
    assert "does not pass on the stand-in cpu" in results["wrong"]["reason"]


@pytest.mark.parametrize("device", ["tpu-v5e", "tpu-v3"])
def test_a_compiler_that_dies_or_hangs_is_a_refusal_and_the_rest_goes_on(predicted, device):
    calls = {
        "dies": ("scale_as_compiled", {"compiling": "aborts"}, 2),
        "hangs": ("scale_as_compiled", {"compiling": "hangs"}, 2),
        "after": ("scale", {}, 2),
    }
    results = predicted(calls, "--timeout", "3", device=device).results
    ends = {name: (result["outcome"], result["category"]) for name, result in results.items()}
    assert ends == {"dies": ("crashed", "crash"), "hangs": ("timed_out", "timeout"), "after": ("passed", None)}
    assert results["dies"]["exit"]["signal"] == "SIGABRT"
    assert results["dies"]["prediction"]["verdict"] == results["hangs"]["prediction"]["verdict"] == "refused"
    assert "while it was compiled the worker was ended by SIGABRT" in results["dies"]["prediction"]["reason"]
    assert results["hangs"]["cpu_control"]["outcome"] == "passed"


@pytest.mark.parametrize("device", ["tpu-v5e", "tpu-v3"])
def test_what_the_host_cannot_hold_is_compiled_and_not_run_there(predicted, device):
    calls = {"t": ("scale_as_compiled", {"compiling": "needs all memory"}, 3)}
    result = predicted(calls, device=device).results["t"]
    assert (result["outcome"], result["prediction"]["memory_bytes"]) == ("passed", 1 << 59)


def test_what_a_stand_in_has_made_is_judged_and_the_case_goes_on_with_it(predicted):
    calls = {
        "accepted": ("scale", {}, 2),
        "refused": ("scale_as_compiled", {"compiling": "refuses"}, 2),
        "wrong": ("scale", {}, 3),
    }
    results = predicted(calls, device="tpu-v3").results
    verdicts = {name: result["prediction"]["verdict"] for name, result in results.items()}
    assert verdicts == {"accepted": "accepted", "refused": "refused", "wrong": "unknown"}
    assert results["accepted"]["prediction"]["flops"] == 3.0
    assert (results["refused"]["outcome"], results["refused"]["category"]) == ("failed", "not_implemented")


def test_where_it_would_run(predicted):
    results = predicted({"host": ("scale_without_kernel", {}, 2), "nowhere": ("identity", {}, 1)}).results
    assert results["host"]["placement"]["verdict"] == "host"
    assert results["host"]["placement"]["host_operations"] == ["fake::scale"]
    assert (results["nowhere"]["outcome"], results["nowhere"]["placement"]["verdict"]) == ("passed", "unknown")


def test_a_run_goes_on_where_it_was_stopped(predicted):
    first = predicted({"scale": ("scale", {}, 2)})
    again = predicted({"scale": ("scale", {}, 2)}, "--resume")
    assert (first.status, again.status, len(list(again.out.iterdir()))) == (0, 0, 1)


def test_nothing_can_be_audited_where_nothing_is_computed(predicted):
    said = predicted({"scale": ("scale", {}, 2)}, "--mutant", "zeroed").error
    assert (said["exit_status"], "no test can notice" in said["message"]) == (2, True)


def test_a_killed_run_goes_on_with_what_it_had_predicted(start):
    killed = start(numbered(40), "--device", "tpu-v5e", "--runs", "1")
    for event in killed:
        if event["event"] == "result":
            os.kill(killed.process.pid, signal.SIGKILL)
            break
    killed.wait()
    kept = killed.journals[0].read_bytes().count(b"\n") - 1
    resumed = start(numbered(40), "--device", "tpu-v5e", "--runs", "1", "--resume").wait()
    assert resumed.events[0]["done"] == kept > 0
    assert len(resumed.results) == 40
    assert {result["prediction"]["verdict"] for result in resumed.results.values()} == {"accepted"}
    assert resumed.document["prediction"]["compiler"] == "pretence 1.0.0"


class OnStandIn:
    """Predicts with a stand-in that takes no text, in a call or between calls."""

    @staticmethod
    def stand_in(device):
        return "cpu"

    @staticmethod
    def refuses(error, device):
        return isinstance(error, UnicodeError)

    @staticmethod
    def predict(call, device):
        return prediction.Estimate(made=(call(),))


@pytest.mark.parametrize(
    ("raised", "outcome", "phase", "verdict"),
    [
        (UnicodeError("no kernel for text"), "failed", "compare", "refused"),
        (ValueError("a mistake"), "skipped", None, "unknown"),
    ],
)
def test_what_the_device_refuses_between_the_calls_fails_too(raised, outcome, phase, verdict):
    phases = bytearray(1)
    forecast = prediction.PredictionObserver(OnStandIn, None, None, phases)

    def case():
        assert forecast(partial(abs, -1)) == 1
        phases[0] = PHASES.index("compare")
        raise raised

    result = forecast.result(case)
    assert (result["outcome"], result["phase"]) == (outcome, phase)
    assert result["prediction"]["verdict"] == verdict
    assert str(raised) in result["prediction"]["reason"]

"""What a trial does around the timed calls of a case."""

from __future__ import annotations

import itertools
import mmap

import pytest

from runners.core.testing.endings import Accepted, MisusedTrial
from runners.core.testing.repeats import Overwritten
from runners.core.testing.trial import Trial
from runners.fake import adapter, library


def trial_of(function, tick_ns=10):
    ticks = itertools.count(0, tick_ns)
    return Trial("fake", function, adapter, "cpu", mmap.mmap(-1, 1), lambda: next(ticks))


def test_a_call_that_changes_its_argument_fails_unless_the_case_allows_it():
    trial = trial_of(library.scale_and_overwrite)
    with pytest.raises(Overwritten, match="changed its argument"):
        trial.call(trial.tensor([1.0, 2.0]), 3.0)
    trial.writes = True
    assert trial.call(trial.tensor([1.0, 2.0]), 3.0).values == [3.0, 6.0]
    assert len(trial_of(library.scale).calls) == 0


def test_an_argument_that_is_the_output_s_place_may_change():
    def into(tensor, out):
        out.values = [2 * value for value in tensor.values]
        return out

    trial = trial_of(into)
    assert trial.call(trial.tensor([1.0]), out=trial.tensor([0.0])).values == [2.0]


def test_later_work_is_timed_apart_from_the_call():
    trial = trial_of(library.scale)
    assert trial.time_later("session", lambda: 1) == 1
    assert trial.calls == []
    trial.call(trial.tensor([1.0]), 3.0)
    before = dict(trial.calls[0]["cold"])
    assert [trial.time_later("session", lambda: 2), trial.time_later("session", lambda: 3)] == [2, 3]
    after = trial.calls[0]["cold"]
    assert {**after, "counters": {}} == {**before, "counters": {}}
    assert after["counters"] == {"session_first_ns": 10, "session_runs": 2, "session_ns": 20}


def test_the_first_calls_of_a_test_have_a_steady_state():
    trial = trial_of(library.scale, tick_ns=300_000)
    for factor in range(1, 5):
        trial.repeatable = factor > 1
        trial.call(trial.tensor([1.0]), factor)
    trial.measure_steady(1_000_000)
    assert [call["steady"] is not None for call in trial.calls] == [False, True, True, False]


class Halver:
    def halve(self, number):
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number // 2


def test_a_method_that_raises_the_named_error_is_a_check():
    trial = trial_of(Halver)
    trial.method_raises(Halver(), "halve", ["ArithmeticError", "ValueError"], "ODD", 3)
    trial.finish()
    assert (trial.checks, trial.refusals, trial.calls) == (1, 1, [])


@pytest.mark.parametrize(
    ("kind", "word", "number", "message"),
    [
        ("ValueError", "odd", 4, "got no error"),
        ("TypeError", "odd", 3, "expected TypeError, got ValueError"),
        ("ValueError", "even", 3, "expected 'even' in the message"),
    ],
)
def test_a_method_without_the_named_error_fails(kind, word, number, message):
    with pytest.raises(Accepted, match=message):
        trial_of(Halver).method_raises(Halver(), "halve", [kind], word, number)


def test_only_methods_of_the_class_under_test_may_raise():
    with pytest.raises(MisusedTrial, match="int is no instance"):
        trial_of(Halver).method_raises(3, "bit_length", ["ValueError"], "odd")
    with pytest.raises(MisusedTrial, match="Halver is no instance"):
        trial_of(len).method_raises(Halver(), "halve", ["ValueError"], "odd", 3)

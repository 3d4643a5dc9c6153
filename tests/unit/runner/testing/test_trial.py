"""What a trial does around the timed calls of a case."""

from __future__ import annotations

import itertools
import mmap

import pytest

from runners.core.testing.repeats import Overwritten
from runners.core.testing.trial import Trial
from runners.fake import adapter, library


def trial_of(function):
    ticks = itertools.count(0, 10)
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

"""The estimated remaining time and the progress display, with a clock that the tests set."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from portbench.run.eta import Eta
from portbench.run.events import Result, Started
from portbench.run.progress import Reporter
from portbench.util.text import duration

# Equal times, one long test at the end, and a mixture.
SHAPES = {"even": [2.0] * 12, "one long": [1.0] * 11 + [60.0], "mixed": [0.1, 30.0, 2.0, 0.5, 9.0, 4.0] * 2}


def passes(durations: list[float], runs: int, jitter: float = 1.0) -> Iterator[tuple[Result, float, float]]:
    """Each event with its time and the true remaining time after it."""
    total, now = sum(durations) * runs, 0.0
    for run in range(1, runs + 1):
        for number, took in enumerate(durations):
            now += took
            yield Result("f", str(number), run, "passed", 1), now, total - now


@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_is_exact_from_the_second_pass_on(shape: str) -> None:
    durations = SHAPES[shape]
    left = Eta(Started("t", len(durations), 3, 3 * len(durations), 0), 0.0)
    for event, now, true in passes(durations, 3):
        left.test_done(event, now)
        estimate = left.seconds(now)
        assert estimate is not None
        if event.run > 1:
            assert estimate == pytest.approx(true, abs=1e-6)


def test_what_is_not_timed_runs_once_after_all_passes() -> None:
    # Two timed tests of 10 s in two passes, then four others of 1 s.
    left = Eta(Started("t", 6, 2, 4 + 4, 0), 0.0)
    for now, number, run, expected in (
        (10.0, 0, 1, 70.0),  # nothing is known of the others yet
        (20.0, 1, 1, 60.0),
        (30.0, 0, 2, 50.0),
        (40.0, 1, 2, 40.0),
        (41.0, 2, 1, 3.0),
        (42.0, 3, 1, 2.0),
        (44.0, 4, 1, 4 / 3),
    ):
        left.test_done(Result("f", str(number), run, "passed", 1), now)
        assert left.seconds(now) == pytest.approx(expected)


def test_a_single_pass_may_have_tests_of_both_kinds() -> None:
    left = Eta(Started("t", 4, 1, 4, 0), 0.0)
    for number in range(3):
        left.test_done(Result("f", str(number), 1, "passed", 1), 2.0 * (number + 1))
    assert left.seconds(6.0) == pytest.approx(2.0)


def test_in_the_first_pass_the_estimate_is_within_a_factor_of_two_after_a_third_of_the_tests() -> None:
    durations = [0.5, 1.5, 1.0, 2.0, 0.5, 1.0, 1.5, 0.5, 2.0, 1.0, 0.5, 1.5]
    left = Eta(Started("t", 12, 3, 36, 0), 0.0)
    for event, now, true in passes(durations, 3):
        left.test_done(event, now)
        estimate = left.seconds(now)
        if event.run == 1 and int(event.test) >= 4:
            assert estimate is not None
            assert true / 2 < estimate < true * 2


def test_a_resumed_run_counts_only_the_remaining_tests() -> None:
    left = Eta(Started("t", 10, 3, 30, 16), 0.0)  # the first pass and 6 tests of the second are done
    for number in range(6, 10):
        left.test_done(Result("f", str(number), 2, "passed", 1), 3.0 * (number - 5))
    assert left.seconds(12.0) == pytest.approx(30.0)
    left.test_done(Result("f", "0", 3, "passed", 1), 15.0)
    assert left.seconds(15.0) == pytest.approx(27.0)


def test_there_is_no_estimate_before_the_first_result_and_zero_at_the_end() -> None:
    left = Eta(Started("t", 1, 1, 1, 0), 0.0)
    assert left.seconds(5.0) is None
    left.test_done(Result("f", "0", 1, "passed", 1), 6.0)
    assert left.seconds(6.0) == 0.0


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations_are_written_for_a_person(seconds: float, words: str) -> None:
    assert duration(seconds) == words


class Screen:
    """A reporter that writes to memory and reads a clock that tests set."""

    def __init__(self, terminal: bool) -> None:
        self.now = 0.0
        self.written = io.StringIO()
        console = Console(file=self.written, force_terminal=terminal, width=160, color_system=None)
        self.reporter = Reporter(console, console, clock=lambda: self.now)


def test_without_a_terminal_a_line_is_printed_every_ten_seconds() -> None:
    screen = Screen(terminal=False)
    with screen.reporter.display("fake-1.0.0-cpu") as display:
        display.show(Started("fake-1.0.0-cpu", 100, 1, 100, 0))
        for number in range(50):
            screen.now += 1.0
            outcome = "timed_out" if number % 10 == 9 else "passed"
            display.show(Result(f"fake.f{number}", "t", 1, outcome, 1))
            display.show(None)
    lines = screen.written.getvalue().splitlines()
    assert lines[0] == "fake-1.0.0-cpu: 0/100"
    assert lines[-1] == "fake-1.0.0-cpu: 50/100, 45 passed, 5 timed out, fake.f49, 50 s left"
    assert len(lines) == 6


def test_at_a_terminal_a_bar_shows_counts_function_and_remaining_time() -> None:
    screen = Screen(terminal=True)
    with screen.reporter.display("fake-1.0.0-cpu") as display:
        display.show(Started("fake-1.0.0-cpu", 4, 1, 4, 0))
        screen.now = 2.0
        display.show(Result("fake.[bold]cat", "t", 1, "passed", 1))
        screen.now = 4.0
        display.show(Result("fake.\x1b[2Jdog", "t", 1, "failed", 1))
    shown = screen.written.getvalue()
    for words in ("2/4", "1 passed 1 failed", "4 s left", "fake."):
        assert words in shown
    assert "\x1b[2J" not in shown


def test_at_a_terminal_two_targets_have_a_bar_each() -> None:
    screen = Screen(terminal=True)
    with screen.reporter.display("fake-1.0.0-tpu-v3") as first, screen.reporter.display("fake-1.0.0-tpu-v5e") as second:
        first.show(Started("fake-1.0.0-tpu-v3", 4, 1, 4, 3))
        second.show(Started("fake-1.0.0-tpu-v5e", 5, 1, 5, 2))
        second.note("warning: it is slow")
    shown = screen.written.getvalue()
    assert "fake-1.0.0-tpu-v5e: warning: it is slow" in shown
    last = shown[shown.rindex("fake-1.0.0-tpu-v3") :]
    assert "3/4" in last and "fake-1.0.0-tpu-v5e" not in last
    # Both bars follow the message, in one block.
    block = shown[shown.index("it is slow") : shown.rindex("fake-1.0.0-tpu-v3")]
    assert "fake-1.0.0-tpu-v3" in block and "fake-1.0.0-tpu-v5e" in block

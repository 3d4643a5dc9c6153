"""A comparison as data for JSON, as schema/comparison.schema.json describes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from portbench.analysis.configurations import Configuration
from portbench.analysis.intervals import Interval
from portbench.compare.comparison import Comparison, DevicesComparison, PairComparison
from portbench.compare.conditions import Condition, findings
from portbench.compare.facts import Key
from portbench.compare.outcomes import NotCompared, TestChange
from portbench.compare.times import TestLatency, Times
from portbench.study.summary import Row


def as_data(comparison: Comparison, conditions: Iterable[Condition] = ()) -> dict[str, Any]:
    """The comparison, and the tests for which each condition holds."""
    return {
        "schema": "portbench/comparison",
        "schema_version": 2,
        "minimum_effect": comparison.limits.effect,
        "false_discovery_rate": comparison.limits.alpha,
        "conditions": [
            {
                "condition": str(condition),
                "tests": [
                    {"first": _side(found.pair.first), "second": _side(found.pair.second), **_key(found.key)}
                    for found in findings(condition, comparison)
                ],
            }
            for condition in conditions
        ],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "devices": [_devices(found) for found in comparison.devices],
        "unpaired": [
            {"side": _side(each.side), "study": "first" if each.is_first else "second", "reason": each.reason}
            for each in comparison.unpaired
        ],
    }


def _pair(pair: PairComparison) -> Row:
    found = pair.outcomes
    return {
        "first": _side(pair.first),
        "second": _side(pair.second),
        "first_runs": pair.first_runs,
        "second_runs": pair.second_runs,
        "drift": [asdict(entry) | {"first": list(entry.first), "second": list(entry.second)} for entry in pair.drift],
        "compared_tests": found.compared,
        "new_failures": _changes(found.new_failures),
        "new_passes": _changes(found.new_passes),
        "new_wrong_values": _changes(found.new_wrong),
        "category_changes": _changes(found.categories),
        "placement_changes": _changes(found.placements),
        "flaky": _changes(found.flaky),
        "not_run": _changes(found.not_run),
        "functions": [asdict(entry) | {"successor_of": entry.successor_of or None} for entry in found.functions],
        "not_compared": _not_compared(found.not_compared),
        "latency": {times.protocol: _times(times) for times in (pair.steady, pair.cold)},
    }


def _times(times: Times) -> Row:
    return {
        "geometric_mean_ratio": times.ratio,
        "interval": _interval(times.interval),
        "median_ratio": times.median_ratio,
        "covers_noise_between_runs": times.has_run_variance,
        "tests": [_latency(test) for test in times.tests],
        "not_compared": _not_compared(times.not_compared),
    }


def _latency(test: TestLatency) -> Row:
    return {
        **_key(test.key),
        "first_ns": test.first_ns,
        "second_ns": test.second_ns,
        "first_runs": test.first_runs,
        "second_runs": test.second_runs,
        "ratio": test.ratio,
        "interval": _interval(test.interval),
        "p": test.p,
        "q": test.q,
        "verdict": test.verdict,
    }


def _devices(found: DevicesComparison) -> Row:
    what = found.difference
    return {
        "here": {"first": _side(found.here[0]), "second": _side(found.here[1])},
        "there": {"first": _side(found.there[0]), "second": _side(found.there[1])},
        "failing_here_only": [_key(key) for key in what.failing_here_only],
        "failing_there_only": [_key(key) for key in what.failing_there_only],
        "failing_on_both": [_key(key) for key in what.failing_on_both],
        "timed_tests": what.timed,
        "tests_without_noise": what.without_noise,
        "latencies": [
            {
                **_key(each.key),
                "ratio_here": each.ratio,
                "ratio_there": each.other_ratio,
                "ratio_of_ratios": each.ratio_of_ratios,
                "interval": _interval(each.interval),
                "q": each.q,
            }
            for each in what.latencies
        ],
    }


def _side(side: Configuration) -> Row:
    target = {"framework": side.framework, "version": side.version, "device": side.device}
    return {"target": target, "machine": side.machine, "sync": side.sync}


def _changes(changes: Iterable[TestChange]) -> list[Row]:
    return [
        {**_key(change.key), "before": change.before, "after": change.after, "evidence": change.evidence}
        for change in changes
    ]


def _not_compared(entries: Iterable[NotCompared]) -> list[Row]:
    return [{**_key(entry.key), "reason": entry.reason} for entry in entries]


def _key(key: Key) -> Row:
    return {"function": key.function, "successor_of": key.successor_of or None, "test": key.test}


def _interval(interval: Interval | None) -> Row | None:
    return {"low": interval.low, "high": interval.high} if interval else None

"""Older versions of the formats: a valid document of one becomes a document of the present version.

The names of fields and values changed in version 4 of run files and version 5 of studies. With them upgraded,
the rest of the code knows the present version only. Comparisons are not upgraded, because no command reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Data = dict[str, Any]

RENAMED_COLUMNS = {
    "numbers": "value_verdict",
    "proof": "sync_check",
    "control": "cpu_control",
    "strict": "full_precision",
}
"""The fields of a result, and columns of the table results, up to version 3 of run files and version 4 of studies."""

RENAMED_SYNC = {"study": "as-published"}
"""The values of ``sync`` up to those versions."""

_RENAMED_STATUSES = {"pass": "all_pass", "partial": "some_fail", "complete": "all_fail", "none": "not_testable"}
_RENAMED_IN_FUNCTION = {
    "tests_by_numbers": "tests_by_value_verdict",
    "tests_by_control": "tests_by_cpu_control",
    "tests_by_strict": "tests_by_full_precision",
    "unproven_tests": "tests_with_failed_sync_check",
}
_COMPLETE = "complete"


RENAMED_CATEGORIES = {"unavailable": "removed"}
"""The categories up to those versions: the function is not in the version of the framework."""


def upgrade(kind: str, data: Data) -> Data:
    """The document as the present version writes it; changes ``data``. A document of that version stays as it is.

    Expects a document that fits the schema of its own version. Fields that its version lacks are not added, except for
    ``sync``, which was complete, and ``cold``, which was test.
    """
    steps = _STEPS.get(kind, {})
    while step := steps.get(data["schema_version"]):
        step(data)
    return data


def _run_4(run: Data) -> None:
    protocol = run["protocol"]
    protocol["sync"] = _sync(protocol)
    for result in run["results"]:
        _rename(result, RENAMED_COLUMNS)
        result["category"] = RENAMED_CATEGORIES.get(result["category"], result["category"])
    run["schema_version"] = 4


def _run_5(run: Data) -> None:
    run["protocol"].setdefault("cold", "test")
    run["schema_version"] = 5


def _run_6(run: Data) -> None:
    run["schema_version"] = 6


def _run_7(run: Data) -> None:
    run["schema_version"] = 7


def _study_5(study: Data) -> None:
    for entry in (*study["run_files"], *study["targets"], *study.get("overruled", ())):
        entry["sync"] = _sync(entry)
    for target in study["targets"]:
        _rename(target, {"proofs": "sync_checks"})
        _rename(target["functions_by_status"], _RENAMED_STATUSES)
        if target["percent_of_rated_functions"]:
            _rename(target["percent_of_rated_functions"], _RENAMED_STATUSES)
        for function in target["functions"]:
            function["status"] = _RENAMED_STATUSES[function["status"]]
            _rename(function, _RENAMED_IN_FUNCTION)
            _rename(function["tests_by_category"], RENAMED_CATEGORIES)
            for test in function.get("wrong_values", ()):
                _rename(test, {"control": "cpu_control"})
    study["schema_version"] = 5


def _rename(entry: Data, names: Mapping[str, str]) -> None:
    for old, new in names.items():
        if old in entry:
            entry[new] = entry.pop(old)


def _sync(entry: Data) -> str:
    recorded: str = entry.get("sync", _COMPLETE)
    return RENAMED_SYNC.get(recorded, recorded)


_STEPS: Mapping[str, Mapping[int, Callable[[Data], None]]] = {
    "run": {**dict.fromkeys((1, 2, 3), _run_4), 4: _run_5, 5: _run_6, 6: _run_7},
    "study": dict.fromkeys((1, 2, 3, 4), _study_5),
}

"""Reads run files of the protocol scaling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from portbench.errors import BadInput
from portbench.formats.documents import files_below, read_document
from portbench.run.failures import failed_tests
from portbench.run.model import SCALING
from portbench.scaling.model import Family, Point, Scaling, Side
from portbench.study.model import RunFile, TargetKey
from portbench.util.strict_json import read_json, shown
from portbench.util.text import escape_control

Data = Mapping[str, Any]

_SIZE = re.compile(r"\[n=\d+\]\Z|,n=\d+(?=\]\Z)")
"""The size in the id of a test, with the brackets where it is alone."""


def read_scaling(paths: Iterable[Path]) -> Scaling:
    """The results of run files, and of those among the files of folders that were run with --protocol scaling. Several
    run files of one target, machine and synchronization are runs of the same tests.

    Raises BadInput for a file that is no such run file, for paths without one, and for one manifest's name with two
    contents; StorageFailed.
    """
    given = list(paths)
    documents = [document for path in given for document in _documents(path)]
    if not documents:
        names = ", ".join(shown(path) for path in given)
        raise BadInput(
            f"{names}: no run file of the protocol scaling there",
            "Write one: portbench run TARGET --protocol scaling",
        )
    _check_contents(documents)
    by_key: dict[TargetKey, list[Data]] = {}
    for _, data in documents:
        by_key.setdefault(RunFile.from_document(data, "").key, []).append(data)
    return Scaling(sorted((_side(key, runs) for key, runs in by_key.items()), key=lambda side: side.order))


def _documents(path: Path) -> Iterator[tuple[Path, Data]]:
    if not path.is_dir():
        document = read_document(path, "run")
        if not _is_scaling(document.data):
            name = document.data["protocol"]["name"]
            raise BadInput(
                f"{shown(path)}: $.protocol.name: expected {SCALING!r}, found {name!r}",
                "'portbench report' shows such results.",
            )
        yield path, document.data
        return
    for file in files_below(path, (".json",)):
        if _is_scaling(read_json(file).data):
            yield file, read_document(file, "run").data


def _is_scaling(data: Any) -> bool:
    protocol = data.get("protocol") if isinstance(data, dict) and data.get("schema") == "portbench/run" else None
    return isinstance(protocol, dict) and protocol.get("name") == SCALING


def _check_contents(documents: Sequence[tuple[Path, Data]]) -> None:
    known: dict[str, tuple[str, Path]] = {}
    for path, data in documents:
        manifest = data["manifest"]
        digest, where = known.setdefault(manifest["name"], (manifest["sha256"], path))
        if digest != manifest["sha256"]:
            raise BadInput(
                f"manifest {escape_control(manifest['name'])} has two contents: sha256 {digest} in {shown(where)}, "
                f"{manifest['sha256']} in {shown(path)}",
                "Give run files of one content, or give the changed manifest a name of its own and run it again.",
            )


def _side(key: TargetKey, runs: Sequence[Data]) -> Side:
    results: dict[Family, dict[int, list[Data]]] = {}
    for run in runs:
        for result in run["results"]:
            size = result.get("size")
            if size is not None:
                family = Family(
                    result.get("successor_of") or result["function"], _SIZE.sub("", result["test"]), size["of"]
                )
                results.setdefault(family, {}).setdefault(size["n"], []).append(result)
    points = {family: [_point(n, found[n]) for n in sorted(found)] for family, found in results.items()}
    device = runs[-1]["environment"]["device"]
    return Side(key, points, _number(device, "peak_bytes_per_s"), _number(device, "peak_flops_per_s"))


def _number(facts: Data, name: str) -> float | None:
    found = facts.get(name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) and found > 0 else None


def _point(n: int, results: Sequence[Data]) -> Point:
    size = results[0]["size"]
    failed = next((result for result in results if result["outcome"] != "passed"), None)
    why = failed_tests({"results": results})
    timed = [_steady(result) for result in results] if all(map(_has_time, results)) else []
    runs_ns = (sum(median(_calls_ns(call)) for call in calls) for calls in timed)
    prediction = results[0].get("prediction") or {}
    return Point(
        n=n,
        runs_ns=tuple(ns for ns in runs_ns if ns > 0),
        bytes=size["bytes"] or prediction.get("bytes") or None,
        flops=size["flops"] or prediction.get("flops") or None,
        roofline_ns=prediction.get("roofline_ns"),
        is_stable=all(call["stable"] for calls in timed for call in calls),
        outcome=failed["outcome"] if failed else "passed",
        message=why[0].message if why else (failed and failed["reason"]) or "",
    )


def _has_time(result: Data) -> bool:
    """Whether the function's work was done: with the right values, or in a coarser precision than asked for."""
    return result["outcome"] == "passed" or (result["category"] == "precision" and bool(_steady(result)))


def _steady(result: Data) -> list[Data]:
    return [call["steady"] for call in result["calls"] if call["steady"]]


def _calls_ns(steady: Data) -> list[float]:
    return [ns / steady["calls_per_block"] for ns in steady["block_ns"]]

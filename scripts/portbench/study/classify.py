"""Derives the categories of a study's failures again from the stored facts, by today's rules and by annotations.

Outcomes never change, nor does the category ``removed``, which is a fact. The tables keep the category that the
runner recorded, and mark a category that an annotation decided with the annotation's reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.study import store as studies
from portbench.study.categories import Error, Rules
from portbench.study.document import ClassificationDigests
from portbench.study.failures import Row, failures_of, put
from portbench.study.parquet import VIEWS, tables_name, write_part
from portbench.study.store import Study
from portbench.study.summary import analyse, runs_of, summarise
from portbench.study.tables_check import reading
from portbench.util.sql import load_sql
from portbench.util.strict_json import shown

_NOTHING = "no category"
_CLASSES = {
    "category": "VARCHAR",
    "recorded_category": "VARCHAR",
    "overruled": {"category": "VARCHAR", "reason": "VARCHAR", "link": "VARCHAR"},
}


@dataclass(frozen=True)
class Annotations:
    """The entries of a file of annotations, in order, and the SHA-256 of its bytes; empty without a file."""

    entries: Sequence[dict[str, Any]] = ()
    sha256: str | None = None

    def of(self, failure: Row) -> int | None:
        """The position of the first annotation that matches a failure."""
        named = ("function", "test", "fingerprint")
        matching = (
            position
            for position, entry in enumerate(self.entries)
            if all(entry[name] == failure[name] for name in named if name in entry)
        )
        return next(matching, None)


@dataclass(frozen=True)
class Cause:
    """Failures with one fingerprint. ``example`` is one of their tests and its message."""

    fingerprint: str
    cause: str
    results: int
    tests: int
    functions: tuple[str, ...]
    example: str


@dataclass(frozen=True)
class Classification:
    """The derived categories. ``changes`` counts results by (recorded, new) category where these differ; ``other`` has
    the causes without a category, the most frequent first; ``unused`` are positions of annotations without a match."""

    failures: int
    changes: dict[tuple[str, str], int]
    overruled: int
    unused: tuple[int, ...]
    other: tuple[Cause, ...]
    rows: tuple[Row, ...] = field(repr=False)


def read_annotations(path: Path | None) -> Annotations:
    """Reads a file of annotations. Raises BadInput if it is not valid."""
    if path is None:
        return Annotations()
    document = read_document(path, "annotations")
    return Annotations(document.data["annotations"], document.sha256)


def frameworks_of(study: Study) -> list[str]:
    """The sorted names of the frameworks of a study."""
    return sorted({run.target.framework for run in runs_of(study.summary)})


def classify(study: Study, rules: Rules, annotations: Annotations) -> Classification:
    """Derives the categories of all failures of a study; writes nothing. Raises BadInput if its tables are damaged."""
    with reading(study.tables), studies.connect() as connection:
        studies.create_views(connection, study.tables)
        # The study may be classified already.
        connection.execute(load_sql("study", "recorded_results"))
        rows = failures_of(connection, "recorded_results", "category IS DISTINCT FROM 'removed'")
    used: set[int] = set()
    for row in rows:
        by_rules = rules.category(
            row["framework"], row["outcome"], _error(row), bool(row["oom_killed"]), row["value_verdict"]
        )
        position = annotations.of(row)
        row |= {"recorded_category": row["category"], "category": by_rules, "overruled": None}
        if position is not None:
            used.add(position)
            entry = annotations.entries[position]
            overruled = {"category": by_rules, "reason": entry["reason"], "link": entry.get("link")}
            row |= {"category": entry["category"], "overruled": overruled}
    return Classification(
        failures=len(rows),
        changes=dict(
            Counter(
                (row["recorded_category"] or _NOTHING, row["category"])
                for row in rows
                if row["recorded_category"] != row["category"]
            )
        ),
        overruled=sum(row["overruled"] is not None for row in rows),
        unused=tuple(position for position in range(len(annotations.entries)) if position not in used),
        other=_by_cause(row for row in rows if row["category"] == "other"),
        rows=tuple(rows),
    )


def write(study: Study, found: Classification, rules: Rules, annotations: Annotations, out: Path) -> Study:
    """Writes a study with these categories to ``out``: a new folder, or ``study`` itself.

    Raises BadInput if ``out`` is not empty and not a study of the same run files, StorageFailed if it cannot be
    written. After an error ``out`` is as it was.
    """
    runs = runs_of(study.summary)
    classification: ClassificationDigests = {"rules_sha256": rules.sha256, "annotations_sha256": annotations.sha256}
    digests = sorted(run.sha256 for run in runs)
    name = tables_name([*digests, *(f"{kind} {digest}" for kind, digest in classification.items())])
    with studies.lock(out):
        there = studies.read_study(out) if studies.is_study(out) else None
        if there:
            if sorted(run.sha256 for run in runs_of(there.summary)) != digests:
                raise BadInput(f"{shown(out)} is a study of other run files", "Give a new folder, or the study itself.")
            if there.tables.name == name:
                # These tables exist already; tables are never replaced by others with the same name.
                return there
        with studies.staging(out, there) as staged:
            tables = staged / name
            tables.mkdir()
            with studies.connect(spill=staged / "spill") as connection:
                studies.create_views(connection, study.tables)
                put(connection, "classes", _CLASSES, found.rows)
                put(connection, "named", {"fingerprint": "VARCHAR", "cause": "VARCHAR"}, found.rows)
                connection.execute(load_sql("study", "classified_results"))
                write_part(connection, tables, "classified", {**VIEWS, "results": "classified_results"})
            with studies.connect(spill=staged / "spill") as connection:
                studies.create_views(connection, tables)
                analyse(connection)
                summary = summarise(connection, runs, name, classification=classification)
            return studies.publish(out, tables, *studies.split(summary))


def _by_cause(rows: Iterable[Row]) -> tuple[Cause, ...]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["framework"], row["fingerprint"]), []).append(row)
    found = []
    for (_, fingerprint), group in groups.items():
        first = min(group, key=lambda row: (row["function"], row["test"], row["run_id"], row["run"]))
        found.append(
            Cause(
                fingerprint=fingerprint,
                cause=first["cause"],
                results=len(group),
                tests=len({(row["function"], row["test"]) for row in group}),
                functions=tuple(sorted({row["function"] for row in group})),
                example=f"{first['function']} {first['test']}: {first['error_message'] or first['outcome']}",
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.tests, -one.results, one.fingerprint)))


def _error(row: Row) -> Error | None:
    if row["error_type"] is None:
        return None
    causes = tuple((cause["type"], cause["message"]) for cause in row["error_causes"] or ())
    return Error(row["error_type"], row["error_message"] or "", causes)

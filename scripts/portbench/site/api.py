"""The JSON documents of a site, below api/v1/: what the pages show, for programs. Each fits schema/site.schema.json.

Addresses in them are relative to the root of the site. Text is as it was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from portbench.page.packing import rounded
from portbench.site.changes import Changed
from portbench.site.model import Cause, Cell, Entry, SiteFunction, SiteTarget
from portbench.site.names import framework_slug, function_slug
from portbench.study.summary import STATUSES

ROOT = "api/v1"
VERSION = 1

Document = dict[str, Any]


def index_document(title: str, targets: Sequence[SiteTarget], frameworks: Sequence[str]) -> Document:
    """What the site has: frameworks and targets with the addresses of their documents."""
    return _document("index") | {
        "title": title,
        "frameworks": [
            {"framework": name, "page": f"{framework_slug(name)}/index.html", "functions": functions_address(name)}
            for name in frameworks
        ],
        "targets": [_summary(target) for target in targets],
    }


def functions_document(framework: str, targets: Sequence[SiteTarget], entries: Sequence[Entry]) -> Document:
    """All functions of a framework with their statuses, in the order of ``targets``; null: not in the study."""
    return _document("functions") | {
        "framework": framework,
        "targets": [target.slug for target in targets],
        "functions": [
            {
                "function": entry.name,
                "document": function_address(framework, entry.name),
                "uses": entry.uses,
                "statuses": [entry.by_target.get(target.number, (None,))[0] for target in targets],
            }
            for entry in entries
        ],
    }


def function_document(function: SiteFunction) -> Document:
    """Everything that a function's page shows, and all of its causes."""
    return _document("function") | {
        "framework": function.framework,
        "function": function.name,
        "page": f"{function.address}/index.html",
        "badge": f"{function.address}/badge.svg",
        "uses": function.uses,
        "decile": function.decile,
        "top20": function.top20,
        "listed_as": function.listed_as,
        "targets": [_cell(cell) for cell in function.cells],
        "causes": [_cause(cause) for cause in function.causes],
    }


def target_document(target: SiteTarget, former: SiteTarget | None, found: Sequence[Changed]) -> Document:
    """The rates of a target, its run files, and what changed since the version before it."""
    return _document("target") | {
        "about": _summary(target),
        "badge": f"badges/{target.slug}.svg",
        "environment": [{"fact": word, "value": text} for word, text in target.facts],
        "run_files": [
            {name: run[name] for name in ("run_id", "manifest", "protocol", "started_at", "ended_at")}
            for run in target.runs
        ],
        "former": former.slug if former else None,
        "changes": [
            {"function": change.function.name, "before": change.before, "after": change.after} for change in found
        ],
    }


def functions_address(framework: str) -> str:
    """The address of the list of a framework's functions."""
    return f"{ROOT}/{framework_slug(framework)}/functions.json"


def function_address(framework: str, name: str) -> str:
    """The address of a function's document."""
    return f"{ROOT}/{framework_slug(framework)}/{function_slug(name)}.json"


def target_address(target: SiteTarget) -> str:
    """The address of a target's document."""
    return f"{ROOT}/targets/{target.slug}.json"


def _document(kind: str) -> Document:
    return {"schema": "portbench/site", "schema_version": VERSION, "kind": kind}


def _summary(target: SiteTarget) -> Document:
    side = target.side
    return {
        "id": target.slug,
        "document": target_address(target),
        "target": {"framework": side.framework, "version": side.version, "device": side.device},
        "machine": side.machine,
        "sync": side.sync,
        "model": target.model,
        "evidence": target.evidence,
        "collected": target.is_collected,
        "page": f"targets/{target.slug}/index.html",
        "functions_by_status": {status: target.counts.get(status, 0) for status in STATUSES},
        "all_pass_percent": rounded(target.percent),
        "ran_at": target.ran_at or None,
    }


def _cell(cell: Cell) -> Document:
    return {
        "id": cell.target.slug,
        "evidence": cell.target.evidence,
        "collected": cell.target.is_collected,
        "successor_of": cell.successor_of or None,
        "status": cell.status,
        "tests": {"passed": cell.passed, "ran": cell.ran, "all": cell.tests},
        "categories": list(cell.categories),
        "marks": list(cell.marks),
        "tests_by_placement": dict(cell.placements),
        "cold_mean_ns": rounded(cell.cold_ns),
        "steady_median_ns": rounded(cell.steady_ns),
        "ran_at": cell.ran_at or None,
        "prediction": asdict(cell.prediction) if cell.prediction else None,
    }


def _cause(cause: Cause) -> Document:
    return {
        "fingerprint": cause.fingerprint,
        "category": cause.category,
        "cause": cause.cause,
        "message": cause.message,
        "evidence": "predicted" if cause.part.is_predicted else "measured",
        "collected": cause.part.is_collected,
        "targets": [target.slug for target in cause.targets],
        "tests": cause.tests,
        "command": cause.command or None,
        "notes": list(cause.notes),
    }

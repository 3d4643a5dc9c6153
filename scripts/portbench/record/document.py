"""The verdict as data, as schema/verdict.schema.json describes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from portbench import __version__
from portbench.formats.schemas import VERSIONS
from portbench.record.model import Finding, TargetVerdict, Verdict
from portbench.record.sentences import headline

Data = dict[str, Any]


def document(verdicts: Sequence[Verdict]) -> Data:
    """The document of ``portbench verdict --json``."""
    return {
        "schema": "portbench/verdict",
        "schema_version": VERSIONS["verdict"],
        "portbench": __version__,
        "recordings": [_recording(each) for each in verdicts],
    }


def as_json(verdicts: Sequence[Verdict]) -> str:
    """The document as text."""
    return json.dumps(document(verdicts), indent=1, ensure_ascii=False, allow_nan=False)


def _recording(verdict: Verdict) -> Data:
    manifest = verdict.manifest
    return {
        "framework": verdict.framework,
        "version": manifest.data.get("written_for"),
        "program": manifest.data["recorded"]["program"],
        "manifest": {"name": manifest.data["name"], "sha256": manifest.sha256},
        "all": vars(verdict.all),
        "left_out": vars(verdict.left_out),
        "targets": [_target(verdict, target) for target in verdict.targets],
    }


def _target(verdict: Verdict, target: TargetVerdict) -> Data:
    return {
        "target": target.run.data["target"],
        "predicted": target.is_predicted,
        "run_id": target.run.data["run_id"],
        "headline": headline(verdict, target),
        "shares": {name: vars(share) for name, share in target.shares.items()},
        "functions": [_function(finding) for finding in target.findings],
        "running": list(target.running),
        "programs": [vars(program) | {"sites": list(program.sites)} for program in target.programs],
    }


def _function(finding: Finding) -> Data:
    return {
        "function": finding.function,
        "verdict": finding.verdict,
        "category": finding.category,
        "calls": finding.share.calls,
        "seconds": finding.share.seconds,
        "message": finding.message,
        "sites": finding.sites,
        "tests": finding.tests,
        "advice": [
            {
                "instead": advice.successor.instead,
                "if": advice.successor.condition or None,
                "known": advice.known,
                "source": advice.successor.source,
            }
            for advice in finding.advice
        ],
    }

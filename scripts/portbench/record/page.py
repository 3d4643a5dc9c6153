"""The verdict as a page: one file that works from disk, needs no network and no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from portbench.devices import PREDICTED_MARK
from portbench.page.policy import policy
from portbench.record.model import VERDICTS, TargetVerdict, Verdict
from portbench.record.sentences import (
    MEANINGS,
    NOT_INDEPENDENT,
    caveats,
    headline,
    percent,
    program_line,
    summary,
    version_note,
)
from portbench.util.text import escape_control, pluralize


def as_page(verdicts: Sequence[Verdict]) -> str:
    """The page of these verdicts, as HTML."""
    folder = resources.files("portbench.record") / "assets"
    style = (folder / "verdict.css").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((folder / "verdict.html.j2").read_text("utf-8")).render(
        policy=policy([], [style]),
        style=Markup(style),
        recordings=[_recording(number, verdict) for number, verdict in enumerate(verdicts)],
        meanings=MEANINGS,
        reference=NOT_INDEPENDENT,
    )


def _recording(number: int, verdict: Verdict) -> dict[str, Any]:
    recorded = verdict.manifest.data["recorded"]
    return {
        "program": escape_control(recorded["program"]),
        "framework": verdict.framework,
        "version": verdict.manifest.data.get("written_for", ""),
        "summary": summary(verdict.manifest),
        "caveats": [escape_control(sentence) for sentence in caveats(verdict)],
        "targets": [_target(f"t{number}-{place}", verdict, each) for place, each in enumerate(verdict.targets)],
    }


def _target(name: str, verdict: Verdict, target: TargetVerdict) -> dict[str, Any]:
    shares = list(_shares(verdict, target))
    return {
        "id": name,
        "name": target.target,
        "mark": PREDICTED_MARK.strip() if target.is_predicted else "",
        "headline": headline(verdict, target),
        "note": version_note(verdict, target),
        "shares": shares,
        "total": sum(each["width"] for each in shares) or 1,
        "findings": [
            {
                "function": finding.function,
                "verdict": finding.verdict,
                "category": (finding.category or "").replace("_", " "),
                "calls": f"{finding.share.calls:,}",
                "time": percent(finding.share, verdict.all),
                "message": escape_control(" ".join(finding.message.split())),
                "sites": [escape_control(site) for site in finding.sites],
                "advice": finding.advice,
            }
            for finding in target.findings
        ],
        "running": target.running,
        "programs": [
            {
                "line": escape_control(program_line(program)),
                "verdict": program.verdict,
                "message": escape_control(" ".join(program.message.split())),
                "sites": [escape_control(site) for site in program.sites],
            }
            for program in target.programs
        ],
    }


def _shares(verdict: Verdict, target: TargetVerdict) -> Iterator[dict[str, Any]]:
    place = 0
    for name in VERDICTS:
        share = target.shares[name]
        if share.calls:
            width = _width(target, verdict, name)
            time = percent(share, verdict.all)
            yield {
                "verdict": name,
                "calls": pluralize(share.calls, "call"),
                "time": time,
                "from": place,
                "width": width,
            }
            place += width


def _width(target: TargetVerdict, verdict: Verdict, name: str) -> int:
    """The share in thousandths of the width: of the time or, where none was recorded, of the calls."""
    share, all_ = target.shares[name], verdict.all
    part = share.seconds / all_.seconds if all_.seconds else share.calls / max(all_.calls, 1)
    return max(1, round(1000 * part))

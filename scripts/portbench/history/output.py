"""A history as JSON, and the files that a history is written to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from portbench.figures.style import style
from portbench.history.changes import History
from portbench.history.figure import NAME, draw
from portbench.history.tables import tables
from portbench.tables.as_markdown import markdown_lines
from portbench.util.files import write_bytes, write_text
from portbench.util.markdown import plain


def as_data(history: History) -> Mapping[str, Any]:
    """The history as a JSON object: each version with its functions by status, or the reason why it did not run."""
    return {
        "framework": history.framework,
        "device": history.device,
        "manifest": history.manifest,
        "versions": [
            {
                "version": each.run.version,
                "released": each.run.date or None,
                "python": each.run.python or None,
                "not_run": each.run.missing or None,
                "functions_by_status": dict(each.counts),
                "functions": dict(each.statuses),
            }
            for each in history.versions
        ],
        "changes": [asdict(change) for change in history.changes],
    }


def write(history: History, folder: Path) -> list[Path]:
    """Writes history.json, history.md with all tables and, if a version ran, the figure as history.svg and history.png.

    Returns the files. The same history gives the same bytes. Raises StorageFailed.
    """
    title = f"{history.framework} on {history.device}, from version to version"
    lines = [f"# {plain(title)}", ""]
    files = []
    if history.ran:
        with style():
            drawing = draw(history)
            for suffix, content in (("svg", drawing.svg()), ("png", drawing.png())):
                files.append(folder / f"{NAME}.{suffix}")
                write_bytes(files[-1], content)
        lines += [f"![{plain(drawing.title)}]({NAME}.svg)", "", plain(drawing.caption, limit=None), ""]
    for table in tables(history):
        lines += [*markdown_lines(table, 2), ""]
    files += [folder / f"{NAME}.md", folder / f"{NAME}.json"]
    write_text(files[-2], "\n".join(lines).rstrip("\n") + "\n")
    write_text(files[-1], json.dumps(as_data(history), indent=1) + "\n")
    return files

"""Writes the verdict to a folder: index.html, verdict.md and verdict.json."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from portbench.record.document import as_json
from portbench.record.markdown import as_markdown
from portbench.record.model import Verdict
from portbench.record.page import as_page
from portbench.util.files import write_text
from portbench.util.owned_folder import Kind, replacing

_VERDICT = Kind("verdict", re.compile(r"index\.html|verdict\.(md|json)"))


def write_verdict(verdicts: Sequence[Verdict], folder: Path) -> Path:
    """Writes the files in place of an earlier verdict there; returns the page. Raises BadInput where the folder holds
    files of somebody else, StorageFailed where it cannot be written."""
    with replacing(folder, _VERDICT) as staged:
        write_text(staged / "index.html", as_page(verdicts))
        write_text(staged / "verdict.md", as_markdown(verdicts))
        write_text(staged / "verdict.json", as_json(verdicts) + "\n")
    return folder / "index.html"

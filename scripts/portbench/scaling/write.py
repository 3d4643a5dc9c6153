"""The files of a report of time against size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from portbench.figures.style import style
from portbench.scaling.crossover import Pair
from portbench.scaling.figure import drawings
from portbench.scaling.model import Scaling
from portbench.scaling.tables import all_tables, points_table, sentences
from portbench.tables.as_csv import as_csv
from portbench.tables.as_markdown import markdown_lines
from portbench.util.files import write_bytes, write_text
from portbench.util.markdown import plain
from portbench.util.owned_folder import Kind, replacing

TEXT, POINTS = "scaling.md", "scaling.csv"
_KIND = Kind("report of sizes", re.compile(r"scaling\.(?:md|csv)|figures/[\w-][\w.-]*"))


def write_scaling(scaling: Scaling, pairs: Sequence[Pair], folder: Path) -> list[Path]:
    """Writes scaling.md, scaling.csv with every point, and figures/ into ``folder``: all of them, or none. They take
    the place of an earlier report's; other files stay. Returns the files.

    Raises BadInput for a folder with files that is no such report; StorageFailed.
    """
    with replacing(folder, _KIND) as staged:
        figures: list[Path] = []
        lines = list(_text(scaling, pairs))
        with style():
            for drawing in drawings(scaling):
                for suffix, content in (("svg", drawing.svg()), ("png", drawing.png())):
                    figures.append(Path("figures", f"{drawing.name}.{suffix}"))
                    write_bytes(staged / figures[-1], content)
                title = plain(drawing.title)
                lines += [f"## {title}", "", f"![{title}](figures/{drawing.name}.svg)", ""]
                lines += [plain(drawing.caption, limit=None), "", *(f"- {plain(each)}" for each in drawing.details), ""]
        write_text(staged / TEXT, "\n".join(lines))
        write_text(staged / POINTS, as_csv(points_table(scaling)))
    return [folder / TEXT, folder / POINTS, *(folder / figure for figure in figures)]


def _text(scaling: Scaling, pairs: Sequence[Pair]) -> Iterator[str]:
    yield from ("# Time against size", "")
    yield from (f"- {plain(sentence, limit=None)}" for sentence in sentences(scaling, pairs))
    yield from ("", f"[Every point]({POINTS}) is in a file of its own.", "")
    for table in all_tables(scaling, pairs):
        yield from markdown_lines(table, level=2)

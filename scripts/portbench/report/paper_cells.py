"""The table of a report on the paper's own raw data: the cells of its tables that differ from what these give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from portbench.analysis.paper_cells import PaperCell, agreement
from portbench.tables.model import Table, texts


def differing_cells(cells: Sequence[PaperCell]) -> Iterator[Table]:
    """The cells that differ, each with a letter for its reason; the note has the reasons. No table where a study has
    none of the paper's measurements."""
    if not cells:
        return
    different = [cell for cell in cells if not cell.agrees]
    letters = dict(zip(dict.fromkeys(cell.reason for cell in different), ascii_lowercase, strict=False))
    rows = [(cell.place, cell.what, cell.published, cell.ours, letters[cell.reason]) for cell in different]
    reasons = (f"({letter}) {reason}." for reason, letter in letters.items())
    columns = texts("where", "cell", "paper", "its method on its raw data", "reason")
    title = "The paper's cells that differ from what its raw data give"
    yield Table.of_rows(title, columns, rows, agreement(cells), *reasons)

"""The table of the paper's cells beside what its own raw data give by its method, each difference with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from portbench.analysis.paper_cells import agreement, paper_cells
from portbench.analysis.results import Results
from portbench.analysis.terms import PAPER_METHOD
from portbench.tables.cells import single_group
from portbench.tables.model import Column, Table

_COLUMNS = (
    Column("table", "where"),
    Column("cell", "cell"),
    Column("published", "paper"),
    Column("ours", "its method on its raw data"),
    Column("reason", "reason of the difference"),
)


def paper_cells_table(results: Results) -> Iterator[Table]:
    """One row for each cell; no table where a study has none of the paper's own measurements."""
    cells = paper_cells(results)
    if cells:
        rows = ((cell.place, cell.what, cell.published, cell.ours, cell.reason or None) for cell in cells)
        title = "The paper's tables and text beside what its raw data give"
        yield single_group("paper-cells", title, PAPER_METHOD, _COLUMNS, rows, (agreement(cells),))

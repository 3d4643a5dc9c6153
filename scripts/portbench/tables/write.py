"""Writes the tables of the paper, for whatever targets a study holds, those of causes, and those of predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from portbench.analysis.results import Results
from portbench.analysis.terms import COLLECTED_TESTS, INTOLERABLE, STRICT
from portbench.tables.as_csv import as_csv
from portbench.tables.as_markdown import as_markdown, index
from portbench.tables.causes import cause_tables, module_tables
from portbench.tables.latencies import newer_hardware, table_2, tables_5_to_7
from portbench.tables.latex import as_latex
from portbench.tables.model import Group, Table
from portbench.tables.paper_cells import paper_cells_table
from portbench.tables.predictions import prediction_tables
from portbench.tables.rates import table_1, table_3, table_8
from portbench.tables.strata import table_4
from portbench.util.files import write_text
from portbench.util.text import pluralize

LONGEST = 1000
"""The most rows of a table for people. The rows of a longer one are only in its CSV file."""

_ABSENT = {
    "table-1": "Table 1: no target was measured.",
    "table-2": "Table 2: it needs two devices of one framework and version on which functions were timed.",
    "table-3": "Table 3: it needs two models of one device, of one framework and version, and which is the newer.",
    "table-4": "Table 4: it needs run files that say which functions are of the top 20.",
    "table-5": "Table 5: it needs TensorFlow functions on two devices, of one version.",
    "table-6": "Table 6: it needs PyTorch functions on two devices, of one version.",
    "table-7": "Table 7: it needs JAX functions on two devices, of one version.",
    "table-8": "Table 8: no target was measured.",
}


def build_tables(results: Results, intolerable: float = INTOLERABLE) -> list[Table]:
    """Every table that the study has data for: the paper's by number, causes and modules, then those of predictions. A
    function that takes more than ``intolerable`` times as long has an intolerable latency."""
    return list(_tables(results, intolerable))


def write_tables(
    results: Results, folder: Path, intolerable: float = INTOLERABLE, is_strict: bool = False
) -> list[Path]:
    """Writes each table as Markdown, CSV and LaTeX into ``folder``, and README.md, which lists them and says why others
    are absent. Of a table with more than LONGEST rows, Markdown has only the notes, and there is no LaTeX.
    ``is_strict``: tests that did not run wholly on the device count as failed.

    Returns the files in the order of the tables. Raises StorageFailed; a file is whole or not written.
    """
    remarks = (*([STRICT] if is_strict else []), *([COLLECTED_TESTS] if results.is_collected else []))
    found: dict[Table, tuple[str, ...]] = {}
    written = []
    # One at a time: each has a row for every function of several pairs of devices.
    for table in _tables(results, intolerable):
        texts = _texts(replace(table, notes=(*table.notes, *remarks)))
        for ending, text in texts.items():
            path = folder / f"{table.file_stem}{ending}"
            write_text(path, text)
            written.append(path)
        found[replace(table, groups=())] = tuple(texts)
    write_text(folder / "README.md", index(found, _absent(list(found))))
    return [folder / "README.md", *written]


def _texts(table: Table) -> Mapping[str, str]:
    """The files of a table by their endings."""
    if sum(len(group.rows) for group in table.groups) <= LONGEST:
        return {".md": as_markdown(table), ".csv": as_csv(table), ".tex": as_latex(table)}
    groups = [Group((), group.key, (_where(table, group), *group.notes)) for group in table.groups]
    return {".md": as_markdown(replace(table, groups=tuple(groups))), ".csv": as_csv(table)}


def _where(table: Table, group: Group) -> str:
    return f"{pluralize(len(group.rows), 'row')}: in {table.file_stem}.csv."


def _tables(results: Results, intolerable: float) -> Iterator[Table]:
    return (table for table in _every(results, intolerable) if table.groups)


def _every(results: Results, intolerable: float) -> Iterator[Table]:
    yield from table_1(results)
    yield from table_2(results, intolerable)
    yield from table_3(results)
    yield from newer_hardware(results, intolerable)
    yield from table_4(results)
    yield from tables_5_to_7(results, intolerable)
    yield from table_8(results)
    yield from cause_tables(results)
    yield from module_tables(results)
    yield from paper_cells_table(results)
    yield from prediction_tables(results)


def _absent(found: Sequence[Table]) -> list[str]:
    names = [f"{table.name}-" for table in found]
    return [why for name, why in _ABSENT.items() if not any(known.startswith(f"{name}-") for known in names)]

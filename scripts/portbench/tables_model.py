"""A table of the study as values: what stands in it and with how many digits, not in which format.

``tables_markdown``, ``tables_csv`` and ``tables_latex`` write it. Text comes out of run files and is not trusted: the
writers escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from portbench.printable import number

AS_PUBLISHED = "as published"
ROBUST = "robust"

Cell = str | int | float | None
Shown = Callable[[float], str]


@dataclass(frozen=True)
class Column:
    """A column: ``name``, with the unit in it, heads it in CSV, ``title`` for people. ``shown`` makes a number what a
    person reads; None for a column of text. ``is_code``: whether the text is a name out of code."""

    name: str
    title: str
    shown: Shown | None = None
    is_code: bool = False


@dataclass(frozen=True)
class Group:
    """Rows that belong together. ``key`` has a cell for each of the table's ``keys``, each row one for each column;
    None is nothing to say. ``notes`` are of these rows: what was left out of them, by reason."""

    rows: tuple[tuple[Cell, ...], ...]
    key: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of the study. ``name`` is that of its files, ``method`` how its figures came to be.

    ``keys`` are columns whose cells are the same in a whole group: in CSV they come first, people read them as the
    group's heading.
    """

    name: str
    title: str
    method: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    keys: tuple[Column, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def heading(self) -> str:
        """The title with the label of the method, without which no figure is shown."""
        return f"{self.title} ({self.method})"

    def heading_of(self, group: Group) -> str:
        """What tells a group from the others, for people."""
        return ", ".join(f"{column.title} {cell}" for column, cell in zip(self.keys, group.key, strict=True) if cell)


def without_empty_columns(table: Table, optional: Iterable[str]) -> Table:
    """The table without those of its ``optional`` columns, by name, in which no row says anything."""
    rows = [row for group in table.groups for row in group.rows]
    kept = [
        place
        for place, column in enumerate(table.columns)
        if column.name not in set(optional) or any(row[place] is not None for row in rows)
    ]
    groups = tuple(
        Group(tuple(tuple(row[place] for place in kept) for row in group.rows), group.key, group.notes)
        for group in table.groups
    )
    columns = tuple(table.columns[place] for place in kept)
    return Table(table.name, table.title, table.method, columns, groups, table.keys, table.notes)


def left_out(what: str, reasons: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """One note for each reason: how many of ``what`` it kept out of a table, and their names.

    ``reasons`` are pairs of a name and a reason. The reason that applies to most comes first.
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    ordered = sorted(names.items(), key=lambda found: (-len(found[1]), found[0]))
    return tuple(f"Left out, {reason}: {number(len(found), what)}: {', '.join(found)}." for reason, found in ordered)


def fixed(decimals: int) -> Shown:
    """Shows a number with so many decimals: 1,234.50. A zero has no sign."""
    return lambda value: f"{value:z,.{decimals}f}"


def signed(decimals: int) -> Shown:
    """As ``fixed``, with the sign of a difference."""

    def shown(value: float) -> str:
        text = f"{value:+z,.{decimals}f}"
        return text if any(digit in text for digit in "123456789") else text.lstrip("+")

    return shown


def whole(value: float) -> str:
    """Shows a count: 1,234."""
    return f"{value:,.0f}"

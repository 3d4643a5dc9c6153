"""A table as values: its cells and their number of digits, in no format.

The tables of the paper, of a report and of a comparison are all of these. ``as_markdown``, ``as_terminal``, ``as_csv``
and ``latex`` write them. Text comes out of run files and is not trusted: the writers escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from portbench.analysis.exclusions import Excluded, by_reason
from portbench.analysis.terms import METHOD_SLUGS
from portbench.util.format import NOTHING
from portbench.util.text import pluralize

Cell = str | int | float | None
Cells = tuple[Cell, ...]
Shown = Callable[[float], str]


@dataclass(frozen=True)
class Column:
    """A column. ``name``, with the unit in it, is its header in CSV, ``title`` its header for people. ``shown`` formats
    a number for people; None for a column of text. A column of numbers may hold text too, such as ``not finite``, which
    is shown as it is. ``is_code``: the text is a name out of code; ``is_optional``: the column is left out where all of
    its cells are empty. A column that belongs to the column named ``of`` has a ``role``: the ``low`` or ``high`` end of
    its interval, its ``published`` figure, or the ``difference`` between the two."""

    name: str
    title: str
    shown: Shown | None = None
    is_code: bool = False
    is_optional: bool = False
    of: str = ""
    role: str = ""

    def text(self, cell: Cell) -> str:
        """A cell as people see it, unescaped: a dash for None."""
        if cell is None:
            return NOTHING
        return self.shown(cell) if self.shown and not isinstance(cell, str) else str(cell)


def names(*titles: str) -> tuple[Column, ...]:
    """Columns that name what a row is about."""
    return tuple(Column(title, title, is_code=True) for title in titles)


def texts(*titles: str) -> tuple[Column, ...]:
    """Columns of text."""
    return tuple(Column(title, title) for title in titles)


def numbers(*titles: str, shown: Shown | None = None) -> tuple[Column, ...]:
    """Columns of numbers, formatted by ``shown``; counts, where it is None."""
    return tuple(Column(title, title, shown or whole) for title in titles)


def interval_of(column: Column, *, is_optional: bool = False) -> tuple[Column, Column]:
    """The columns of both ends of a figure's 95 % interval, formatted as the figure."""
    stem = column.name.removesuffix("_percent")
    unit = column.name.removeprefix(stem)
    return (
        Column(f"{stem}_low{unit}", "95 % from", column.shown, False, is_optional, column.name, "low"),
        Column(f"{stem}_high{unit}", "to", column.shown, False, is_optional, column.name, "high"),
    )


def published_columns(column: Column, shown: Shown, difference: Shown) -> tuple[Column, Column]:
    """The columns of the published figure and of ours less the published, in points where the figure is in percent."""
    points = column.name.replace("_percent", "_points")
    return (
        Column(f"published_{column.name}", f"paper: {column.title}", shown, False, True, column.name, "published"),
        Column(f"difference_{points}", "difference", difference, False, True, column.name, "difference"),
    )


@dataclass(frozen=True)
class Group:
    """Rows that belong together. ``key`` has a cell for each of the table's ``keys``, each row a cell for each column;
    None is an empty cell. ``notes`` are of these rows: which tests were excluded, by reason."""

    rows: tuple[Cells, ...]
    key: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table. ``name`` and ``method`` name its files; ``method`` labels how its figures were computed. Both are empty
    for a table without files of its own; one without a ``title`` has no heading.

    ``keys`` are columns whose cells are the same in a whole group: the first columns in CSV, the group's heading for
    people. ``on_published`` explains the columns of published figures and of the difference.
    """

    name: str
    title: str
    method: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    keys: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    on_published: str = ""

    @classmethod
    def of_rows(cls, title: str, columns: Iterable[Column], rows: Iterable[Cells], *notes: str) -> Table:
        """A table of one group, without files of its own."""
        return cls("", title, "", tuple(columns), (Group(tuple(rows)),), (), notes)

    def column(self, name: str, group: Group) -> list[Cell]:
        """The cells of a group in the column of this name."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in group.rows]

    @property
    def flat_columns(self) -> tuple[Column, ...]:
        """The columns of ``flat_rows``: the keys, then the columns of each row."""
        return (*self.keys, *self.columns)

    @property
    def flat_rows(self) -> tuple[Cells, ...]:
        """The rows of all groups, each after the key of its group."""
        return tuple((*group.key, *row) for group in self.groups for row in group.rows)

    @property
    def file_stem(self) -> str:
        """The name of its files without ending: ``table-1-paper-method``."""
        return f"{self.name}-{METHOD_SLUGS.get(self.method, self.method.replace(' ', '-'))}"

    @property
    def heading(self) -> str:
        """The title, with the label of the method where it has one."""
        return f"{self.title} ({self.method})" if self.method else self.title

    def heading_of(self, group: Group) -> str:
        """The heading of a group, for people."""
        return ", ".join(
            f"{column.title} {cell}".strip() for column, cell in zip(self.keys, group.key, strict=True) if cell
        )


def without_empty_columns(table: Table) -> Table:
    """The table without its optional columns that are empty, and without the note on published figures where it has
    none."""
    rows = [row for group in table.groups for row in group.rows]
    kept = [
        place
        for place, column in enumerate(table.columns)
        if not column.is_optional or any(row[place] is not None for row in rows)
    ]
    groups = table.groups
    if len(kept) < len(table.columns):
        groups = tuple(
            Group(tuple(tuple(row[place] for place in kept) for row in group.rows), group.key, group.notes)
            for group in groups
        )
    columns = tuple(table.columns[place] for place in kept)
    has_published = any(column.role == "published" for column in columns)
    return replace(table, columns=columns, groups=groups, on_published=table.on_published if has_published else "")


def exclusion_notes(exclusions: Iterable[Excluded]) -> tuple[str, ...]:
    """A note for each reason, the one of most functions first: how many tests of which functions it excludes."""
    return tuple(
        f"Left out: {pluralize(sum(one.tests for one in entries), 'test')} of {pluralize(len(entries), 'function')}, "
        f"{reason}: {', '.join(f'{entry.function} ({entry.tests})' for entry in entries)}."
        for reason, entries in by_reason(exclusions).items()
    )


def fixed(decimals: int) -> Shown:
    """Formats a number with so many decimals: 1,234.50. A zero has no sign."""
    return f"{{:z,.{decimals}f}}".format


def signed(decimals: int) -> Shown:
    """Formats a difference: as ``fixed``, with its sign."""

    def shown(value: float) -> str:
        text = f"{value:+z,.{decimals}f}"
        return text if any(digit in text for digit in "123456789") else text.lstrip("+")

    return shown


def whole(value: float) -> str:
    """Formats a count: 1,234."""
    return f"{value:,.0f}"

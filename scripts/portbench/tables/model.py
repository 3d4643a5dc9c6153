"""A table of the study as values: what stands in it and with how many digits, not in which format.

``tables_markdown``, ``tables_csv`` and ``tables_latex`` write it. Text comes out of run files and is not trusted: the
writers escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from portbench.analysis.exclusions import Excluded, by_reason
from portbench.util.text import pluralize

Cell = str | int | float | None
Shown = Callable[[float], str]


@dataclass(frozen=True)
class Column:
    """A column: ``name``, with the unit in it, heads it in CSV, ``title`` for people. ``shown`` makes a number what a
    person reads; None for a column of text. ``is_code``: whether the text is a name out of code;
    ``is_optional``: whether the column stands only where it says something. ``role`` is what it is of the column named
    ``of``, where it belongs to one: its interval's ``low`` or ``high``, its ``published`` figure, or the ``difference``
    between the two."""

    name: str
    title: str
    shown: Shown | None = None
    is_code: bool = False
    is_optional: bool = False
    of: str = ""
    role: str = ""


def interval_of(column: Column, *, is_optional: bool = False) -> tuple[Column, Column]:
    """The columns of the ends of a figure's 95 % interval, shown as the figure is."""
    stem = column.name.removesuffix("_percent")
    unit = column.name.removeprefix(stem)
    return (
        Column(f"{stem}_low{unit}", "95 % from", column.shown, False, is_optional, column.name, "low"),
        Column(f"{stem}_high{unit}", "to", column.shown, False, is_optional, column.name, "high"),
    )


def published_beside(column: Column, shown: Shown, difference: Shown) -> tuple[Column, Column]:
    """The columns of the published figure and of how much more ours is, in points where the figure is in percent."""
    points = column.name.replace("_percent", "_points")
    return (
        Column(f"published_{column.name}", f"published {column.title}", shown, False, True, column.name, "published"),
        Column(f"difference_{points}", "difference", difference, False, True, column.name, "difference"),
    )


@dataclass(frozen=True)
class Group:
    """Rows that belong together. ``key`` has a cell for each of the table's ``keys``, each row one for each column;
    None is nothing to say. ``notes`` are of these rows: what was left out of them, by reason."""

    rows: tuple[tuple[Cell, ...], ...]
    key: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of the study. ``name`` and ``method`` name its files; ``method`` labels how its figures came to be.

    ``keys`` are columns whose cells are the same in a whole group: in CSV they come first, people read them as the
    group's heading. ``on_published`` explains the columns of published figures and of the difference.
    """

    name: str
    title: str
    method: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    keys: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    on_published: str = ""

    @property
    def file_stem(self) -> str:
        """What its files are named by: ``table-1-as-published``."""
        return f"{self.name}-{self.method.replace(' ', '-')}"

    @property
    def heading(self) -> str:
        """The title with the label of the method, without which no figure is shown."""
        return f"{self.title} ({self.method})"

    def heading_of(self, group: Group) -> str:
        """What tells a group from the others, for people."""
        return ", ".join(
            f"{column.title} {cell}".strip() for column, cell in zip(self.keys, group.key, strict=True) if cell
        )


def told(table: Table) -> Table:
    """The table without those of its optional columns in which no row says anything, and without the note on published
    figures where there are none."""
    rows = [row for group in table.groups for row in group.rows]
    kept = [
        place
        for place, column in enumerate(table.columns)
        if not column.is_optional or any(row[place] is not None for row in rows)
    ]
    groups = tuple(
        Group(tuple(tuple(row[place] for place in kept) for row in group.rows), group.key, group.notes)
        for group in table.groups
    )
    columns = tuple(table.columns[place] for place in kept)
    has_published = any(column.role == "published" for column in columns)
    return replace(table, columns=columns, groups=groups, on_published=table.on_published if has_published else "")


def notes_of(left_out: Iterable[Excluded]) -> tuple[str, ...]:
    """A note for each reason, the one of most functions first: how many tests of which functions it kept out."""
    return tuple(
        f"Left out: {pluralize(sum(entry.tests for entry in entries), 'test')} of "
        f"{pluralize(len(entries), 'function')}, {reason}: "
        f"{', '.join(f'{entry.function} ({entry.tests})' for entry in entries)}."
        for reason, entries in by_reason(left_out).items()
    )


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

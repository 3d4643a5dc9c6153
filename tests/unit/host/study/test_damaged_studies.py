"""A study whose tables are not those that study.json describes is one clear error of every command that reads it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import Result

from portbench.errors import PortbenchError
from portbench.study.merge import merge
from portbench.study.store import read_study
from portbench.study.tables_check import write_sums

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]
Command = Callable[..., Result]


@pytest.fixture
def tables(write: Write, make_run: Make, tmp_path: Path) -> Path:
    """The tables of a study of two parts."""
    study = tmp_path / "study"
    for number, machine in enumerate(("a", "b")):
        merge([str(write(f"{number}.json", make_run(machine=machine)))], study)
    return read_study(study).tables


def rewrite(file: Path, query: str) -> None:
    """Replaces a part by the rows of a query over it, which calls them part."""
    part = duckdb.read_parquet(str(file))
    duckdb.sql(query).write_parquet(f"{file}.new")
    del part
    Path(f"{file}.new").replace(file)


def first(tables: Path, table: str) -> Path:
    return min((tables / table).glob("*.parquet"))


def removed(tables: Path) -> None:
    first(tables, "results").unlink()


def copied(tables: Path) -> None:
    shutil.copy(first(tables, "results"), tables / "results" / "0123456789abcdef.parquet")


def swapped(tables: Path) -> None:
    one, other = (tables / "results").glob("*.parquet")
    one.rename(tables / "x")
    other.rename(one)
    (tables / "x").rename(other)


def truncated(tables: Path) -> None:
    file = first(tables, "samples")
    file.write_bytes(file.read_bytes()[:-40])


def flipped(tables: Path) -> None:
    file = first(tables, "results")
    content = bytearray(file.read_bytes())
    content[60] ^= 1
    file.write_bytes(content)


def without_column(tables: Path) -> None:
    rewrite(first(tables, "results"), "SELECT * EXCLUDE (phase) FROM part")


def without_digests(tables: Path) -> None:
    (tables / "SHA256SUMS").unlink()


def digests_garbled(tables: Path) -> None:
    (tables / "SHA256SUMS").write_text("\x1b[2J\n")


def fifo(tables: Path) -> None:
    file = first(tables, "results")
    file.unlink()
    os.mkfifo(file)


def kernel_file(tables: Path) -> None:
    file = first(tables, "results")
    file.unlink()
    file.symlink_to("/proc/kmsg")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (removed, "is missing"),
        (copied, "is no part of this study"),
        (swapped, "was changed or damaged"),
        (truncated, "was changed or damaged"),
        (flipped, "was changed or damaged"),
        (without_column, "was changed or damaged"),
        (without_digests, "SHA256SUMS does not exist"),
        (digests_garbled, "line 1: found no digest"),
        (fifo, "is not a regular file"),
        (kernel_file, "is not a regular file"),
    ],
)
@pytest.mark.parametrize("command", ["report", "explain", "compare", "merge", "classify"])
def test_a_damaged_part_is_one_error(
    command: str,
    damage: Callable[[Path], None],
    message: str,
    tables: Path,
    portbench: Command,
    write: Write,
    make_run: Make,
) -> None:
    damage(tables)
    study = tables.parent
    words = {
        "explain": [study, "torch.cat"],
        "compare": [study, study],
        "merge": [write("3.json", make_run(machine="c")), "-o", study],
        "classify": [study, "-o", study],
    }
    error = portbench(command, *words.get(command, [study])).exception
    assert isinstance(error, PortbenchError)
    assert message in str(error)
    assert "Merge the run files again" in error.remedy or "SHA256SUMS" in message


@pytest.mark.parametrize(
    ("table", "query", "message"),
    [
        ("results", "FROM part LIMIT 0", "rows, expected"),
        ("results", "SELECT * EXCLUDE (outcome) FROM part", "damaged"),
        ("results", "SELECT * EXCLUDE (function) FROM part", "damaged"),
        ("results", "SELECT * REPLACE ('won' AS outcome) FROM part", "found the outcome"),
        ("results", "SELECT * REPLACE ([1] AS function) FROM part", "damaged"),
        ("runs", "SELECT * REPLACE (repeat('0', 64) AS sha256) FROM part", "not those of study.json"),
        ("results", "SELECT part.* FROM part, range(1000)", "rows, expected"),
    ],
)
def test_tables_whose_digests_fit_are_held_against_the_summary(
    table: str, query: str, message: str, tables: Path, portbench: Command
) -> None:
    for file in (tables / table).glob("*.parquet"):
        rewrite(file, query)
    write_sums(tables)
    error = portbench("report", tables.parent).exception
    assert isinstance(error, PortbenchError)
    assert message in str(error)


def test_the_summary_has_the_rows_of_the_tables(tables: Path) -> None:
    rows = json.loads((tables.parent / "study.json").read_text())["rows"]
    count = {table: duckdb.sql(f"SELECT count(*) FROM '{tables}/{table}/*.parquet'").fetchall()[0][0] for table in rows}
    assert count == rows


def test_a_summary_that_renames_a_machine_is_derived_from_the_tables_again(tables: Path, portbench: Command) -> None:
    summary = tables.parent / "study.json"
    data = json.loads(summary.read_text("utf-8"))
    data["targets"][0]["machine"] = "renamed"
    summary.write_text(json.dumps(data), "utf-8")
    done = portbench("report", tables.parent, "-o", tables.parent.parent / "report", "--json")
    assert done.exit_code == 0, done.output
    assert "renamed" not in done.output

"""Tables as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import html
import io
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from portbench.analysis.exclusions import Excluded
from portbench.tables.as_csv import as_csv
from portbench.tables.as_markdown import as_markdown
from portbench.tables.as_terminal import print_tables
from portbench.tables.latex import as_latex, escaped
from portbench.tables.model import (
    Column,
    Group,
    Table,
    exclusion_notes,
    fixed,
    interval_of,
    published_columns,
    signed,
    without_empty_columns,
)
from portbench.util.text import escape_control

COLUMNS = (
    Column("function", "function", is_code=True),
    Column("reason", "reason"),
    Column("gpu_ms", "gpu ms", fixed(3), is_optional=True),
    Column("difference_percent", "difference %", signed(1), is_optional=True),
)
HOSTILE = (
    "=cmd|'\\input{/etc/passwd}'!A0 $x$ 50% #1 a_b^c~d {e} \x1b[2J\u202e<script>[l](https://evil.example)\n"
    "--- ``q'' ?` \"w\" \u65e5\u672c | `code` & *m*"
)


def table(*groups: Group, keys: tuple[Column, ...] = (), notes: tuple[str, ...] = ()) -> Table:
    return Table("table-9-fake", "Table 9: latencies", "paper's method", COLUMNS, groups, keys, notes)


ROWS = (("fake.copy", "", 1234.56789, -0.04), ("fake.add", "why", 0.1 + 0.2, -12.34), ("fake.sub", "", None, 3))


def rows_of_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_markdown_in_full() -> None:
    group = Group(ROWS, ("2.0", "a_b"), ("Left out, no reason: 1 function: fake.div.",))
    keys = (Column("version", "version"), Column("machine", "on"))
    assert as_markdown(table(group, keys=keys, notes=("Of 4.",))) == (
        "# Table 9: latencies (paper's method)\n"
        "\n"
        "## version 2.0, on a\\_b\n"
        "\n"
        "| function | reason | gpu ms | difference % |\n"
        "| --- | --- | ---: | ---: |\n"
        "| `fake.copy` |  | 1,234.568 | 0.0 |\n"
        "| `fake.add` | why | 0.300 | -12.3 |\n"
        "| `fake.sub` |  | - | +3.0 |\n"
        "\n"
        "Left out, no reason: 1 function: fake.div.\n"
        "\n"
        "Of 4.\n"
    )


def test_csv_has_all_digits_and_every_row_says_its_group() -> None:
    text = as_csv(table(Group(ROWS[:2], ("1",)), Group(ROWS[2:], ("2",)), keys=(Column("version", "version"),)))
    assert rows_of_csv(text) == [
        ["method", "version", "function", "reason", "gpu_ms", "difference_percent"],
        ["paper's method", "1", "fake.copy", "", "1234.56789", "-0.04"],
        ["paper's method", "1", "fake.add", "why", "0.30000000000000004", "-12.34"],
        ["paper's method", "2", "fake.sub", "", "", "3"],
    ]


def test_latex_in_full() -> None:
    group = Group(ROWS, ("2.0",), ("Left out: fake.a_b.",))
    assert as_latex(table(group, keys=(Column("version", "version"),))) == (
        "% Needs \\usepackage{booktabs}\n"
        "% Table 9: latencies (paper's method)\n"
        "\\begingroup\\footnotesize\\setlength{\\tabcolsep}{3pt}\\sloppy\n"
        "\\begin{tabular}{llrr}\n"
        "\\toprule\n"
        "function & reason & gpu ms & difference \\% \\\\\n"
        "\\midrule\n"
        "\\multicolumn{4}{p{0.9\\linewidth}}{\\raggedright\\textit{version 2.0}} \\\\\n"
        "\\texttt{fake.copy} &  & 1,234.568 & 0.0 \\\\\n"
        "\\texttt{fake.add} & why & 0.300 & $-$12.3 \\\\\n"
        "\\texttt{fake.sub} &  & - & +3.0 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\n"
        "\\noindent Table 9: latencies (paper's method).\n"
        "\n"
        "\\noindent Left out: fake.a\\_b.\n"
        "\\par\\endgroup\n"
    )


def test_in_latex_a_figure_has_its_interval_and_published_figure_in_its_cell() -> None:
    # A page has no room for a column of each.
    ratio = Column("ratio", "ratio", fixed(1))
    columns = (COLUMNS[0], ratio, *interval_of(ratio), *published_columns(ratio, fixed(0), signed(1)))
    rows = (("fake.add", 1.5, 1.25, 2, 1, 0.5), ("fake.sub", 2, None, None, None, None))
    shown = Table(
        "table-9-fake", "Table 9: ratios", "robust", columns, (Group(rows),), on_published="difference: of us."
    )
    text = as_latex(shown)
    assert "function & ratio \\\\" in text
    assert "\\texttt{fake.add} & 1.5 {[}1.2, 2.0{]} (1) \\\\" in text
    assert "\\texttt{fake.sub} & 2.0 \\\\" in text
    assert "\\noindent In brackets: the 95 \\% interval." in text
    assert "\\noindent In parentheses: the figure that the paper prints." in text
    assert "difference" not in text
    assert rows_of_csv(as_csv(shown))[0] == [
        "method",
        "function",
        "ratio",
        "ratio_low",
        "ratio_high",
        "published_ratio",
        "difference_ratio",
    ]
    assert "difference: of us." in as_markdown(shown)


def test_in_markdown_a_group_has_no_empty_columns() -> None:
    groups = (Group((("fake.add", "", 1, 2),), ("1",)), Group((("fake.sub", "", None, None),), ("2",)))
    heads = [line for line in as_markdown(table(*groups, keys=COLUMNS[1:2])).splitlines() if line.startswith("| f")]
    assert heads == ["| function | reason | gpu ms | difference % |", "| function | reason |"]


def test_notes_of_several_groups_name_their_group() -> None:
    groups = (Group(ROWS, ("1",), ("First.",)), Group(ROWS, ("2",), ("Second.",)))
    text = as_latex(table(*groups, keys=(Column("version", "version"),)))
    assert "version 1: First." in text
    assert "version 2: Second." in text


def test_a_long_table_in_latex_breaks_over_pages() -> None:
    text = as_latex(table(Group(ROWS[:1] * 61)))
    assert text.startswith("% Needs \\usepackage{booktabs, longtable}\n")
    assert text.count("longtable}") == 3
    assert "tabular" not in text


def test_hostile_text_means_nothing_to_markdown() -> None:
    text = as_markdown(table(Group((("fake.copy", HOSTILE, 1, 2),), (HOSTILE,), (HOSTILE,)), keys=COLUMNS[1:2]))
    assert all(line.isprintable() for line in text.splitlines())
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    assert set(re.findall(r"<(\w+)", page)) == {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "code"}
    assert escape_control(HOSTILE) in [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]


def test_a_note_is_never_cut() -> None:
    names = [f"fake.function_{place}" for place in range(200)]
    text = as_markdown(table(Group(ROWS, (), exclusion_notes(Excluded(name, "why", 1) for name in names))))
    assert "Left out: 200 tests of 200 functions, why: fake.function\\_0 (1), " in text
    assert "fake.function\\_99 (1)." in text


def test_no_cell_of_csv_is_a_formula_or_steers_a_terminal() -> None:
    rows = [(start + "1+1", "", 1, 2) for start in "=+-@"] + [(HOSTILE, HOSTILE, -1.5, 2)]
    cells = [row[1] for row in rows_of_csv(as_csv(table(Group(tuple(rows)))))[1:]]
    assert cells == [*(f"'{start}1+1" for start in "=+-@"), f"'{escape_control(HOSTILE)}"]
    assert as_csv(table(Group(tuple(rows)))).endswith(",-1.5,2\n")  # a number stays one


def test_hostile_text_means_nothing_to_latex() -> None:
    text = escaped(HOSTILE)
    assert text.isascii()
    assert text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
    commands = set(re.findall(r"\\([a-zA-Z]+|.)", text))
    assert commands == {*"{}$&#%_", *("textbackslash", "textasciicircum", "textasciitilde", "textless")} | {
        "textgreater",
        "textbar",
        "symbol",
    }
    # What is left of TeX's own signs is behind a backslash.
    assert not re.search(r"(?<!\\)[$&#%_^~]", text)
    assert "--" not in text and "``" not in text and "''" not in text and "?`" not in text


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
@pytest.mark.parametrize("rows", [3, 61])
def test_latex_compiles(rows: int, tmp_path: Path) -> None:
    every_sign = "".join(map(chr, range(0x20, 0x250))) + HOSTILE
    found = (("[0.5em]", "*", 1, -2), (every_sign, every_sign, -1, 2), *ROWS)
    shown = table(
        Group((*found, *ROWS[:1] * rows), (every_sign,), (every_sign,)), Group(ROWS, ("b",)), keys=COLUMNS[:1]
    )
    (tmp_path / "table.tex").write_text(as_latex(shown), "utf-8")
    packages = "\\usepackage{booktabs}\\usepackage{longtable}"
    document = f"\\documentclass{{article}}{packages}\\begin{{document}}\\input{{table}}\\end{{document}}"
    (tmp_path / "document.tex").write_text(document, "utf-8")
    ended = _run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "document"], tmp_path)
    assert ended.returncode == 0, ended.stdout[-2000:]


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)


@pytest.mark.parametrize("width", [30, 700])
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("torch.cat", None, 1.0, -2.5), ("torch.\u65e5\u672c", "e\u0301 \U0001f600", None, "not finite")],
        [(HOSTILE, "  a  b ", 1234567.0, None), ("y" * 400, "", 0.0, 1.0)],
    ],
)
def test_a_terminal_and_a_file_get_the_same_text(rows: list[tuple[str | float | None, ...]], width: int) -> None:
    shown = table(Group(tuple(rows)), notes=("A note.",))
    file, terminal = io.StringIO(), io.StringIO()
    print_tables([shown], Console(file=file, width=width))
    print_tables([shown], Console(file=terminal, width=width, force_terminal=True, color_system="standard"))
    text = terminal.getvalue()
    assert "\x1b[" in text
    assert file.getvalue() == re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_empty_optional_columns_are_removed() -> None:
    rows = (("fake.copy", "", None, None), ("fake.add", "", None, 2))
    shown = without_empty_columns(table(Group(rows, ("a",), ("Note.",)), keys=COLUMNS[:1]))
    assert [column.name for column in shown.columns] == ["function", "reason", "difference_percent"]
    assert shown.groups[0] == Group((("fake.copy", "", None), ("fake.add", "", 2)), ("a",), ("Note.",))


def test_what_was_left_out_is_named_by_reason_and_counted() -> None:
    found = [Excluded("a", "not timed", 1), Excluded("c", "it failed", 2), Excluded("b", "it failed", 1)]
    assert exclusion_notes(found) == (
        "Left out: 3 tests of 2 functions, it failed: b (1), c (2).",
        "Left out: 1 test of 1 function, not timed: a (1).",
    )
    assert exclusion_notes([]) == ()

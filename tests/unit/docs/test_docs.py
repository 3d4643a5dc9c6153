"""README and manual agree with the code: links, commands, options, environment variables. MkDocs is not needed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from portbench.cli import cli
from portbench.formats.documents import read_document
from tests.paths import EXAMPLES, ROOT

_FOLDERS = ("images", "manifests", "runners", "schema", "scripts", "tests")
_TOP = (*_FOLDERS, "docs", "core", "cli", "page", "unit", "study")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "images/pins.md", "manifests/top20.md")),
    *(ROOT / name / "README.md" for name in _FOLDERS),
    *sorted((ROOT / "docs").glob("*.md")),
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for address in _LINK.findall(_without_code(page.read_text("utf-8"))):
        path, _, anchor = address.partition("#")
        if re.match(r"[a-z]+:", address) or path.startswith("cli/"):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(address)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page: Path) -> None:
    missing = []
    for name in re.findall(r"`([\w./-]+)`", page.read_text("utf-8")):
        is_file = name.split("/")[0] in _TOP and "/" in name and "." in name.rsplit("/", 1)[1]
        if is_file and not any((folder / name).exists() for folder in (ROOT, page.parent, ROOT / "scripts/portbench")):
            missing.append(name)
    assert missing == []


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f": {page.name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    wrong = []
    for words in _commands(page.read_text("utf-8")):
        context = click.Context(cli, info_name="portbench")
        command: click.Command | None = cli
        # What follows -- is somebody else's command.
        rest = list(words[: words.index("--")] if "--" in words else words)
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            command = command.get_command(context, rest.pop(0))
        known = {name for each in command.get_params(context) for name in each.opts} if command else set()
        if command is None or any(word.split("=")[0] not in known for word in rest if re.match(r"--?[a-z]", word)):
            wrong.append(" ".join(words))
    assert wrong == []


def test_every_environment_variable_is_documented() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    documented = set(re.findall(r"`(\w+)(?:=[^`]*)?`", text))
    assert sorted(_variables() - documented) == []


def test_the_manual_names_every_function_that_fails_on_the_cpu() -> None:
    text = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    rows = re.findall(r"^\| (PyTorch|TensorFlow|JAX) ([\d.]+) \|([^|]*)\|([^|]*)\|$", text, re.MULTILINE)
    found = {
        (framework, version): set(re.findall("`([^`]+)`", gone + wrong)) for framework, version, gone, wrong in rows
    }
    expected = {
        (title, version): {name.split(".", 1)[1] for name in functions}
        for title, framework in (("PyTorch", "torch"), ("TensorFlow", "tensorflow"), ("JAX", "jax"))
        for version, functions in _failing_on_the_cpu(framework).items()
    }
    assert found == expected


def test_the_readme_counts_the_functions_that_fail_on_the_cpu() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (row,) = re.findall(r"^\| portbench, measured on a CPU \|(.*)\|$", text, re.MULTILINE)
    found = re.findall(r"([\d.]+) % \((\d+) of (\d+)\)", row)
    cells = [(percent, int(passed), int(rated)) for percent, passed, rated in found]
    failing = [
        len(_failing_on_the_cpu(framework)[version])
        for framework, version in (("torch", "1.12.0"), ("tensorflow", "2.11.0"), ("jax", "0.4.13"))
    ]
    assert [rated - passed for _, passed, rated in cells] == failing
    assert [percent for percent, _, _ in cells] == [f"{100 * passed / rated:.1f}" for _, passed, rated in cells]
    (total,) = re.findall(r"On the CPU itself (\d+) functions are wrong in a corner", text)
    assert int(total) == sum(failing)


def test_the_example_of_a_run_file_in_the_manual_is_the_tested_one() -> None:
    text = (ROOT / "docs" / "foreign.md").read_text("utf-8")
    blocks = [json.loads(block) for language, block in _BLOCK.findall(text) if language == "json"]
    examples = ("mapping/valid/gpu.json", "run/valid/smallest_imported.json")
    tested = [json.loads((EXAMPLES / name).read_text("utf-8")) for name in examples]
    assert blocks == tested


def _failing_on_the_cpu(framework: str) -> dict[str, set[str]]:
    """The functions of the study of which a test is known to fail on the CPU, by version."""
    path = ROOT / "manifests" / "study" / "expected" / f"{framework}-cpu.json"
    known = json.loads(path.read_text("utf-8"))["versions"]
    return {version: {each["function"] for each in failures} for version, failures in known.items()}


def _variables() -> set[str]:
    """Those that Python code reads, and those that compose.yaml and the Makefile take from the caller."""
    found: set[str] = set()
    for folder in ("scripts/portbench", "runners"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            found.update(re.findall(r"""(?:environ(?:\.get\(|\[)|getenv\()["'](\w+)["']""", text))
            found.update(re.findall(r"\bPORTBENCH_[A-Z0-9_]+\b", text))
    found.update(re.findall(r"\$\{([A-Z0-9_]+)", (ROOT / "compose.yaml").read_text("utf-8")))
    found.update(re.findall(r"^([A-Z_]+) \?=", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    return found - {"HOME"}


def _commands(text: str) -> Iterator[list[str]]:
    """The words after ``portbench`` of each command in a block of shell code."""
    for language, block in _BLOCK.findall(text):
        for line in block.splitlines() if language == "sh" else ():
            for part in re.split(r"&&|&|\|(?!\|)|;", line.partition("  #")[0].partition(" # ")[0]):
                words = shlex.split(part, comments=True)
                if words and words[0] in ("portbench", ".venv/bin/portbench"):
                    yield words[1 : words.index(">") if ">" in words else None]


def _without_code(text: str) -> str:
    return _CODE.sub("", text)


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}


def test_the_whole_manifest_of_the_readme_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "manifests" / "README.md").read_text("utf-8")
    (text,) = [text for kind, text in _BLOCK.findall(page) if kind == "json" and '"schema"' in text]
    path = tmp_path / "mine.json"
    path.write_text(text, "utf-8")
    document = read_document(path, "manifest")
    assert [entry["function"] for entry in document.data["functions"]] == ["torch.nn.functional.relu"]

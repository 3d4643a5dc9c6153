"""Listing a library's public functions: what is listed under which name, what is survived, and that nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.core import documents
from runners.core.public.library import Library, StudyRule, to_json
from tests.unit.runner import sample_framework as zoo
from tests.unit.runner.runner_cli import ROOT

SCRIPT = """
import json, sys
from pathlib import Path
from runners.core.enumeration import listing
from runners.core.public import library
asked = json.loads(sys.argv[1])
settings = listing.Settings("fake", "cpu", None, Path(asked["out"]), *asked["flags"], asked["limit_s"])
print(listing.write_list(settings, library.from_json(asked["library"]), {"PYTHONPATH": asked["path"]})[0])
"""
ZOO = Library("zoo", "zoo", ("zoo",), True, ("zoo.copied",), ("math",), StudyRule())


def listed(folder, out, library=ZOO, as_study=False, methods=False, limit_s=60.0, **variables):
    """The document's text. ``folder`` holds the library."""
    asked = {"out": str(out), "flags": [as_study, methods], "limit_s": limit_s, "path": str(folder)}
    command = [sys.executable, "-c", SCRIPT, json.dumps(dict(asked, library=to_json(library)))]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return Path(done.stdout.strip()).read_text("utf-8")


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return json.loads(listed(zoo.write(tmp_path_factory.mktemp("zoo")), tmp_path_factory.mktemp("out")))


@pytest.fixture(scope="module")
def entries(document):
    return {entry["name"]: entry for entry in document["functions"]}


def names(document):
    return [entry["name"] for entry in document["functions"]]


def errors(document):
    return {error["module"]: error["reason"] for error in document["errors"]}


def test_the_document_fits_its_schema(document):
    assert documents.first_mistake(documents.checker("functions"), document) == ""
    assert document["target"]["version"] == "1.2.3"


def test_every_public_function_is_listed_once_and_nothing_else(document):
    assert names(document) == sorted(names(document))
    assert set(names(document)) == {
        *("zoo.Animal", "zoo.Lazy", "zoo.Runner", "zoo.run", "zoo.walk"),
        *("zoo.animals.Cat", "zoo.animals.call", "zoo.animals.prowl", "zoo.animals.without_other_home"),
        *("zoo.inner.dig", "zoo.inner.floor", "zoo.lazy.sleep", "zoo.noisy.bark", "zoo.outdated.old"),
        *("zoo.plants.grow", "zoo.plants.water"),
    }


def test_names_of_one_object_are_one_entry_under_the_shortest(entries):
    assert entries["zoo.walk"]["aliases"] == ["zoo.animals.walk"]
    assert entries["zoo.inner.dig"]["aliases"] == ["zoo.inner.deep.dig"]
    # As many parts; it calls itself so.
    assert entries["zoo.animals.Cat"]["aliases"] == ["zoo.inner.Kitty"]
    # Used there, and not shown.
    assert entries["zoo.plants.grow"]["aliases"] == []


def test_kinds_and_homes(entries):
    kinds = {
        "zoo.Animal": "class",
        "zoo.walk": "function",
        "zoo.animals.call": "callable",
        "zoo.inner.floor": "builtin",
    }
    assert {name: entries[name]["kind"] for name in kinds} == kinds
    assert (entries["zoo.run"]["module"], entries["zoo.run"]["qualname"]) == ("zoo._private", "run")


def test_signatures_have_no_annotations_no_addresses_and_one_order(entries):
    expected = "(speed=1, *, gait=<object object at 0x…>, to=<print>, kinds=frozenset({'a', 'b', 'c'}))"
    assert (entries["zoo.walk"]["signature"], entries["zoo.walk"]["signature_source"]) == (expected, "inspect")
    assert entries["zoo.animals.call"]["signature"] == "(times=2)"


def test_what_cannot_be_imported_is_an_error_and_no_more(document):
    found = errors(document)
    assert found["zoo.broken"] == "RuntimeError: no libanimal at 0x…"
    assert found["zoo.exits"] == "SystemExit: 3"
    assert found["zoo.outdated.gone"] == "AttributeError: gone was removed"
    assert set(found) == {"zoo.broken", "zoo.exits", "zoo.outdated.gone", "zoo.plants.missing"}


def test_tests_and_copies_are_left_out(document):
    assert document["left_out"]["tests"] == ["zoo.feeding_test", "zoo.tests"]
    assert document["left_out"]["by_name"] == ["zoo.copied"]


def test_what_test_files_name_has_a_public_test(document, entries):
    assert document["public_tests"]["files"] == 2
    tested = {name for name, entry in entries.items() if entry["has_public_test"]}
    assert tested == {"zoo.walk", "zoo.inner.dig", "zoo.Animal"}


def test_without_test_files_nobody_knows(tmp_path):
    folder = zoo.write(tmp_path / "zoo")
    for path in ("zoo/tests/test_zoo.py", "zoo/feeding_test.py"):
        (folder / path).unlink()
    document = json.loads(listed(folder, tmp_path))
    assert {entry["has_public_test"] for entry in document["functions"]} == {None}


def test_counts_are_of_what_is_listed(document):
    counts = document["counts"]
    assert counts["functions"] == len(document["functions"]) == sum(counts["by_kind"].values())
    assert counts["by_namespace"]["zoo"] == 5
    assert counts["by_namespace"]["zoo.animals"] == 4
    assert sum(counts["by_namespace"].values()) == counts["functions"]


def test_the_same_library_gives_the_same_bytes(tmp_path):
    folder = zoo.write(tmp_path / "zoo")
    first = listed(folder, tmp_path / "a", PYTHONHASHSEED="1")
    assert listed(folder, tmp_path / "b", PYTHONHASHSEED="2", HOME=str(tmp_path), TMPDIR=str(tmp_path)) == first
    assert first.count('\n  {"name"') == first.count('"qualname"') > 10


def test_nothing_that_an_import_writes_or_starts_stays(tmp_path):
    folder = zoo.write(tmp_path / "zoo")
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    listed(folder, tmp_path / "out", HOME=str(home), TMPDIR=str(scratch))
    assert not list(home.iterdir()) and not list(scratch.iterdir())
    assert not list(folder.rglob("litter")) and not list(folder.rglob("*.pyc")) and not (ROOT / "litter").exists()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # Other tests list a zoo of their own at the same time.
            is_own = str(folder).encode() in (process / "environ").read_bytes()
            assert not (is_own and b"left by zoo" in (process / "cmdline").read_bytes())


def test_modules_that_kill_the_process_are_left_out(tmp_path, document):
    found = json.loads(listed(zoo.write(tmp_path / "zoo", zoo.DIES), tmp_path))
    assert names(found) == names(document)
    assert errors(found)["zoo.dies"] == "the process ended with exit status 7"
    assert errors(found)["zoo.killed"] == "the process was ended by SIGSEGV"


def test_a_module_that_hangs_is_left_out(tmp_path, document):
    found = json.loads(listed(zoo.write(tmp_path / "zoo", zoo.HANGS), tmp_path, limit_s=2.0))
    assert names(found) == names(document)
    assert errors(found)["zoo.hangs"] == "the process did not finish it within 2 s"


def test_methods_are_those_that_a_class_has_from_no_public_class(tmp_path):
    document = json.loads(listed(zoo.write(tmp_path / "zoo"), tmp_path, methods=True))
    methods = {entry["name"]: entry for entry in document["functions"] if entry["kind"] == "method"}
    assert set(methods) == {
        *("zoo.Animal.feed", "zoo.Animal.count", "zoo.Animal.born"),
        *("zoo.animals.Cat.walk", "zoo.animals.Cat.purr"),
    }
    assert methods["zoo.Animal.feed"]["signature"] == "(self, food='hay')"
    assert methods["zoo.Animal.feed"]["aliases"] == ["zoo.animals.Animal.feed"]
    assert document["rule"]["methods"]


def test_the_studys_rule_counts_short_names_of_modules_that_the_import_shows(tmp_path):
    folder = zoo.write(tmp_path / "zoo")
    document = json.loads(listed(folder, tmp_path, as_study=True))
    entries = {entry["name"].rsplit(".", 1)[-1]: entry for entry in document["functions"]}
    assert len(entries) == len(document["functions"])
    # Of zoo.animals and zoo.inner what is there, wherever it is from; zoo.outdated was not imported.
    assert {"walk", "OrderedDict", "grow", "dig", "floor", "Kitty", "Cat"} <= set(entries)
    assert not {"old", "bark", "_Base", "feed"} & set(entries)
    assert document["rule"]["name"] == "study" and document["rule"]["guessed"]
    private = ZOO._replace(study=StudyRule(private=True, methods=True, left_out=("inner",)))
    more = {entry["name"].rsplit(".", 1)[-1]: entry for entry in json.loads(
        listed(folder, tmp_path, library=private, as_study=True)
    )["functions"]}  # fmt: skip
    assert {"_Base", "feed", "_digest", "walk"} <= set(more)
    assert more["feed"]["kind"] == "method"
    assert "dig" not in more


def run(*arguments):
    command = [sys.executable, "-m", "runners", "--framework", "fake", "--device", "cpu", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_runner_lists_the_functions_of_its_framework(tmp_path):
    done = run("--enumerate", "--out", tmp_path, "--version", "1.0.0")
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.iterdir()
    document = json.loads(path.read_text("utf-8"))
    assert path.name == "fake-1.0.0-cpu.functions.json"
    assert {"fake.scale", "fake.Tensor"} <= set(names(document))
    assert documents.first_mistake(documents.checker("functions"), document) == ""


def test_another_version_is_one_error_and_no_file(tmp_path):
    done = run("--enumerate", "--out", tmp_path, "--version", "9.9")
    assert done.returncode == 6
    assert "fake is 1.0.0 here, 9.9 is expected" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_framework_that_cannot_be_imported_is_one_error(tmp_path):
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "__init__.py").write_text("raise ImportError('no libzoo.so')")
    asked = {"out": str(tmp_path / "out"), "flags": [False, False], "limit_s": 60.0, "path": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, json.dumps(dict(asked, library=to_json(ZOO)))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "FrameworkFailed: zoo: ImportError: no libzoo.so" in done.stderr
    assert not (tmp_path / "out").exists()

"""``portbench validate`` and the reading of documents, where tests/examples is not enough."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.errors import BadInput, PortbenchError
from portbench.formats.documents import read_document, validate
from portbench.formats.upgrade import upgrade

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Command = Callable[..., Result]


def test_every_file_is_checked_although_the_first_is_not_valid(
    write: Write, make_run: Callable[..., Document], manifest: Document, portbench: Command
) -> None:
    paths = [write("bad.json", "{"), write("run.json", make_run()), write("manifest.json", manifest)]
    result = portbench("validate", *paths)
    lines = result.stdout.splitlines()
    assert result.exit_code == 2
    assert lines[0].startswith(f"invalid  {paths[0]}: line 1, column 2: not JSON")
    assert lines[-2:] == [f"valid    {paths[1]} (run)", f"valid    {paths[2]} (manifest)"]
    assert "1 of 3 files are not valid" in result.stderr


def test_valid_files_exit_with_status_0(write: Write, manifest: Document, portbench: Command) -> None:
    assert portbench("validate", write("manifest.json", manifest)).exit_code == 0


def test_a_folder_means_its_json_files_without_hidden_ones(write: Write, manifest: Document, tmp_path: Path) -> None:
    expected = [write("f/a.json", manifest), write("f/sub/b.json", manifest)]
    write("f/.cache/c.json", "{")
    write("f/.d.json", "{")
    write("f/notes.txt", "{")
    write("f/x.journal.jsonl", "{")
    assert [verdict.path for verdict in validate([tmp_path / "f"])] == expected


def test_a_folder_without_json_files_is_not_valid(tmp_path: Path, portbench: Command) -> None:
    result = portbench("validate", tmp_path)
    assert result.exit_code == 2
    assert "no .json file in this folder" in result.stdout


def test_json_output(write: Write, manifest: Document, portbench: Command) -> None:
    good, bad = write("good.json", manifest), write("bad.json", "[]")
    result = portbench("validate", "--json", good, bad)
    assert result.exit_code == 2
    first, second = json.loads(result.stdout)
    assert first == {"file": str(good), "kind": "manifest", "valid": True, "problems": [], "remedy": None}
    assert (second["file"], second["kind"], second["valid"]) == (str(bad), None, False)
    assert "not a portbench file" in second["problems"][0]
    assert second["remedy"]


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(BadInput, match="not a regular file"):
        read_document(tmp_path / "pipe.json")
    with pytest.raises(BadInput, match="does not exist"):
        read_document(tmp_path / "absent.json")
    with pytest.raises(BadInput, match="is a folder"):
        read_document(tmp_path)


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'{"schema": "\xff"}')
    with pytest.raises(BadInput, match="byte 12 is not UTF-8"):
        read_document(tmp_path / "x.json")


def test_a_journal_is_refused_as_a_journal(write: Write) -> None:
    with pytest.raises(BadInput, match="journal of an unfinished run") as caught:
        read_document(write("x.journal.jsonl", "{}"))
    assert "--resume" in caught.value.remedy


def test_another_kind_than_the_wanted_one_is_refused(write: Write, manifest: Document) -> None:
    with pytest.raises(BadInput, match="is a manifest, not a run file"):
        read_document(write("m.json", manifest), "run")


@pytest.mark.parametrize("depth", [600, 100_000])
def test_endless_nesting_is_refused(write: Write, manifest: Document, depth: int) -> None:
    text = json.dumps(manifest).replace('[{"tensor"', "[" * depth + '[{"tensor"').replace("1}}]", "1}}]" + "]" * depth)
    with pytest.raises(BadInput, match="nested too deeply"):
        read_document(write("deep.json", text))


def test_other_violations_in_a_run_file_are_counted(write: Write, make_run: Callable[..., Document]) -> None:
    run = {**make_run(), "started_at": 1, "ended_at": 2}
    with pytest.raises(BadInput, match=r"started_at: .*; 1 more in this file"):
        read_document(write("r.json", run))


def test_all_mistakes_of_a_manifest_are_listed_whether_the_schema_or_a_rule_finds_them(
    write: Write, manifest: Document, portbench: Command
) -> None:
    first, second = manifest["functions"][0]["tests"]
    first["id"] = "not a label"
    second["case"] = "torch.rprop:rprop_step"
    manifest["functions"].append(
        {"function": "torch.sum", "tests": [{"id": "a", "case": "call", "expect": {"numpy": "smu"}}]}
    )
    path = write("m.json", manifest)
    places = ["functions[0].tests[0].id", "functions[0].tests[1].case", "functions[1].tests[0].expect.numpy"]
    result = portbench("validate", path)
    lines = [line for line in result.stdout.splitlines() if line.startswith("invalid")]
    assert result.exit_code == 2
    assert [line.split(": ")[1] for line in lines] == [f"$.{place}" for place in places]
    with pytest.raises(BadInput) as caught:
        read_document(path)
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [f"$.{place}" for place in places]


def test_a_hostile_key_cannot_control_the_terminal(write: Write, manifest: Document, portbench: Command) -> None:
    manifest["\x1b[2J\u202e\n[red]"] = 1
    result = portbench("validate", write("m.json", manifest))
    assert 'unknown key "\\u001b[2J\\u202e\\n[red]"' in result.stdout
    assert "\x1b[2J" not in result.stdout


@pytest.mark.parametrize("key", ["params", "args"])
def test_too_deep_nesting_is_one_sentence(write: Write, manifest: Document, portbench: Command, key: str) -> None:
    case = {"case": "call", "expect": {"value": 1}} if key == "args" else {"case": "torch.rprop:rprop_steps"}
    manifest["functions"][0]["tests"] = [{"id": "deep", **case, key: "HERE"}]
    inner = "[" * 600 + "]" * 600
    text = json.dumps(manifest).replace('"HERE"', inner if key == "args" else f'{{"x": {inner}}}')
    path = write("m.json", text)
    assert f"{path}: objects and lists are nested too deeply" in portbench("validate", path).stdout


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("$x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(value, key), *places(inner)]]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_mutated_file_is_accepted_or_refused_with_file_and_path(
    data: st.DataObject,
    make_run: Callable[..., Document],
    make_result: Callable[..., Document],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    document = make_run([make_result()])
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(places(document)))
        if data.draw(st.booleans()) and isinstance(container, dict):
            container[data.draw(st.text(max_size=8))] = container.pop(key)
        else:
            container[key] = data.draw(JUNK)
    path = tmp_path_factory.getbasetemp() / "mutated.json"
    path.write_text(json.dumps(document), "utf-8")
    try:
        # A mutation may give it the number of an older version.
        assert read_document(path).data == upgrade("run", document)
    except PortbenchError as error:
        assert str(error).startswith(f"{path}: ")
        assert "$" in str(error)
        assert str(error).isprintable()
        assert error.remedy

"""``portbench sample``: strata, the draw, exclusions and replacements; a manifest of functions without tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.errors import PortbenchError
from portbench.formats.documents import read_document
from tests.paths import ROOT

STUDY = ROOT / "manifests" / "study"
USES = [1] * 12 + [2] * 9 + list(range(3, 82))


def counts_file(path: Path, functions: list[dict[str, Any]], framework: str = "jax", **changes: Any) -> Path:
    entries = [{"identifier": 2 * entry["resolved"], "files": 1, **entry} for entry in functions]
    total = sum(entry["resolved"] for entry in entries)
    document = {
        "schema": "portbench/counts",
        "schema_version": 1,
        "portbench": "0.1.0",
        "parser": {},
        "corpus": {
            "name": "sources",
            "sha256_sum": "c" * 64,
            "documents": 9,
            "source_bytes": 9,
            "too_large": 0,
            "killed": 0,
        },
        "shard": None,
        "frameworks": [
            {
                "framework": framework,
                "version": "0.4.13",
                "list_sha256": "d" * 64,
                "files": {"counted": 9, "python_2": 0, "broken": 0},
                "kept_bytes": 9,
                "calls": {"identifier": 0, "resolved": total, "both": 0},
                "functions": entries,
            }
        ],
    }
    path.write_text(json.dumps(document | changes))
    return path


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    functions = [{"name": f"jax.numpy.f{place:03}", "resolved": uses} for place, uses in enumerate(USES)]
    return counts_file(tmp_path / "counts.json", [*functions, {"name": "jax.numpy.unused", "resolved": 0}])


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, ["sample", *map(str, words)])


def sampled(counts: Path, out: Path, *words: object) -> dict[str, Any]:
    result = invoke(counts, "-o", out, *words)
    assert result.exit_code == 0, result.exception
    return read_document(out, "manifest").data


def names(manifest: dict[str, Any]) -> set[str]:
    return {entry["function"] for entry in manifest["functions"]}


def message_of(result: Result) -> str:
    assert isinstance(result.exception, PortbenchError)
    assert result.exception.remedy
    return str(result.exception)


def test_the_most_used_and_five_of_each_decile(counts: Path, tmp_path: Path) -> None:
    manifest = sampled(counts, tmp_path / "drawn.json", "--seed", 7)
    top = [entry for entry in manifest["functions"] if entry["stratum"]["top20"]]
    assert [entry["stratum"]["uses"] for entry in top] == list(range(81, 61, -1))
    drawn: dict[int, int] = {}
    for entry in manifest["functions"]:
        if not entry["stratum"]["top20"]:
            drawn[entry["stratum"]["decile"]] = drawn.get(entry["stratum"]["decile"], 0) + 1
    # The two highest deciles are the twenty most used, so that nothing is left to draw there.
    assert drawn == dict.fromkeys(range(1, 9), 5)
    assert manifest["provenance"]["strata"][0] == {"decile": 1, "functions": 12, "least_uses": 1, "most_uses": 1}
    assert manifest["provenance"]["strata"][1]["most_uses"] == 2
    assert all(entry["tests"] == [] for entry in manifest["functions"])
    assert "jax.numpy.unused" not in names(manifest)
    assert (manifest["name"], manifest["written_for"]) == ("drawn", "0.4.13")


def test_the_draw_is_the_documented_one(tmp_path: Path) -> None:
    # Of a, b, c the SHA-256 of "7/jax/jax.NAME" begin with fd (a), 8c (b) and 1c (c), as sha256sum prints them.
    functions = [{"name": f"jax.{letter}", "resolved": 1} for letter in "abc"]
    counts = counts_file(tmp_path / "counts.json", functions)
    manifest = sampled(counts, tmp_path / "x.json", "--seed", 7, "--top", 0, "--per-stratum", 2)
    assert names(manifest) == {"jax.b", "jax.c"}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_functions(counts: Path, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "drawn.json" for folder in "abc"]
    for path, seed in zip(paths, (7, 7, 8), strict=True):
        sampled(counts, path, "--seed", seed)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert names(json.loads(paths[0].read_text())) != names(json.loads(paths[2].read_text()))


def test_an_excluded_function_is_replaced_from_its_decile_with_the_reason(counts: Path, tmp_path: Path) -> None:
    before = sampled(counts, tmp_path / "before.json")
    drawn = next(entry["function"] for entry in before["functions"] if entry["stratum"]["decile"] == 4)
    excluded = [
        {"function": "jax.numpy.f099", "reason": "no_test"},
        {"function": drawn, "reason": "other_version", "note": "gone"},
    ]
    data = {"schema": "portbench/exclusions", "schema_version": 1, "framework": "jax", "exclusions": excluded}
    (tmp_path / "exclusions.json").write_text(json.dumps(data))
    after = sampled(counts, tmp_path / "after.json", "--exclude", tmp_path / "exclusions.json")
    replaced = {entry["function"]: entry for entry in after["provenance"]["replacements"]}
    new = replaced[drawn]["replaced_by"]
    assert replaced[drawn] == {
        "function": drawn,
        "decile": 4,
        "reason": "other_version",
        "note": "gone",
        "replaced_by": new,
    }
    # The most used one has nobody to replace it: its decile holds only others of the most used.
    assert replaced["jax.numpy.f099"]["reason"] == "no_test"
    assert replaced["jax.numpy.f099"]["replaced_by"] is None
    assert {entry["reason"] for entry in replaced.values()} == {"no_test", "other_version", "overlap"}
    assert names(after) == names(before) - {drawn, "jax.numpy.f099"} | {new}


def test_the_papers_counts_give_the_papers_strata(tmp_path: Path) -> None:
    for path in sorted(STUDY.glob("*.json")):
        study = read_document(path, "manifest").data
        strata = {
            entry["function"]: entry["stratum"]
            for entry in study["functions"]
            if {"uses", "decile"} <= entry.get("stratum", {}).keys()
        }
        functions = [
            {"name": name, "resolved": stratum["uses"], "decile": stratum["decile"]} for name, stratum in strata.items()
        ]
        counts = counts_file(tmp_path / f"counts-{path.name}", functions, study["framework"])
        top = sum(bool(stratum.get("top20")) for stratum in strata.values())
        again = sampled(counts, tmp_path / path.name, "--top", top, "--per-stratum", len(strata))
        assert len(strata) > 50
        found = {entry["function"]: entry["stratum"] for entry in again["functions"]}
        assert {name: (s["uses"], s["decile"], s["top20"]) for name, s in found.items()} == {
            name: (s["uses"], s["decile"], bool(s.get("top20"))) for name, s in strata.items()
        }


def test_deciles_computed_from_uses_agree_with_the_papers_order(tmp_path: Path) -> None:
    study = read_document(STUDY / "torch.json", "manifest").data
    stated = {
        entry["function"]: entry["stratum"]
        for entry in study["functions"]
        if not entry.get("stratum", {}).get("top20", True) and "uses" in entry["stratum"]
    }
    functions = [{"name": name, "resolved": stratum["uses"]} for name, stratum in stated.items()]
    counts = counts_file(tmp_path / "counts.json", functions, "torch")
    manifest = sampled(counts, tmp_path / "again.json", "--top", 0, "--per-stratum", 100)
    # Five were drawn of each decile, so tenths of the sample are the deciles, up to the few that were replaced.
    moved = [
        entry["function"]
        for entry in manifest["functions"]
        if abs(entry["stratum"]["decile"] - stated[entry["function"]]["decile"]) > 1
    ]
    assert not moved


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--framework", "torch"], "counts jax, not torch"),
        (["--exclude", "other.json"], "expected jax"),
        (["-o", "a b.json"], "the name without .json names the manifest"),
        (["-o", "counts.json"], "exists already"),
    ],
)
def test_wrong_input_is_an_error(
    words: list[str], message: str, counts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = {"schema": "portbench/exclusions", "schema_version": 1, "framework": "torch", "exclusions": []}
    Path("other.json").write_text(json.dumps(other))
    assert message in message_of(invoke(counts, *(["-o", "x.json"] if "-o" not in words else []), *words))
    assert not Path("x.json").exists()


def test_a_shard_or_unused_functions_are_an_error(tmp_path: Path) -> None:
    unused = [{"name": "jax.jit", "resolved": 0}]
    share = counts_file(tmp_path / "share.json", unused, shard={"shares": [1], "of": 2})
    assert "holds a shard of a corpus" in message_of(invoke(share, "-o", tmp_path / "x.json"))
    nothing = counts_file(tmp_path / "nothing.json", unused)
    assert "no function has a use" in message_of(invoke(nothing, "-o", tmp_path / "x.json"))

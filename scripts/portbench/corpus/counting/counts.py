"""The document that a count writes (schema/counts.schema.json), and the sum of the documents of several shards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from portbench import __version__
from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.part_counts import CorpusCounts
from portbench.errors import Contradiction
from portbench.formats.documents import Document, read_document
from portbench.util.files import write_text
from portbench.util.strict_json import shown
from portbench.util.text import escape_control

PARSER = ("tree-sitter", "tree-sitter-python")
_SUMS = ("documents", "source_bytes", "too_large", "killed")


@dataclass(frozen=True)
class Shard:
    """Share ``number`` (from 1) of ``of`` shares of a corpus: every ``of``-th part."""

    number: int
    of: int


def versions() -> dict[str, str]:
    """The versions of the parsing packages: another version may give other counts."""
    return {package: version(package) for package in PARSER}


def document(counts: CorpusCounts, lists: Sequence[FunctionList], name: str, shard: Shard | None) -> dict[str, Any]:
    """Converts the counts of a corpus called ``name`` to the document of the schema."""
    return {
        "schema": "portbench/counts",
        "schema_version": 1,
        "portbench": __version__,
        "parser": versions(),
        "corpus": {
            "name": name,
            "sha256_sum": f"{counts.sha256_sum:064x}",
            **{key: getattr(counts, key) for key in _SUMS},
        },
        "shard": {"shares": [shard.number], "of": shard.of} if shard else None,
        "frameworks": [
            {
                "framework": functions.framework,
                "version": functions.version,
                "list_sha256": functions.sha256,
                "files": {state: found.files[state] for state in ("counted", "python_2", "broken")},
                "kept_bytes": found.kept_bytes,
                "calls": {
                    "identifier": sum(found.words.values()),
                    "resolved": sum(found.calls.values()),
                    "both": found.by_word,
                },
                "functions": [
                    {
                        "name": function.name,
                        "identifier": found.words[function.word.decode()],
                        "resolved": found.calls[place],
                        "files": found.in_files[place],
                    }
                    for place, function in enumerate(functions.functions)
                ],
            }
            for functions, found in zip(lists, counts.frameworks, strict=True)
        ],
    }


def write(path: Path, data: dict[str, Any]) -> None:
    """Writes a document with one function per line. Raises StorageFailed."""
    text = json.dumps(data, indent=1, ensure_ascii=False)
    for key in ("identifier", "resolved", "files", "decile"):
        text = text.replace(f',\n     "{key}": ', f', "{key}": ')
    write_text(path, text.replace('{\n     "name"', '{"name"').replace("\n    }", "}") + "\n")


def merge(paths: Sequence[Path]) -> dict[str, Any]:
    """Adds up the counts of several shards of one corpus. All shards together equal a count of the whole corpus.

    Raises Contradiction if they are not shards of one count or a share is duplicated, BadInput for another file.
    """
    documents = [read_document(path, "counts") for path in paths]
    first = documents[0]
    for other in documents[1:]:
        _check_same(first, other)
    sums = [document.data for document in documents]
    shares = [share for data in sums for share in (data["shard"] or {"shares": ()})["shares"]]
    if len(set(shares)) != len(shares) or (len(sums) > 1 and first.data["shard"] is None):
        twice = sorted({share for share in shares if shares.count(share) > 1}) or "the whole corpus"
        raise Contradiction(f"counted twice: {twice}", "Give each shard once.")
    merged = json.loads(json.dumps(first.data))
    for data in sums[1:]:
        _add(merged, data)
    of = merged["shard"] and merged["shard"]["of"]
    merged["shard"] = {"shares": sorted(shares), "of": of} if of and len(shares) < of else None
    return dict(merged)


def _add(merged: dict[str, Any], data: dict[str, Any]) -> None:
    corpus = merged["corpus"]
    for key in _SUMS:
        corpus[key] += data["corpus"][key]
    corpus["sha256_sum"] = (
        f"{(int(corpus['sha256_sum'], 16) + int(data['corpus']['sha256_sum'], 16)) % (1 << 256):064x}"
    )
    for mine, others in zip(merged["frameworks"], data["frameworks"], strict=True):
        mine["kept_bytes"] += others["kept_bytes"]
        for group in ("files", "calls"):
            for key, count in others[group].items():
                mine[group][key] += count
        for function, other in zip(mine["functions"], others["functions"], strict=True):
            for key in ("identifier", "resolved", "files"):
                function[key] += other[key]


def _check_same(first: Document, other: Document) -> None:
    for name, mine, others in zip(_FACTS, _facts(first.data), _facts(other.data), strict=True):
        if mine != others:
            raise Contradiction(
                f"{shown(first.path)} and {shown(other.path)} are not shards of one count: "
                f"{name}: {escape_control(json.dumps(mine))} and {escape_control(json.dumps(others))}",
                "Count all shards of one corpus with the same lists and the same portbench.",
            )


_FACTS = ("portbench", "parser", "corpus", "lists of functions", "number of shards")


def _facts(data: dict[str, Any]) -> list[Any]:
    lists = [[entry["framework"], entry["list_sha256"]] for entry in data["frameworks"]]
    return [data["portbench"], data["parser"], data["corpus"]["name"], lists, (data["shard"] or {}).get("of")]

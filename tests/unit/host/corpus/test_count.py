"""``portbench count``: every kind of corpus, wrong input, workers, shards, interruptions."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.corpus.counting import count as counting
from portbench.corpus.counting import pool
from portbench.corpus.counting.count import CountOptions, count
from portbench.corpus.counting.documents import chunks, documents
from portbench.corpus.counting.part_counts import empty
from portbench.errors import Interrupted, PortbenchError
from portbench.formats.documents import read_document

SOURCES = [
    "import torch\ntorch.cat([torch.sum(x)])\nvalues.append(1)\n",
    "import torch.nn.functional as F\nF.relu(F.relu(x))\n",
    "import numpy\nnumpy.cat(x)\n",
    "import torch\nprint 'Python 2'\n",
    "import torch\ndef broken(:\n",
]
NAMES = ["torch.cat", "torch.sum", "torch.nn.Module.append", {"name": "torch.nn.functional.relu", "aliases": []}]


class Silent:
    def begin(self, stored: int, done: int) -> None: ...

    def under_way(self, source: int) -> None: ...

    def part_done(self, stored: int, source: int) -> None: ...


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "names.json"
    path.write_text(json.dumps(NAMES))
    return path


def folder(home: Path) -> Path:
    for place, source in enumerate(SOURCES):
        path = home / "sources" / f"package{place % 2}" / f"module{place}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    (home / "sources" / "notes.txt").write_text("import torch\ntorch.cat(x)\n")
    return home / "sources"


def lines() -> str:
    return "".join(json.dumps({"path": str(place), "content": text}) + "\n" for place, text in enumerate(SOURCES))


def jsonl(home: Path) -> Path:
    path = home / "sources.jsonl"
    path.write_text(lines())
    return path


def jsonl_gz(home: Path) -> Path:
    path = home / "file-000000000001.json.gz"
    path.write_bytes(gzip.compress(lines().encode()))
    return path


def jsonl_zst(home: Path) -> Path:
    path = home / "sources.jsonl.zst"
    path.write_bytes(zstandard.compress(lines().encode()))
    return path


def parquet(home: Path) -> Path:
    path = home / "sources.parquet"
    source = jsonl(home)
    duckdb.execute(f"COPY (SELECT * FROM read_ndjson('{source}')) TO '{path}' (FORMAT parquet)")
    source.unlink()
    return path


def wheel(home: Path) -> Path:
    path = home / "sources.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, source in enumerate(SOURCES):
            archive.writestr(f"package/module{place}.py", source)
        archive.writestr("package/data.txt", "import torch")
    return path


def tar_gz(home: Path) -> Path:
    path = home / "sources.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for place, source in enumerate(SOURCES):
            info = tarfile.TarInfo(f"package/module{place}.py")
            info.size = len(source)
            archive.addfile(info, io.BytesIO(source.encode()))
    return path


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, ["count", *map(str, words)])


def message_of(result: Result) -> str:
    assert isinstance(result.exception, PortbenchError)
    assert result.exception.remedy
    return str(result.exception)


def counted(out: Path) -> dict[str, Any]:
    return read_document(out, "counts").data


@pytest.mark.parametrize("corpus", [folder, jsonl, jsonl_gz, jsonl_zst, parquet, wheel, tar_gz])
def test_every_kind_of_corpus_gives_the_same_counts(
    corpus: Callable[[Path], Path], tmp_path: Path, names: Path
) -> None:
    result = invoke(corpus(tmp_path), "--functions", names, "-o", tmp_path / "out.json", "--workers", 1)
    assert result.exit_code == 0, result.output
    found = counted(tmp_path / "out.json")
    assert {key: found["corpus"][key] for key in ("documents", "source_bytes", "too_large", "killed")} == {
        "documents": 5,
        "source_bytes": sum(map(len, SOURCES)),
        "too_large": 0,
        "killed": 0,
    }
    (entry,) = found["frameworks"]
    assert entry["files"] == {"counted": 2, "python_2": 1, "broken": 1}
    assert entry["calls"] == {"identifier": 5, "resolved": 4, "both": 4}
    assert entry["functions"] == [
        {"name": "torch.cat", "identifier": 1, "resolved": 1, "files": 1},
        {"name": "torch.nn.Module.append", "identifier": 1, "resolved": 0, "files": 0},
        {"name": "torch.nn.functional.relu", "identifier": 2, "resolved": 2, "files": 1},
        {"name": "torch.sum", "identifier": 1, "resolved": 1, "files": 1},
    ]
    assert "20.0 % of the identifiers did not resolve" in result.output
    assert not list(tmp_path.glob("*.parts.jsonl"))


def test_workers_shards_and_archives_do_not_change_the_counts(
    tmp_path: Path, names: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.corpus.counting.corpus._FILES_BYTES", 1)  # a part for each file
    corpus = folder(tmp_path)

    def bytes_of(name: str, *words: object) -> bytes:
        assert invoke(corpus, "--functions", names, "-o", tmp_path / name, *words).exit_code == 0
        return (tmp_path / name).read_bytes()

    one = bytes_of("one.json", "--workers", 1)
    assert bytes_of("three.json", "--workers", 3) == one
    for number in (1, 2, 3):
        assert bytes_of(f"shard{number}.json", "--shard", f"{number}/3", "--workers", 1) != one
    shards = [tmp_path / f"shard{number}.json" for number in (3, 1, 2)]
    assert invoke("--merge", *shards, "-o", tmp_path / "merged.json").exit_code == 0
    assert (tmp_path / "merged.json").read_bytes() == one
    assert "counted twice: [1]" in message_of(invoke("--merge", shards[1], shards[1], "-o", tmp_path / "twice.json"))
    assert invoke("--merge", *shards[:2], "-o", tmp_path / "two.json").exit_code == 0
    assert counted(tmp_path / "two.json")["shard"] == {"shares": [1, 3], "of": 3}
    other = json.loads(shards[2].read_text())
    other["frameworks"][0]["list_sha256"] = "0" * 64
    shards[2].write_text(json.dumps(other))
    assert "lists of functions" in message_of(invoke("--merge", *shards, "-o", tmp_path / "other.json"))


def test_an_interrupted_count_is_resumed(tmp_path: Path, names: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.corpus.counting.corpus._FILES_BYTES", 1)
    corpus = folder(tmp_path)
    whole, out = tmp_path / "whole.json", tmp_path / "out.json"
    assert invoke(corpus, "--functions", names, "-o", whole, "--workers", 1).exit_code == 0
    seen = []

    class Stops(Silent):
        def part_done(self, stored: int, source: int) -> None:
            seen.append(source)
            if len(seen) == 2:
                raise KeyboardInterrupt

    options = CountOptions((str(corpus),), (names,), out, workers=1)
    with pytest.raises(Interrupted):
        count(options, Stops())
    journal = tmp_path / "out.json.parts.jsonl"
    assert not out.exists()
    assert len(journal.read_text().splitlines()) == 3
    with journal.open("a") as file:
        file.write('{"part": "cut off')
    again: list[str] = []
    count_parts = pool.count_parts

    def noting(parts: Any, *rest: Any) -> Any:
        parts = list(parts)
        again.extend(part.key for part in parts)
        return count_parts(parts, *rest)

    monkeypatch.setattr(counting.pool, "count_parts", noting)
    assert invoke(corpus, "--functions", names, "-o", out, "--workers", 1, "--resume").exit_code == 0
    assert len(again) == 3
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("corpus", [jsonl_gz, jsonl_zst])
def test_all_workers_count_one_compressed_stream(
    corpus: Callable[[Path], Path], tmp_path: Path, names: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portbench.corpus.counting.documents.CHUNK_BYTES", 1)
    path, whole, out = corpus(tmp_path), tmp_path / "whole.json", tmp_path / "out.json"
    assert invoke(path, "--functions", names, "-o", whole, "--workers", 1).exit_code == 0
    done = []

    class Stops(Silent):
        def part_done(self, stored: int, source: int) -> None:
            done.append((stored, source))
            if len(done) == 2:
                raise KeyboardInterrupt

    options = CountOptions((str(path),), (names,), out, workers=2)
    with pytest.raises(Interrupted):
        count(options, Stops())
    journal = tmp_path / "out.json.parts.jsonl"
    assert [json.loads(line)["counts"]["documents"] for line in journal.read_text().splitlines()[1:]] == [1, 1]
    assert invoke(path, "--functions", names, "-o", out, "--workers", 1, "--resume").exit_code == 0
    assert out.read_bytes() == whole.read_bytes()


def test_a_line_that_is_too_long_ends_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.corpus.counting.documents._LONGEST_LINE", 100)
    path = tmp_path / "x.jsonl.gz"
    texts = ["a", "b", "x" * 1000, "c", "", "y" * 100]
    path.write_bytes(gzip.compress("".join(json.dumps({"content": text}) + "\n" for text in texts).encode()))
    (part,) = counting.find_parts([str(path)])
    pieces = list(chunks(part, ()))
    assert [list(documents(piece, "content")) for piece in pieces] == [[b"a", b"b", None], [b"c", b"", None]]
    assert sum(piece.size_bytes for piece in pieces) == path.stat().st_size
    assert list(documents(part, "content")) == [b"a", b"b", None, b"c", b"", None]


def test_the_row_groups_of_a_table_are_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    duckdb.execute(
        f"COPY (SELECT 'x = ' || i AS content FROM range(5000) t(i)) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)"
    )
    (whole,) = counting.find_parts([str(path)])
    monkeypatch.setattr("portbench.corpus.counting.corpus._ROW_GROUPS_BYTES", 1)
    parts = counting.find_parts([str(path)])
    assert [(part.start, part.end) for part in parts] == [(0, 2048), (2048, 4096), (4096, 5000)]
    assert [source for part in parts for source in documents(part, "content")] == list(documents(whole, "content"))


def test_the_journal_of_another_count_is_not_resumed(tmp_path: Path, names: Path) -> None:
    out = tmp_path / "out.json"
    (tmp_path / "out.json.parts.jsonl").write_text('{"fingerprint": "another"}\n')
    result = invoke(folder(tmp_path), "--functions", names, "-o", out, "--resume")
    assert "belongs to another corpus" in message_of(result)
    assert not out.exists()


def test_a_document_that_kills_its_worker_is_left_out(tmp_path: Path, names: Path) -> None:
    corpus = folder(tmp_path)
    (corpus / "endless.py").write_text("import torch\n" + "x = torch.cat(y)\n" * 580_000)
    lists = [counting.read(names)]
    limits = pool.Limits(document_cpu_s=0.25)
    total = empty(lists)
    for _, found in pool.count_parts(counting.find_parts([str(corpus)]), lists, "content", 1, limits=limits):
        total.add(found)
    assert (total.documents, total.killed) == (6, 1)
    assert total.frameworks[0].files == {"counted": 2, "python_2": 1, "broken": 1}


def test_a_document_that_is_too_large_is_not_parsed(tmp_path: Path, names: Path) -> None:
    corpus = folder(tmp_path)
    with (corpus / "huge.py").open("wb") as file:
        file.truncate(200_000_000)
    invoke(corpus, "--functions", names, "-o", tmp_path / "out.json", "--workers", 1)
    assert counted(tmp_path / "out.json")["corpus"]["too_large"] == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b'{"content": "x"}\n{"content":\n', "x.jsonl: the line at byte 17 is not JSON"),
        ("x.jsonl", b'{"code": "x"}\n', "has no text under 'content'"),
        ("x.json.gz", b"no gzip", "x.json.gz: damaged"),
        ("x.jsonl.zst", b"no zstandard", "x.jsonl.zst: damaged"),
        ("x.zip", b"no zip", "x.zip: not a zip file"),
        ("x.tar", b"no tar at all", "x.tar: damaged"),
        ("x.parquet", b"no parquet", "x.parquet"),
        ("x.rb", b"puts 1", "unknown kind of corpus"),
    ],
)
def test_wrong_corpus_is_an_error(name: str, content: bytes, message: str, tmp_path: Path, names: Path) -> None:
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.json"
    assert message in message_of(invoke(tmp_path / name, "--functions", names, "-o", out, "--workers", 1))
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "[]", "no list of functions"),
        ("x.json", '["cat"]', 'entry 1: found "cat", expected a dotted name'),
        ("x.json", '["torch.cat", "torch.cat"]', "entry 2: torch.cat is duplicated"),
        ("x.json", '["torch.cat", "jax.jit"]', "functions of several frameworks: jax, torch"),
        ("x.json", '[{"name": "torch.cat", "aliases": [3]}]', "entry 1: found 3"),
        ("x.csv", "function\ntorch.cat\n", "no column 'name'"),
    ],
)
def test_wrong_list_of_functions_is_an_error(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    result = invoke(folder(tmp_path), "--functions", tmp_path / name, "-o", tmp_path / "out.json")
    assert message in message_of(result)


def test_lists_are_read_from_csv_manifests_and_enumerate(tmp_path: Path) -> None:
    forms = {
        "a.csv": "name,aliases\ntf.linalg.matmul,tf.matmul tf.x.matmul\n",
        "b.json": json.dumps(
            {"framework": "tensorflow", "written_for": "2.11.0", "functions": [{"function": "tf.exp"}]}
        ),
        "c.json": json.dumps(
            {"target": {"version": "2.11.0"}, "functions": [{"name": "tf.exp", "aliases": ["tf.y.exp"]}]}
        ),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
    first, second, third = (counting.read(tmp_path / name) for name in forms)
    assert (first.framework, first.root, first.version) == ("tensorflow", b"tensorflow", None)
    assert first.paths == {b"tensorflow.linalg.matmul": 0, b"tensorflow.matmul": 0, b"tensorflow.x.matmul": 0}
    assert (second.version, third.version) == ("2.11.0", "2.11.0")
    assert third.paths == {b"tensorflow.exp": 0, b"tensorflow.y.exp": 0}


def test_no_list_or_two_lists_of_one_framework_is_an_error(tmp_path: Path, names: Path) -> None:
    out = tmp_path / "out.json"
    assert "no list of functions is given" in message_of(invoke(folder(tmp_path), "-o", out))
    both = ("--functions", names, "--functions", names)
    assert "two lists hold functions of torch" in message_of(invoke(folder(tmp_path), *both, "-o", out))

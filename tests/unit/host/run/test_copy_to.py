"""`run --copy-to` writes to an object store and `merge` reads there: an S3 server of this machine, through DuckDB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from portbench.util import remote
from tests.unit.host.clones import COMMAND

MANIFEST = {
    "schema": "portbench/manifest",
    "schema_version": 2,
    "name": "copied",
    "framework": "fake",
    "functions": [{"function": "fake.identity", "tests": [{"id": "same", "case": "fake.behaviours:passes"}]}],
}
RUN = ("run", "fake-cpu", "--manifest", "m.json", "--backend", "current", "--runs", "1", "--protocol", "cold")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Host and port of an S3 server with the bucket ``bucket``."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/bucket", method="PUT")) as answer:
        assert answer.status == 200
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def folder(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, with the server as a persistent secret of DuckDB, and a manifest."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PORTBENCH_PYTHON", sys.executable)
    with remote.connect() as connection:
        connection.execute(
            "CREATE PERSISTENT SECRET (TYPE s3, KEY_ID 'a', SECRET 'b', REGION 'us-east-1', URL_STYLE 'path', "
            f"USE_SSL false, ENDPOINT '{server}')"
        )
    (tmp_path / "m.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def portbench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)


def keys(server: str) -> str:
    with urllib.request.urlopen(f"http://{server}/bucket?list-type=2") as answer:
        return str(answer.read(), "utf-8")


def test_a_run_file_is_copied_and_a_study_merged_from_the_store(folder: Path, server: str) -> None:
    done = portbench(folder, *RUN, "--copy-to", "s3://bucket/of 'mine'/", "--json")
    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    here = Path(target["run_file"])
    assert here.is_file()
    assert target["copy"] == f"s3://bucket/of 'mine'/{here.name}"
    assert here.name in keys(server)
    copied = portbench(folder, "merge", "s3://bucket/**/*.json", "-o", "study")
    assert "1 run file added" in copied.stdout, copied.stderr
    local = portbench(folder, "merge", "results", "-o", "study")
    assert "0 run files added, 1 already there" in local.stdout, local.stderr


def test_a_copy_that_fails_leaves_the_local_file_and_resume_only_copies(folder: Path, server: str) -> None:
    refused = portbench(folder, *RUN, "--copy-to", "s3://nowhere/results", "--json")
    assert refused.returncode == 5
    assert refused.stderr.count("error:") == 1
    (target,) = json.loads(refused.stdout)["targets"]
    assert target["copy"] is None and target["outcomes"] == {"passed": 1}
    assert "s3://nowhere/results/" in refused.stderr and "cannot be written" in refused.stderr
    assert f"The file is complete here: {target['run_file']}" in refused.stderr
    before = Path(target["run_file"]).read_bytes()
    again = portbench(folder, *RUN, "--copy-to", "s3://bucket/again", "--resume")
    assert again.returncode == 0, again.stderr
    assert "was complete already" in again.stdout and "copied to s3://bucket/again/" in again.stdout
    assert [path.read_bytes() for path in (folder / "results").iterdir()] == [before]
    assert f"again/{Path(target['run_file']).name}" in keys(server)


@pytest.mark.parametrize("url", ["results", "https://example.org/x", "s3://", "s3:///x", "s3://bucket/*"])
def test_what_is_no_folder_of_a_store_is_wrong_usage_before_anything_runs(folder: Path, url: str) -> None:
    done = portbench(folder, *RUN, "--copy-to", url)
    assert done.returncode == 2
    assert "expected a folder in an object store, such as s3://bucket/results" in " ".join(done.stderr.split())
    assert not (folder / "results").exists()


def test_without_the_extension_nothing_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = folder / "hidden" / "duckdb_extension_httpfs"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(__name__)")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")]))
    done = portbench(folder, *RUN, "--copy-to", "s3://bucket/results")
    assert done.returncode == 5
    assert "duckdb-extension-httpfs is missing" in done.stderr
    assert not (folder / "results").exists()

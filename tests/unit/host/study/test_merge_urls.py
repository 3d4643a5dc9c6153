"""Run files from a web server, as an example of the stores that DuckDB's extension httpfs reads."""

from __future__ import annotations

import functools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import BadInput, StorageFailed
from portbench.study.merge import merge

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server that serves the folder ``served``."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_run_file_is_read_from_a_url_and_is_the_same_as_its_copy(
    server: str, write: Write, make_run: Make, tmp_path: Path
) -> None:
    copy = write("served/run.json", make_run())
    study = tmp_path / "study"
    assert merge([f"{server}/run.json"], study).added == 1
    again = merge([str(copy), f"{server}/run.json"], study)
    assert (again.added, again.known) == (0, 1)


def test_an_error_names_the_url(server: str, write: Write, make_run: Make, tmp_path: Path) -> None:
    write("served/run.json", json.dumps(make_run())[:-20])
    with pytest.raises(BadInput, match=f"{server}/run.json: line 1, column .*truncated"):
        merge([f"{server}/run.json"], tmp_path / "study")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("url", ["{server}/nowhere.json", "http://127.0.0.1:1/x.json"])
def test_a_url_that_cannot_be_read_has_a_remedy(url: str, server: str, tmp_path: Path) -> None:
    url = url.format(server=server)
    with pytest.raises(StorageFailed, match=f"{url} cannot be read") as caught:
        merge([url], tmp_path / "study")
    assert "copy the files here" in caught.value.remedy


def test_without_the_extension_the_error_names_the_package(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb_extension_httpfs", None)
    with pytest.raises(StorageFailed, match="duckdb-extension-httpfs is missing") as caught:
        merge([f"{server}/run.json"], tmp_path / "study")
    assert caught.value.remedy

"""``pytest --portbench-record=FOLDER``: records what the tests call.

Under pytest-xdist each worker records a part, and the controller makes the manifests at the end. Tests that run in
processes of their own are recorded where they are forked (multiprocessing, pytest-forked).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import portbench_recorder
from portbench_recorder import folder as folders
from portbench_recorder.manifests import NotRecorded, write_manifests

_OPTION = "portbench_record"
_lines: list[str] = []


def pytest_addoption(parser: Any) -> None:
    """Adds the options."""
    group = parser.getgroup("portbench")
    group.addoption(
        "--portbench-record",
        metavar="FOLDER",
        default=None,
        help="Record which functions of PyTorch, JAX or TensorFlow the tests call, as manifests for portbench.",
    )
    group.addoption(
        "--portbench-record-values",
        action="store_true",
        default=False,
        help="Keep arrays of up to 64 elements as they are. Without it no value of the program is kept.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Begins before any conftest.py imports a framework."""
    options = early_config.known_args_namespace
    folder = _folder(options)
    if folder is None:
        return
    if not _will_be_worker(options):
        if portbench_recorder.is_active():
            raise pytest.UsageError("'portbench record' records these tests already: leave out --portbench-record")
        try:
            folders.prepare(folder)
        except (folders.NotOurs, OSError) as error:
            raise pytest.UsageError(f"--portbench-record: {error}") from error
    portbench_recorder.start(folder, values=options.portbench_record_values)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: Any) -> None:
    """Writes the part of this process; the controller, whose workers have ended, makes the manifests."""
    folder = _folder(session.config.option)
    if folder is None:
        return
    portbench_recorder.stop()
    if hasattr(session.config, "workerinput"):
        return
    try:
        written = write_manifests(folder, "pytest")
        _lines.append(f"portbench: recorded {', '.join(map(str, written))}")
    except (NotRecorded, OSError) as error:
        _lines.append(f"portbench: {error}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says which manifests were written, or why none was."""
    while _lines:
        terminalreporter.write_line(_lines.pop(0))


def _folder(options: Any) -> Path | None:
    given = getattr(options, _OPTION, None)
    return Path(given).absolute() if given else None


def _will_be_worker(options: Any) -> bool:
    """Whether this is a worker of pytest-xdist. A pytest that a test in a worker starts inherits the variable, too, but
    shows its progress."""
    return "PYTEST_XDIST_WORKER" in os.environ and "no:terminal" in (getattr(options, "plugins", None) or ())

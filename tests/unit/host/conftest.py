"""Builders of realistic documents for the tests of the host side."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

from portbench.cli import cli

# A change must not fail for an input that was drawn by chance. `make fuzz` draws new ones.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("random", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

Document = dict[str, Any]

TRACEBACK = 'Traceback (most recent call last):\n  File "call.py", line 8, in run\n'


def result_document(function: str = "torch.cat", test: str = "rows", run: int = 1, **facts: Any) -> Document:
    """A result: passed, cold 1 ms + 0.5 ms of wait, steady 20 µs per call in three blocks of 100.

    ``facts`` replace keys. Another outcome adds the facts that belong to it.
    """
    outcome = facts.get("outcome", "passed")
    result: Document = {
        "function": function,
        "test": test,
        "run": run,
        "case": "call",
        "outcome": outcome,
        "reason": None,
        "phase": None,
        "category": None,
        "error": None,
        "exit": None,
        "placement": {"verdict": "device", "evidence": ["output on cpu"]},
        "calls": [],
        "output": {"text": "", "total_bytes": 0},
        "worker": 1,
        "case_ns": 2_000_000,
    }
    if outcome == "passed":
        result["calls"] = [timed_call()]
    elif outcome == "failed":
        error = {"type": "RuntimeError", "message": "it does not work", "traceback": TRACEBACK, "causes": []}
        result |= {"phase": "call", "category": "other", "error": error}
    elif outcome == "error":
        error = {"type": "KeyError", "message": "flot32", "traceback": TRACEBACK, "causes": []}
        result |= {"phase": "inputs", "error": error}
    elif outcome == "skipped":
        result |= {"category": "removed", "reason": f"{function} is not in this version", "worker": 0, "case_ns": 0}
        result["placement"] = {"verdict": "unknown", "evidence": []}
    elif outcome is not None:
        signal = "SIGKILL" if outcome == "timed_out" else "SIGSEGV"
        ended = {"code": None, "signal": signal, "oom_killed": False, "peak_memory_bytes": 300_000_000}
        reason = "no result within 900 s" if outcome == "timed_out" else "the worker was ended by SIGSEGV"
        category = "timeout" if outcome == "timed_out" else "crash"
        result |= {"phase": "call", "category": category, "exit": ended, "reason": reason}
        result["placement"] = {"verdict": "unknown", "evidence": []}
    return result | facts


def timed_call(
    call_ns: int = 1_000_000,
    wait_ns: int = 500_000,
    block_ns: tuple[int, ...] = (2_000_000, 2_000_000, 2_100_000),
    calls_per_block: int = 100,
) -> Document:
    """One timed call with both protocols."""
    return {
        "cold": {"call_ns": call_ns, "wait_ns": wait_ns, "counters": {"compilations": 1}},
        "steady": {
            "warmup_calls": 5,
            "calls_per_block": calls_per_block,
            "block_ns": list(block_ns),
            "stable": True,
            "unmet": [],
            "median_interval_fraction": 0.01,
        },
    }


def run_document(results: list[Document] | None = None, **changes: Any) -> Document:
    """A run file of torch 2.9.0 on the CPU of machine ``box``. Its run_id is a digest of the rest.

    ``changes`` replace keys of the document. ``target`` ("torch-2.9.0-cpu"), ``machine``, ``manifest`` (its name) and
    ``sync`` and ``cold`` replace the value of that name.
    """
    framework, version, device = changes.pop("target", "torch-2.9.0-cpu").split("-", 2)
    document: Document = {
        "schema": "portbench/run",
        "schema_version": 7,
        "run_id": "0" * 32,
        "target": {"framework": framework, "version": version, "device": device},
        "manifest": {"name": changes.pop("manifest", f"study-{framework}"), "sha256": "a" * 64, "selection": []},
        "protocol": {
            "name": "both",
            "runs": 3,
            "timeout_s": 900.0,
            "steady_budget_s": 0.1,
            "shuffle": None,
            "mutant": None,
            "sync": changes.pop("sync", "complete"),
            **({"cold": changes.pop("cold")} if "cold" in changes else {}),
        },
        "environment": {
            "machine": changes.pop("machine", "box"),
            "os": "Debian GNU/Linux 12 (bookworm)",
            "kernel": "6.1.0-18-amd64",
            "cpu_model": "AMD EPYC 7B13",
            "cpu_cores": 2,
            "memory_bytes": 25_000_000_000,
            "container": None,
            "image_digest": None,
            "python": "3.10.13",
            "packages": {framework: version, "numpy": "1.26.4"},
            "runner_commit": "0" * 40,
            "runner_sha256": "b" * 64,
            "variables": {"OMP_NUM_THREADS": "2"},
            "device": {"model": "AMD EPYC 7B13", "threads": 2, "tf32": False},
        },
        "started_at": "2026-11-21T09:00:00.123Z",
        "ended_at": "2026-11-21T09:10:00Z",
        "results": [result_document(run=run) for run in (1, 2, 3)] if results is None else results,
    }
    document |= {key: value for key, value in changes.items() if key in document}
    if "run_id" not in changes:
        document["run_id"] = hashlib.sha256(json.dumps(document).encode()).hexdigest()[:32]
    return document


def manifest_document() -> Document:
    """A manifest with a test that is data, over a grid, and one whose case is code."""
    return {
        "schema": "portbench/manifest",
        "schema_version": 1,
        "name": "study-torch",
        "framework": "torch",
        "functions": [
            {
                "function": "torch.argsort",
                "stratum": {"decile": 9, "uses": 111},
                "tests": [
                    {
                        "id": "rows",
                        "case": "call",
                        "grid": {"dtype": ["float32", "int32"], "axis": [0, 1]},
                        "args": [{"tensor": {"shape": [64, 128], "dtype": "$dtype", "seed": 1}}],
                        "kwargs": {"dim": "$axis"},
                        "expect": {"numpy": "argsort", "kwargs": {"axis": "$axis"}},
                    },
                    {"id": "stable", "case": "torch.rprop:rprop_steps", "params": {"steps": 64}},
                ],
            }
        ],
    }


@pytest.fixture(scope="session")
def make_result() -> Callable[..., Document]:
    """See ``result_document``."""
    return result_document


@pytest.fixture(scope="session")
def make_call() -> Callable[..., Document]:
    """See ``timed_call``."""
    return timed_call


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Document]:
    """See ``run_document``."""
    return run_document


@pytest.fixture
def manifest() -> Document:
    """See ``manifest_document``."""
    return manifest_document()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Writes a document, or text, to a file below the test's folder, and creates the folders."""

    def write_file(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return write_file


@pytest.fixture
def portbench() -> Callable[..., Result]:
    """Runs a command in this process. A PortbenchError is the result's ``exception``."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [str(argument) for argument in arguments])

    return run

"""Replays a recorded manifest on the CPU in one process: much faster than ``portbench run``, without its isolation.

    python -m tests.programs.replay MANIFEST      # in an environment of the framework

Prints a JSON object: the number of tests, and for each that did not pass its function, id and message.
"""

from __future__ import annotations

import json
import mmap
import sys
import time
from pathlib import Path
from typing import Any

from runners.core.process.second_looks import SEED
from runners.core.public import permitted
from runners.core.testing import cases
from runners.core.testing.trial import Trial


def replay(manifest: dict[str, Any]) -> dict[str, Any]:
    """Runs all tests of a manifest but whole programs; see the module."""
    import importlib

    framework = manifest["framework"]
    adapter = importlib.import_module(f"runners.{framework}.adapter")
    device = adapter.open_device("cpu")
    tests, failures = 0, []
    for entry in manifest["functions"]:
        for test in entry["tests"]:
            if test["case"] == "program":
                continue
            tests += 1
            try:
                _run(framework, entry["function"], test, adapter, device)
            except Exception as error:
                message = f"{type(error).__name__}: {error}"[:300]
                failures.append({"function": entry["function"], "test": test["id"], "message": message})
    return {"tests": tests, "failures": failures}


def _run(framework: str, function: str, test: dict[str, Any], adapter: Any, device: Any) -> None:
    found = permitted.function(function, framework, private_names=True)
    names = ("args", "kwargs", "gradient", "autocast")
    parameters = {name: test[name] for name in names if name in test} if test["case"] == "replay" else test["params"]
    with adapter.full_precision(), adapter.scope(device):
        adapter.seed(SEED)
        trial = Trial(framework, found, adapter, device, mmap.mmap(-1, 1), time.perf_counter_ns)
        cases.case(test["case"])(trial, **parameters)
        trial.finish()


if __name__ == "__main__":
    json.dump(replay(json.loads(Path(sys.argv[1]).read_text("utf-8"))), sys.stdout, indent=1)

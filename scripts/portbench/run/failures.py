"""Which tests of a run file failed: for the end of a run, and to run them again.

A test fails if any of its runs does. A test whose inputs could not be made has the outcome ``error``: this is a mistake
in the manifest, and such tests come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from portbench.util.messages import first_line
from portbench.util.repository import Checkout
from portbench.util.strict_json import read_json, shown

Data = Mapping[str, Any]


@dataclass(frozen=True)
class FailedTest:
    """A test that did not pass. ``message`` is the first line that says why; ``runs`` counts the runs that ended so.

    ``listed_as`` is the function's name in the manifest, which differs for a successor.
    """

    function: str
    test: str
    outcome: str
    category: str | None
    message: str
    runs: int
    listed_as: str

    @property
    def full_id(self) -> str:
        """As --test takes it: ``torch.argsort::rows[dtype=float32]``."""
        return f"{self.listed_as}::{self.test}"


@dataclass(frozen=True)
class FailedRun:
    """The failed tests of a run file, and what it was a run of."""

    path: Path
    framework: str
    target: str
    manifest: str
    """The name in the manifest."""
    tests: tuple[FailedTest, ...]


def failed_tests(run: Data) -> tuple[FailedTest, ...]:
    """The tests of a run file that did not pass, in its order, mistakes in the manifest first.

    Tests that were skipped, and those of functions that this version removed, have not failed.
    """
    found: dict[tuple[str, str], list[Data]] = {}
    for result in run.get("results", ()):
        if result["outcome"] not in ("passed", "skipped", None):
            found.setdefault((result["function"], result["test"]), []).append(result)
    tests = [_failed_test(results) for results in found.values()]
    return tuple(sorted(tests, key=lambda test: test.outcome != "error"))


def _failed_test(results: list[Data]) -> FailedTest:
    first = results[0]
    error = first["error"] or {}
    text = first["reason"] or error.get("message") or error.get("type") or ""
    return FailedTest(
        function=first["function"],
        test=first["test"],
        outcome=first["outcome"],
        category=first["category"],
        message=first_line(text) or text.strip(),
        runs=len(results),
        listed_as=first.get("successor_of") or first["function"],
    )


def read_failed(path: Path) -> FailedRun:
    """The failed tests of a run file. Raises BadInput where it is none."""
    data = read_document(path, "run").data
    target = data["target"]
    name = f"{target['framework']}-{target['version']}-{target['device']}"
    return FailedRun(path, target["framework"], name, data["manifest"]["name"], failed_tests(data))


def manifest_of(failed: FailedRun, checkout: Checkout) -> str:
    """The name, for --manifest, of the manifest in this clone that a run file names. Raises BadInput."""
    for path in sorted(checkout.manifests.glob(f"*/{failed.framework}.json")):
        data = read_json(path).data
        if isinstance(data, dict) and data.get("name") == failed.manifest:
            return path.parent.name
    raise BadInput(
        f"{shown(failed.path)} is a run of manifest {failed.manifest!r}, which is not in {shown(checkout.manifests)}",
        "Give the manifest's file with --manifest.",
    )

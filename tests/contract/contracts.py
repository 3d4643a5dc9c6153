"""What the contract tests run, and how their results are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from portbench.run.known_failures import check_run, find_known_failures
from portbench.util.repository import Checkout
from runners.core.manifest import read as read_manifest
from tests.paths import ROOT

VERSIONS = {
    "torch": ("1.12.0", "2.9.0"),
    "tensorflow": ("2.11.0", "2.21.0"),
    "jax": ("0.4.13", "0.12.0.1"),
}
CPU_TARGETS = [f"{framework}-{version}-cpu" for framework, versions in VERSIONS.items() for version in versions]
XLA_TARGETS = [target.replace("-cpu", "-xla") for target in CPU_TARGETS if target != "torch-1.12.0-cpu"]
TARGETS = [*CPU_TARGETS, *XLA_TARGETS]
"""torch_xla of PyTorch 1.12 is not in the package index."""

FUNCTIONS = {"torch": 63, "tensorflow": 65, "jax": 63}
"""How many there are in the study."""


def known_failures(framework: str, version: str) -> dict[tuple[str, str], str]:
    """What fails on the CPU of a version, by function and test, with its category: manifests/study/expected says it."""
    path = ROOT / "manifests" / "study" / "expected" / f"{framework}-cpu.json"
    listed = json.loads(path.read_text("utf-8"))["versions"].get(version, [])
    return {(each["function"], each["test"]): each["category"] for each in listed if each["category"] != "removed"}


def timed_tests(framework: str) -> set[tuple[str, str]]:
    """The tests of the study that are timed, by function and test; the others only check values."""
    path = ROOT / "manifests" / "study" / f"{framework}.json"
    return {(test.function, test.id) for test in read_manifest(path, framework).tests if test.timed}


FEW = {
    "torch": (
        "torch.argsort",
        "torch.nn.Conv2d",
        "torch.optim.Adamax",
        "torch.utils.data.Dataset",
        "torch.multinomial",
    ),
    "tensorflow": ("tf.linalg.svd", "tf.lookup.*", "tf.numpy_function", "tf.data.Dataset.shard", "tf.*.Session.run"),
    "jax": ("jax.make_jaxpr", "jax.lax.pmax", "jax.numpy.linalg.svd", "jax.scipy.linalg.lu", "jax.random.PRNGKey"),
}
"""Functions of the study that depend most on where they run: files, threads, worker processes, linear algebra."""

THIRD = "2/3"
"""The shard of their tests for what only needs some of each: all of them run in the whole study."""


def versions(framework: str) -> list[Any]:
    """The versions of a framework as parameters of a test; what is tried in the study's version is slow."""
    study, current = VERSIONS[framework]
    return [pytest.param(study, marks=pytest.mark.slow), pytest.param(current)]


def study_of(run_manifest: Any, framework: str, few: bool = False) -> dict[str, Any]:
    """The study in its own version, two runs, each in an order of its own: all, or a third of the tests of few of its
    functions."""
    selected = {"function": list(FEW[framework]), "shard": THIRD} if few else {}
    # What is tested is that there are steady times, not how exact they are.
    options = {"runs": 2, "protocol": "both", "shuffle": 7, "steady_budget": 0.005, **selected}
    document: dict[str, Any] = run_manifest(framework, VERSIONS[framework][0], "study", **options)
    return document


def current_of(run_manifest: Any, framework: str, **selection: str) -> dict[str, Any]:
    """The study in the current version, or a selection of it."""
    options = {"runs": 1, "protocol": "cold", **selection}
    document: dict[str, Any] = run_manifest(framework, VERSIONS[framework][1], "study", **options)
    return document


def findings(document: dict[str, Any]) -> dict[tuple[str, str], str]:
    """What did not pass, by function and test: the category, or the outcome where it has none. Functions that are not
    in the version are left out."""
    return {
        (result["function"], result["test"]): result["category"] or result["outcome"]
        for result in document["results"]
        if result["outcome"] != "passed" and result["category"] != "removed"
    }


def is_as_known(document: dict[str, Any]) -> bool:
    """Whether what failed is what manifests/study/expected lists for the version."""
    check = check_run(document, find_known_failures(document, Checkout(ROOT)))
    return check.is_stated and check.is_clean


def removed(document: dict[str, Any]) -> set[str]:
    """The functions that are not in the version."""
    return {result["function"] for result in document["results"] if result["category"] == "removed"}


def outcomes(document: dict[str, Any]) -> dict[str, dict[str, set[str]]]:
    """Per function and test, the outcomes over the runs."""
    found: dict[str, dict[str, set[str]]] = {}
    for result in document["results"]:
        found.setdefault(result["function"], {}).setdefault(result["test"], set()).add(result["outcome"])
    return found

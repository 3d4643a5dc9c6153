"""The paper's PyTorch functions on the CPU: checks beyond passing in the paper's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.contracts import (
    VERSIONS,
    current_of,
    findings,
    is_as_known,
    known_failures,
    removed,
    study_of,
)

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.xdist_group("study of torch")]

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def study(run_manifest: Run) -> dict[str, Any]:
    return study_of(run_manifest, "torch")


def test_the_current_version_has_every_function_and_changed_one(run_manifest: Run, study: dict[str, Any]) -> None:
    current = current_of(run_manifest, "torch")
    assert is_as_known(current)
    assert removed(current) == set()
    found = findings(study)
    known = known_failures("torch", VERSIONS["torch"][0])
    assert {test: found.pop(test, None) for test in known} == known
    # The paper's version has no argument for the generator.
    assert found.pop(("torch.nn.init.xavier_uniform_", "generator")) == "skipped"
    assert findings(current) == {**found, **known_failures("torch", VERSIONS["torch"][1])}


def test_all_tensors_are_on_the_device(study: dict[str, Any]) -> None:
    assert {result["placement"]["verdict"] for result in study["results"]} == {"device", "unknown"}


def test_only_repeatable_calls_have_steady_times(study: dict[str, Any]) -> None:
    repeated = {
        result["test"]: [call["steady"] is not None for call in result["calls"]]
        for result in study["results"]
        if result["function"] in ("torch.multinomial", "torch.optim.Adamax")
    }
    assert repeated["generator"] == [True, False, False]
    assert repeated["steps"] == [False] * 4 + [True]
    assert repeated["lowers-loss"] == [False] * 20

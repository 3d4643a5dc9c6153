"""The paper's PyTorch functions on the CPU: checks beyond passing in the paper's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.contracts import WRONG_IN_THE_STUDY, current_of, findings, is_as_known, removed, study_of

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.xdist_group("study of torch")]

Run = Callable[..., dict[str, Any]]

CHANGED = {
    # gelu(+inf) is inf in 1.12.0 and nan in 2.9.0.
    ("torch.nn.GELU", "infinity[dtype=float32,approximate=none]"): "other",
    # gelu(3.3e38) is 3.3e38 in 1.12.0 and inf in 2.9.0.
    ("torch.nn.GELU", "largest[approximate=none]"): "other",
}


@pytest.fixture
def study(run_manifest: Run) -> dict[str, Any]:
    return study_of(run_manifest, "torch")


def test_the_current_version_has_every_function_and_changed_one(run_manifest: Run, study: dict[str, Any]) -> None:
    current = current_of(run_manifest, "torch")
    assert is_as_known(current)
    assert removed(current) == set()
    found = findings(study)
    assert {test: found.pop(test, None) for test in WRONG_IN_THE_STUDY} == WRONG_IN_THE_STUDY
    assert findings(current) == {**found, **CHANGED}


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

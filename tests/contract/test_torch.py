"""The study's PyTorch functions on the CPU: what holds beyond their passing in the study's version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contracts import VERSIONS, outcomes

pytestmark = pytest.mark.frameworks

Run = Callable[..., dict[str, Any]]

STUDY, CURRENT = VERSIONS["torch"]

HOLDS_TENSORS = {
    # What these give back is no tensor but something that holds some, or nothing at all.
    "torch.distributions.von_mises.VonMises",
    "torch.nn.Conv2d",
    "torch.nn.LSTMCell",
    "torch.optim.Adamax",
    "torch.utils.data.Dataset",
}


@pytest.fixture
def study(run_manifest: Run) -> dict[str, Any]:
    return run_manifest("torch", STUDY, "study", runs=2, protocol="both")


def test_the_current_version_has_every_function_and_changed_none(run_manifest: Run, study: dict[str, Any]) -> None:
    current = run_manifest("torch", CURRENT, "study", runs=2, protocol="cold")
    assert outcomes(current) == outcomes(study)


def test_tensors_come_back_on_the_device(study: dict[str, Any]) -> None:
    unknown = {result["function"] for result in study["results"] if result["placement"]["verdict"] != "device"}
    assert unknown <= HOLDS_TENSORS
    assert {result["placement"]["verdict"] for result in study["results"]} == {"device", "unknown"}


def test_only_what_can_be_repeated_has_a_steady_time(study: dict[str, Any]) -> None:
    repeated = {
        result["test"]: [call["steady"] is not None for call in result["calls"]]
        for result in study["results"]
        if result["function"] in ("torch.multinomial", "torch.optim.Adamax")
    }
    assert repeated["generator"] == [True, False, False]
    assert repeated["steps"] == [False] * 4 + [True]
    assert repeated["lowers-loss"] == [False] * 20

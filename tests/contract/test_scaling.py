"""The sizes of manifests/scaling, the small ones, in the newest version that each was written for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portbench.scaling.read import read_scaling
from tests.contract.contracts import VERSIONS
from tests.paths import ROOT

SMALL = ["sizes[n=?]", "sizes[n=??]", "sizes[n=???]", "sizes[n=1000]"]


@pytest.mark.frameworks
@pytest.mark.parametrize("framework", VERSIONS)
def test_every_function_passes_and_has_a_time_at_each_small_size(run_manifest, tmp_path: Path, framework: str) -> None:
    version = VERSIONS[framework][1]
    document = run_manifest(framework, version, "scaling", runs=1, protocol="scaling", test=SMALL, steady_budget=0.005)
    failed = [(each["function"], each["test"]) for each in document["results"] if each["outcome"] != "passed"]
    assert failed == []
    manifest = json.loads((ROOT / "manifests" / "scaling" / f"{framework}.json").read_text("utf-8"))
    assert manifest["written_for"] == version
    (tmp_path / "run.json").write_text(json.dumps(document), "utf-8")
    (side,) = read_scaling([tmp_path]).sides
    assert {family.function for family in side.points} == {entry["function"] for entry in manifest["functions"]}
    timed = [point for points in side.points.values() for point in points]
    assert all(point.median_ns for point in timed)
    # Only methods without tensors in their arguments have no size in bytes.
    unknown = {family.function for family, points in side.points.items() if any(not point.bytes for point in points)}
    assert unknown <= {"torch.optim.Rprop", "tf.lookup.KeyValueTensorInitializer"}

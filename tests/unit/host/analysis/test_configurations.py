"""The sides of a study: their order, their devices, and which two are compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from portbench.analysis.configurations import Configuration, device_model, pairs_of_devices, pairs_of_models, sides
from tests.unit.host.opened_study import opened

Document = dict[str, Any]
Make = Callable[..., Document]


def on(make_run: Make, target: str, machine: str, sync: str = "complete", **device: Any) -> Document:
    """A run file of a target on a machine with these facts of its device."""
    document = make_run(target=target, machine=machine, sync=sync)
    document["environment"]["device"] = device
    return document


def test_configurations_sort_by_synchronization_then_version_as_numbers(make_run: Make, tmp_path: Path) -> None:
    documents = [
        on(make_run, "jax-0.10.2-gpu", "a"),
        on(make_run, "jax-0.4.8-gpu", "b"),
        on(make_run, "jax-0.4.8-gpu", "a", sync="as-published"),
        on(make_run, "jax-0.4.8-gpu", "a"),
    ]
    assert [str(side) for side in sides(opened(documents, tmp_path))] == [
        "jax-0.4.8-gpu on a",
        "jax-0.4.8-gpu on b",
        "jax-0.10.2-gpu on a",
        "jax-0.4.8-gpu on a (synchronization as published)",
    ]


def test_the_device_is_named_by_its_environment(make_run: Make, tmp_path: Path) -> None:
    documents = [
        on(make_run, "torch-1.12.0-gpu", "t4", model="Tesla T4"),
        on(make_run, "torch-1.12.0-tpu", "typed", accelerator_type="v3-8", generation="v2 or v3"),
        on(make_run, "jax-0.4.8-tpu", "named", model="TPU v2"),
        on(make_run, "torch-1.12.0-tpu", "bus", generation="v4"),
        on(make_run, "torch-1.12.0-cpu", "box", threads=2),
        on(make_run, "torch-1.12.0-gpu", "silent"),
    ]
    found = {side.machine: model for side, model in device_model(opened(documents, tmp_path)).items()}
    assert found == {
        "t4": "Tesla T4",
        "typed": "TPU v3-8",
        "named": "TPU v2",
        "bus": "TPU v4",
        "box": "AMD EPYC 7B13",
        "silent": None,
    }


def test_a_device_that_was_exchanged_has_no_name() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE runs (framework VARCHAR, version VARCHAR, device VARCHAR, machine VARCHAR, sync VARCHAR, "
            "environment VARCHAR)"
        )
        for machine, model in (("both", "Tesla T4"), ("both", "Tesla V100"), ("one", "Tesla T4"), ("one", "Tesla T4")):
            environment = json.dumps({"device": {"model": model}})
            connection.execute("INSERT INTO runs VALUES ('jax', '1', 'gpu', ?, NULL, ?)", [machine, environment])
        found = {side.machine: model for side, model in device_model(connection).items()}
    assert found == {"both": None, "one": "Tesla T4"}


def side(device: str, machine: str, version: str = "0.4.8", sync: str = "complete") -> Configuration:
    return Configuration("jax", version, device, machine, sync)


def test_the_baseline_is_the_gpu_then_the_tpu_xla_and_cpu() -> None:
    every = [side(device, "a") for device in ("cpu", "tpu", "xla", "gpu")]
    assert [(first.device, second.device) for first, second in pairs_of_devices(every)] == [
        ("gpu", "cpu"),
        ("gpu", "tpu"),
        ("gpu", "xla"),
        ("tpu", "cpu"),
        ("tpu", "xla"),
        ("xla", "cpu"),
    ]


def test_devices_of_other_versions_or_clocks_are_no_pair() -> None:
    assert pairs_of_devices([side("gpu", "a"), side("tpu", "b", "0.4.9"), side("tpu", "b", sync="as-published")]) == []


def test_pairs_cross_machines_only_without_a_partner_on_the_same_machine() -> None:
    every = [side("gpu", "a"), side("cpu", "a"), side("gpu", "b"), side("cpu", "b"), side("tpu", "c")]
    found = {
        (f"{first.device} {first.machine}", f"{second.device} {second.machine}")
        for first, second in pairs_of_devices(every)
    }
    assert found == {
        ("gpu a", "cpu a"),
        ("gpu b", "cpu b"),
        ("gpu a", "tpu c"),
        ("gpu b", "tpu c"),
        ("tpu c", "cpu a"),
        ("tpu c", "cpu b"),
    }


def test_newer_hardware_is_known_by_capability_or_generation_only(make_run: Make, tmp_path: Path) -> None:
    documents = [
        on(make_run, "torch-1.12.0-gpu", "new", model="NVIDIA A100", compute_capability="8.0"),
        on(make_run, "torch-1.12.0-gpu", "old", model="Tesla T4", compute_capability="7.5"),
        on(make_run, "torch-1.12.0-gpu", "twin", model="Tesla T4", compute_capability="7.5"),
        on(make_run, "torch-1.12.0-gpu", "newest", model="NVIDIA B200", compute_capability="10.0"),
        on(make_run, "torch-1.12.0-gpu", "silent", model="Tesla V100"),
        on(make_run, "torch-1.12.0-tpu", "three", accelerator_type="v3-8"),
        on(make_run, "torch-1.12.0-tpu", "two", accelerator_type="v2-8"),
        on(make_run, "torch-1.12.0-tpu", "unsure", generation="v2 or v3"),
        on(make_run, "torch-1.12.0-cpu", "old"),
        on(make_run, "torch-1.12.0-cpu", "new"),
    ]
    found = [(first.machine, second.machine) for first, second in pairs_of_models(opened(documents, tmp_path))]
    assert sorted(found) == [
        ("new", "newest"),
        ("old", "new"),
        ("old", "newest"),
        ("twin", "new"),
        ("twin", "newest"),
        ("two", "three"),
    ]

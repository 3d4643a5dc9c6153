"""Whole programs of a recording: found beside their manifest, checked, and given to the device's compiler."""

from __future__ import annotations

import hashlib
import json

import pytest

from runners.core import manifest
from runners.core.errors import BadInput
from runners.core.programs import Absent, Program, RefusedWhenLowered


def stored(folder, content):
    digest = hashlib.sha256(content).hexdigest()
    (folder / "programs").mkdir(exist_ok=True)
    (folder / "programs" / digest).write_bytes(content)
    return {"stablehlo": digest}


def program(name, **modules):
    return {"id": name, "case": "program", "modules": modules, "operations": 3, "sites": ["train.py:7"]}


def listed(*tests):
    return [{"function": "fake.scale", "tests": list(tests)}]


@pytest.fixture
def read(tmp_path):
    def reading(*tests):
        path = tmp_path / "manifest.json"
        head = {"schema": "portbench/manifest", "schema_version": 4, "name": "m", "framework": "fake"}
        path.write_text(json.dumps({**head, "functions": listed(*tests)}), "utf-8")
        return manifest.read(path, "fake")

    return reading


def test_a_program_is_found_beside_its_manifest(read, tmp_path):
    (test,) = read(program("step", cpu=stored(tmp_path, b"one"), tpu={"refused": "no eig"})).tests
    found = Program(test.parameters["modules"], tmp_path)
    assert found.module("cpu", ("stablehlo",)).content == b"one"
    with pytest.raises(RefusedWhenLowered, match="no eig"):
        found.module("tpu", ("stablehlo",))
    with pytest.raises(Absent, match="not lowered for rocm"):
        found.module("rocm", ("stablehlo",))
    with pytest.raises(Absent, match="recorded as stablehlo, expected aten"):
        found.module("cpu", ("aten",))


def test_a_program_for_any_platform_is_one_for_each(tmp_path):
    found = Program({"any": stored(tmp_path, b"all"), "tpu": {"unknown": "too large"}}, tmp_path)
    assert found.module("cuda", ("stablehlo",)).content == b"all"
    with pytest.raises(Absent, match="too large"):
        found.module("tpu", ("stablehlo",))


def test_a_missing_file_is_named(read):
    with pytest.raises(BadInput, match=rf"fake.scale::step: its program .*programs/{'0' * 64} cannot be read"):
        read(program("step", tpu={"stablehlo": "0" * 64}))


def test_a_file_with_another_content_is_refused(read, tmp_path):
    module = stored(tmp_path, b"one")
    (tmp_path / "programs" / module["stablehlo"]).write_bytes(b"two")
    with pytest.raises(BadInput, match="expected a file with this SHA-256, found"):
        read(program("step", tpu=module))


@pytest.mark.parametrize(
    "modules",
    [
        {},
        {"tpu": {"stablehlo": "../../secret"}},
        {"tpu": {}},
        {"abacus": {"refused": "no"}},
        {"tpu": {"pickle": "0" * 64}},
    ],
)
def test_what_is_no_program_is_refused(read, modules):
    with pytest.raises(BadInput, match=r"\$\.functions\[0\]\.tests\[0\]"):
        read(program("step", **modules))


def test_each_program_has_a_verdict_of_the_predicted_device(run, tmp_path):
    entries = listed(
        program("fits", tpu=stored(tmp_path, b"accepted")),
        program("large", tpu=stored(tmp_path, b"refused: it needs 40 GB")),
        program("eig", tpu={"refused": "NotImplementedError: no rule for eig"}),
        program("several", tpu={"unknown": "a program for 8 devices together"}),
        program("elsewhere", cpu=stored(tmp_path, b"accepted")),
    )
    results = run(entries, "--device", "tpu-v5e", "--runs", "1", schema_version=4).results
    assert {name: result["prediction"]["verdict"] for name, result in results.items()} == {
        "fits": "accepted",
        "large": "refused",
        "eig": "refused",
        "several": "unknown",
        "elsewhere": "unknown",
    }
    assert results["fits"]["prediction"]["memory_bytes"] == 4_000_000_000
    assert results["large"]["error"]["message"] == "refused: it needs 40 GB"
    assert results["eig"]["category"] == "not_implemented"
    assert results["several"]["reason"] == "unknown without the device: a program for 8 devices together"


def test_a_device_whose_framework_compiles_no_program_skips_it(run, tmp_path):
    entries = listed(program("step", cpu=stored(tmp_path, b"accepted")))
    result = run(entries, "--runs", "1", schema_version=4).results["step"]
    assert (result["outcome"], result["reason"]) == (
        "skipped",
        "this framework compiles no whole program for this device",
    )

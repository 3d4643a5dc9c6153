"""``portbench coverage``: functions with a test, by module and use; ``collect`` from the fake framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.corpus.scope import scope
from tests.paths import ROOT
from tests.unit.host.clones import COMMAND

EXAMPLES = ROOT / "tests" / "examples"

CALL = {"id": "a", "case": "call", "args": [], "expect": {"numpy": "sin"}}
REFUSAL = {"id": "b", "case": "call", "args": [], "expect": {"raises": {"class": "TypeError", "message": "x"}}}
REPLAY = {"id": "c", "case": "replay", "gradient": True}


def sampled(id: str, **more: Any) -> dict[str, Any]:
    params = {"source": "opinfo", "entry": "e", "dtype": "float32", "positions": [0], "sha256": "0" * 64, **more}
    return {"id": id, "case": "torch.sampled:sample", "params": params}


def recorded(*mutations: str) -> dict[str, Any]:
    params = {"source": "docs", "entry": "torch.abs", "position": 0, "sha256": "0" * 64, "mutation": "$mutation"}
    grid = {"mutation": list(mutations)}
    return {"id": "docs", "case": "torch.sampled:replay", "grid": grid, "params": params}


def write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document))
    return path


def manifest(path: Path, functions: dict[str, list[dict[str, Any]]], framework: str = "torch") -> Path:
    entries = [{"function": name, "tests": tests} for name, tests in functions.items()]
    head = {"schema": "portbench/manifest", "schema_version": 5, "name": "collected-m", "framework": framework}
    return write(path, {**head, "functions": entries})


def function(name: str, *aliases: str) -> dict[str, Any]:
    facts = {"kind": "function", "signature": "()", "signature_source": "inspect", "module": "m", "qualname": "q"}
    return {"name": name, "aliases": list(aliases), **facts, "has_public_test": None}


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    """A list of five functions in three modules."""
    listed = [
        *(function("torch.abs", "torch.absolute"), function("torch.cat"), function("torch.linalg.det")),
        *(function("torch.linalg.eig"), function("torch.nn.Linear")),
    ]
    document = json.loads((EXAMPLES / "functions" / "valid" / "two.json").read_text())
    document["target"] = {"framework": "torch", "version": "2.9.0", "device": "cpu"}
    document["counts"].update(
        functions=5, by_kind={"function": 5}, by_namespace={"torch": 2, "torch.linalg": 2, "torch.nn": 1}
    )
    return write(tmp_path / "functions.json", {**document, "functions": listed})


def counts(path: Path, framework: str = "torch", **uses: int) -> Path:
    entries = [
        {"name": f"torch.{name.replace('__', '.')}", "identifier": count, "resolved": count, "files": 1}
        for name, count in uses.items()
    ]
    of_framework = {
        "framework": framework,
        "version": "2.9.0",
        "list_sha256": "0" * 64,
        "files": {"counted": 1, "python_2": 0, "broken": 0},
        "kept_bytes": 1,
        "calls": {"identifier": 1, "resolved": sum(uses.values()), "both": 1},
        "functions": entries,
    }
    corpus = {
        "name": "c",
        "sha256_sum": "0" * 64,
        "documents": 1,
        "source_bytes": 1,
        "too_large": 0,
        "killed": 0,
    }
    head = {"schema": "portbench/counts", "schema_version": 1, "portbench": "1", "parser": {}, "corpus": corpus}
    return write(path, {**head, "shard": None, "frameworks": [of_framework]})


def portbench(*words: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PORTBENCH_PYTHON": sys.executable, "COLUMNS": "160"}
    return subprocess.run([*COMMAND, *map(str, words)], cwd=ROOT, env=environment, capture_output=True, text=True)


def covered(*words: object) -> subprocess.CompletedProcess[str]:
    return portbench("coverage", *words)


def data(*words: object) -> Any:
    done = covered(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_functions_are_counted_once_by_any_of_their_names_and_in_any_manifest(tmp_path: Path, functions: Path) -> None:
    first = manifest(tmp_path / "a.json", {"torch.absolute": [CALL, REPLAY], "torch.cat": []})
    second = manifest(tmp_path / "b.json", {"torch.abs": [CALL], "torch.linalg.eig": [sampled("x")]})
    found = data(first, second, "--functions", functions)
    assert (found["all"]["functions"], found["all"]["tested"]) == (5, 2)
    assert {module: (each["functions"], each["tested"]) for module, each in found["by_module"].items()} == {
        "torch": (2, 1),
        "torch.linalg": (2, 1),
        "torch.nn": (1, 0),
    }
    assert found["missing"] == [
        {"function": name, "uses": None, "out_of_scope": None}
        for name in ("torch.cat", "torch.linalg.det", "torch.nn.Linear")
    ]


@pytest.mark.parametrize(
    ("test", "independent", "gradient"),
    [
        (CALL, 1, 0),
        (REFUSAL, 0, 0),
        (REPLAY, 0, 1),
        (sampled("x"), 0, 0),
        (sampled("x", gradient=True), 0, 1),
        (sampled("x", reference="independent"), 1, 0),
        (recorded("none", "empty"), 0, 0),
        (recorded("none", "gradient"), 0, 1),
        ({"id": "x", "case": "torch.modules:state_dict_keep_vars"}, 1, 0),
    ],
)
def test_references_and_gradients(
    tmp_path: Path, functions: Path, test: dict[str, Any], independent: int, gradient: int
) -> None:
    found = data(manifest(tmp_path / "a.json", {"torch.abs": [test]}), "--functions", functions)["all"]
    assert (found["tested"], found["independent"], found["gradient"]) == (1, independent, gradient)


def test_use_weighs_and_orders(tmp_path: Path, functions: Path) -> None:
    made = manifest(tmp_path / "a.json", {"torch.abs": [CALL]})
    used = counts(tmp_path / "counts.json", absolute=30, linalg__eig=60, cat=10)
    found = data(made, "--functions", functions, "--counts", used)
    assert (found["all"]["tested_uses"], found["all"]["uses"]) == (30, 100)
    assert [each["function"] for each in found["missing"][:2]] == ["torch.linalg.eig", "torch.cat"]
    printed = covered(made, "--functions", functions, "--counts", used).stdout
    assert "torch 2.9.0: 1 of 5 public functions in scope have a test (20.0 %)" in printed
    assert "30.0 % of 100 calls in the corpus of functions in scope are calls of these" in printed
    assert "  torch.linalg.eig  (60 calls)\n  torch.cat  (10 calls)\n" in printed


def test_what_is_out_of_scope_counts_among_all_only_and_has_a_reason(tmp_path: Path, functions: Path) -> None:
    document = json.loads(functions.read_text("utf-8"))
    error = {**function("torch.linalg.LinAlgError"), "kind": "class"}
    document["functions"] += [function("torch.cuda.synchronize"), function("torch.distributed.barrier"), error]
    document["counts"].update(functions=8, by_kind={"function": 7, "class": 1})
    document["counts"]["by_namespace"].update({"torch.linalg": 3, "torch.cuda": 1, "torch.distributed": 1})
    write(functions, document)
    made = manifest(tmp_path / "a.json", {"torch.abs": [CALL], "torch.cuda.synchronize": [CALL]})
    used = counts(tmp_path / "counts.json", abs=1, cat=3, cuda__synchronize=4)
    found = data(made, "--functions", functions, "--counts", used)
    assert (found["all"]["functions"], found["all"]["tested"], found["all"]["tested_uses"]) == (8, 2, 5)
    assert (found["in_scope"]["functions"], found["in_scope"]["tested"], found["in_scope"]["tested_uses"]) == (5, 1, 1)
    assert set(found["out_of_scope"].values()) == {1}
    assert "an exception or a warning" in found["out_of_scope"]
    assert "torch.cuda" not in found["by_module"]
    last = found["missing"][-2:]
    assert {each["function"] for each in last} == {"torch.distributed.barrier", "torch.linalg.LinAlgError"}
    assert all(each["out_of_scope"] for each in last)
    printed = covered(made, "--functions", functions, "--counts", used).stdout
    assert "1 of 5 public functions in scope have a test (20.0 %)" in printed
    assert "torch.distributed.barrier" not in printed


def test_every_reason_for_being_out_of_scope_is_given_once_and_every_file_is_of_a_framework() -> None:
    files = list((ROOT / "scripts" / "portbench" / "corpus" / "scopes").glob("*.json"))
    assert {file.stem for file in files} <= {"torch", "tensorflow", "jax"}
    for file in files:
        groups = json.loads(file.read_text("utf-8"))
        reasons = [group["reason"] for group in groups]
        assert len(reasons) == len(set(reasons))
        names = [name for group in groups for name in (*group["names"], *group.get("classes", ()))]
        assert sorted(names) == sorted(set(names))


def test_a_loss_that_is_named_an_error_is_in_scope() -> None:
    of_tensorflow = scope("tensorflow")
    assert of_tensorflow.why_out("tf.losses.MeanSquaredError", "class") is None
    assert of_tensorflow.why_out("tf.errors.DataLossError", "class") == "an exception or a warning"


def test_tested_functions_that_the_list_lacks_are_named(tmp_path: Path, functions: Path) -> None:
    made = manifest(tmp_path / "a.json", {"torch.Tensor.add": [CALL]})
    assert (
        "1 tested function not in the list, such as torch.Tensor.add" in covered(made, "--functions", functions).stdout
    )


def test_files_of_different_frameworks_are_an_error(tmp_path: Path, functions: Path) -> None:
    done = covered(manifest(tmp_path / "a.json", {"jax.numpy.abs": [CALL]}, "jax"), "--functions", functions)
    assert done.returncode == 2
    assert "a.json: $.framework: found jax, expected torch" in done.stderr
    made = manifest(tmp_path / "b.json", {"torch.abs": [CALL]})
    done = covered(made, "--functions", functions, "--counts", counts(tmp_path / "counts.json", "jax", abs=1))
    assert done.returncode == 2
    assert "counts.json: $.frameworks: found jax, expected torch" in done.stderr


def test_another_kind_of_file_is_an_error(tmp_path: Path, functions: Path) -> None:
    done = covered(functions, "--functions", functions)
    assert (done.returncode, "functions.json" in done.stderr) == (2, True)


def collect(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return portbench("collect", "fake-cpu", "--backend", "current", "-o", out, *words)


def test_collect_writes_a_manifest_that_validates(tmp_path: Path) -> None:
    done = collect(tmp_path / "fake.json", "--from", "numbers", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert "fake.json: 12 tests of 6 functions" in done.stdout
    assert "entries left out in some or all dtypes: 4" in done.stdout
    checked = portbench("validate", tmp_path / "fake.json")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "nowhere"), "there is no source 'nowhere' of samples: fake has numbers"),
        (("--from", " , "), "names no source"),
        (("--from", "numbers", "--function", "fake.nothing"), "no sample of numbers of functions fake.nothing passes"),
    ],
)
def test_collect_says_what_is_wrong_and_writes_nothing(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = collect(tmp_path / "fake.json", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "fake.json").exists()

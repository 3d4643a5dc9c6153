"""Imports the paper's raw timings and recomputes its Table 7 from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.analysis.configurations import Configuration, device_model, pairs_of_devices, pairs_of_models, sides
from portbench.analysis.latency import Latencies, as_published
from portbench.analysis.published import differences, disagreeing, published_column
from portbench.analysis.rates import rates
from portbench.errors import BadInput
from portbench.published import paper as published
from portbench.study.import_2023 import import_raw_timings
from portbench.study.merge import merge
from tests.paths import DATA
from tests.unit.host.opened_study import opened_study

RAW = DATA / "study_2023" / "jax"
GPU = Configuration("jax", "0.4.8", "gpu", "study-2023-t4", "as-published")
TPU = Configuration("jax", "0.4.8", "tpu", "study-2023-v3-8", "as-published")
ADD = {"add_test.py:testOp0": {"operations": [0.002, 0.001], "test_time": 0.5}}
Portbench = Callable[..., Result]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The paper's JAX runs as a merged study."""
    folder = tmp_path_factory.mktemp("study_2023")
    import_raw_timings([RAW], folder / "runs")
    merge([str(folder / "runs")], folder / "study")
    return opened_study(folder / "study")


@pytest.fixture(scope="module")
def table7(study: Any) -> Latencies:
    return as_published(study, GPU, TPU)


def test_table_7_is_recomputed_to_the_last_printed_digit(table7: Latencies) -> None:
    found = differences(table7)
    assert [entry.published for entry in found] == list(published.latencies("jax").values())
    differing = {entry.published.function: entry for entry in disagreeing(found)}
    # These time several calls in some of their tests, and the paper's mean is not over all calls, but over tests.
    assert set(differing) == {"jax.tree_util.Partial", "jax.numpy.linalg.svd", "jax.scipy.linalg.lu"}
    lu = differing["jax.scipy.linalg.lu"]
    assert (lu.gpu_ms, lu.published.gpu_ms) == (248.211, 654.291)
    assert (lu.tpu_ms, lu.published.tpu_ms) == (62.604, 164.111)


def test_all_of_table_7_agrees_if_each_test_has_the_same_weight(table7: Latencies) -> None:
    assert [entry.agrees_by_test for entry in differences(table7)] == [True] * 61


def test_the_headlines_of_jax_are_those_of_the_raw_data(table7: Latencies) -> None:
    found = differences(table7)
    slower = sum(entry.ratio is not None and entry.ratio > 1 for entry in found)
    headlines = published.headlines()
    assert published.paper_rounding(100 * slower / len(found)) == headlines["slower_on_tpu_percent"]["jax"]
    assert round(100 * (len(found) - slower) / len(found), 1) == headlines["faster_on_tpu_percent"]["jax"]


def test_other_functions_are_excluded_with_their_reason(table7: Latencies) -> None:
    timed = {function.function for function in table7.functions}
    assert {entry.function for entry in table7.exclusions} - timed == {"jax.lax.infeed", "jax.numpy.linalg.eig"}
    infeed = {entry.reason: entry.tests for entry in table7.exclusions if entry.function == "jax.lax.infeed"}
    why = "the study timed nothing in it, and its raw data does not tell whether it passed"
    assert infeed == {f"skipped on {TPU} ({why})": 2, f"skipped on {GPU} and on {TPU} ({why})": 2}


def test_sides_and_models_are_those_of_the_paper(study: Any) -> None:
    assert sides(study) == [GPU, TPU]
    models = device_model(study)
    assert models == {GPU: "Tesla T4", TPU: "TPU v3-8"}
    assert [published_column(side, models[side]) for side in sides(study)] == [
        published.PublishedColumn("jax", "gpu", "T4"),
        published.PublishedColumn("jax", "tpu", "v3-8"),
    ]
    assert pairs_of_devices(sides(study)) == [(GPU, TPU)]


def test_no_more_is_claimed_than_the_raw_data_says(study: Any) -> None:
    found = rates(study)
    # infeed was timed on the gpu alone, eig nowhere: whether they failed is unknown, so they have no status.
    assert found[GPU].as_published.counts == {"all_pass": 62, "some_fail": 0, "all_fail": 0, "not_testable": 1}
    assert found[TPU].as_published.counts == {"all_pass": 61, "some_fail": 0, "all_fail": 0, "not_testable": 2}
    assert found[GPU].strata_known == 63


def test_every_function_of_the_sample_has_one_test_file() -> None:
    functions = list(published.raw_test_files("jax").values())
    assert sorted(functions) == sorted(row["name"] for row in published.sample("jax"))


def test_the_command_writes_valid_run_files_and_lists_unused_test_files(portbench: Portbench, tmp_path: Path) -> None:
    done = portbench("import-study-2023", RAW, "-o", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    assert "6 raw files imported" in done.output
    assert "left out, belongs to no function of the paper: PRNG_test.py (1 test)" in done.output
    assert "not in the raw files: whether a test passed" in done.output
    names = ["study-2023-jax-gpu-t4.json", "study-2023-jax-tpu-v3.json"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == names
    checked = portbench("validate", tmp_path / "runs")
    assert checked.exit_code == 0, checked.output


def test_unknown_facts_are_recorded_as_unknown(tmp_path: Path, write: Callable[[str, Any], Path]) -> None:
    raw = write("jax/tpu_v3_run2.json", ADD | {"eig_test.py:testEig0": {"operations": [], "test_time": 0.25}})
    (path,) = import_raw_timings([raw], tmp_path / "runs").files
    document = json.loads(path.read_text("utf-8"))
    environment = document["environment"]
    assert {environment[name] for name in ("os", "kernel", "cpu_model", "python")} == {"unknown"}
    assert environment["packages"] == {"jax": "0.4.8"}
    assert environment["device"]["source"] == published.source()
    assert "all of the environment but" in environment["device"]["not_told"]
    assert document["protocol"]["sync"] == "as-published"
    add, eig = document["results"]
    assert (add["function"], add["test"], add["run"], add["outcome"]) == ("jax.numpy.add", "testOp0", 2, "passed")
    assert [call["cold"]["call_ns"] for call in add["calls"]] == [2_000_000, 1_000_000]
    assert (add["case_ns"], add["placement"]["verdict"]) == (500_000_000, "unknown")
    assert (eig["outcome"], eig["calls"], eig["category"]) == ("skipped", [], None)
    listed = {row["name"]: row for row in document["manifest"]["functions"]}
    assert len(listed) == 63
    renamed = listed["jax._src.interpreters.partial_eval.PartialVal"]
    assert renamed["listed_as"] == "jax._src.interpreters.partial_eval"
    assert (listed["jax.numpy.add"]["tests"], listed["jax.numpy.cos"]["tests"]) == (1, 0)


def test_the_same_files_give_the_same_run_files(tmp_path: Path) -> None:
    files = sorted(RAW.glob("gpu_*.json"))
    once = import_raw_timings(files, tmp_path / "once").files
    again = import_raw_timings([*files[::-1], RAW / files[0].name], tmp_path / "again").files
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_newer_hardware_of_the_paper_is_kept_apart(tmp_path: Path, write: Callable[[str, Any], Path]) -> None:
    raw = [write(f"jax/{name}_run1.json", ADD) for name in ("gpu_a100", "gpu_t4", "tpu_v3", "tpu_v2")]
    import_raw_timings(raw, tmp_path / "runs")
    merge([str(tmp_path / "runs")], tmp_path / "study")
    found = pairs_of_models(opened_study(tmp_path / "study"))
    assert [(first.machine, second.machine) for first, second in found] == [
        ("study-2023-t4", "study-2023-a100"),
        ("study-2023-v2-8", "study-2023-v3-8"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("jax/gpu_t4.json", ADD, "expected a device of the paper (gpu_t4, "),
        ("jax/gpu_h100_run1.json", ADD, "found the name gpu_h100_run1.json"),
        ("jax/gpu_t4_run0.json", ADD, "found the name gpu_t4_run0.json"),
        ("torch/gpu_t4_run1.json", ADD, "not known for framework torch"),
        ("jax/gpu_t4_run1.json", [], "$: expected an object"),
        ("jax/gpu_t4_run1.json", {}, "$: expected an object"),
        ("jax/gpu_t4_run1.json", "{", "not JSON"),
        (
            "jax/gpu_t4_run1.json",
            {"add": ADD["add_test.py:testOp0"]},
            "$.add: expected a key such as add_test.py:testOp0",
        ),
        ("jax/gpu_t4_run1.json", {"a.py:t": {"operations": []}}, '$["a.py:t"]: expected an object with operations'),
        (
            "jax/gpu_t4_run1.json",
            {"a.py:t": {"operations": 1, "test_time": 1}},
            '$["a.py:t"].operations: expected a list',
        ),
        (
            "jax/gpu_t4_run1.json",
            {"a.py:t": {"operations": [0.1, -1], "test_time": 1}},
            '$["a.py:t"].operations[1]: expected seconds',
        ),
        (
            "jax/gpu_t4_run1.json",
            {"a.py:t": {"operations": [True], "test_time": 1}},
            '$["a.py:t"].operations[0]: expected seconds',
        ),
        ("jax/gpu_t4_run1.json", {"a.py:t": {"operations": [], "test_time": 1e12}}, '$["a.py:t"].test_time: expected'),
        (
            "jax/gpu_t4_run1.json",
            {"a.py:t": {"operations": [1], "test_time": 1}},
            "none of its test files is of a function",
        ),
    ],
)
def test_any_other_file_is_refused_and_nothing_is_written(
    name: str, content: Any, message: str, tmp_path: Path, write: Callable[[str, Any], Path], portbench: Portbench
) -> None:
    write("jax/tpu_v3_run1.json", ADD)
    done = portbench("import-study-2023", tmp_path / "jax", write(name, content), "-o", tmp_path / "runs")
    assert isinstance(done.exception, BadInput)
    assert message in str(done.exception)
    assert str(tmp_path / name) in str(done.exception)
    assert done.exception.remedy
    assert not (tmp_path / "runs").exists()


def test_one_run_given_twice_is_refused(tmp_path: Path, portbench: Portbench) -> None:
    copies = tmp_path / "copies" / "jax"
    shutil.copytree(RAW, copies)
    done = portbench("import-study-2023", RAW, copies, "-o", tmp_path / "runs")
    assert isinstance(done.exception, BadInput)
    assert "are both run 1 of jax on the gpu t4" in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_an_option_names_the_framework_of_files_in_other_folders(
    tmp_path: Path, write: Callable[[str, Any], Path], portbench: Portbench
) -> None:
    raw = write("here/gpu_t4_run1.json", ADD)
    assert isinstance(portbench("import-study-2023", raw, "-o", tmp_path / "runs").exception, BadInput)
    done = portbench("import-study-2023", raw, "--framework", "jax", "-o", tmp_path / "runs")
    assert done.exit_code == 0, done.output


def test_a_folder_without_raw_files_is_refused(tmp_path: Path, portbench: Portbench) -> None:
    (tmp_path / "jax").mkdir()
    done = portbench("import-study-2023", tmp_path / "jax", "-o", tmp_path / "runs")
    assert isinstance(done.exception, BadInput)
    assert "no .json file there" in str(done.exception)

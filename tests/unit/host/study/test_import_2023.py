"""Imports the paper's raw data and recomputes its Tables 5, 6 and 7 from them."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from portbench.analysis.configurations import Configuration, device_model, pairs_of_devices, pairs_of_models, sides
from portbench.analysis.latency import Latencies
from portbench.analysis.paper_cells import agreement, paper_cells
from portbench.analysis.paper_method import paper_method
from portbench.analysis.published import differences, published_column
from portbench.analysis.rate_model import Rates
from portbench.analysis.rates import rates
from portbench.analysis.results import Results, compute_results
from portbench.errors import BadInput
from portbench.published import paper
from portbench.report.headlines import build_headlines
from portbench.study.categories import Rules, read_rules
from portbench.study.import_2023 import import_raw_data
from portbench.study.merge import merge
from portbench.util.repository import find_checkout
from tests.unit.host.opened_study import opened_study

# The raw data are imported and merged once.
pytestmark = pytest.mark.xdist_group("the paper's raw data")

RAW = paper.raw_data()
PRINTED = {"tensorflow": 51, "torch": 43, "jax": 61}
NO_RULES = Rules({}, "")
OUTCOME = {"file": "cat_test.py", "class": "CatTest", "test": "test_cat_cuda", "outcome": "passed"}
ADD = {"add_test.py:testOp0": {"operations": [0.002, 0.001], "test_time": 0.5}}
Portbench = Callable[..., Result]


def side(framework: str, model: str) -> Configuration:
    device = "gpu" if model in ("t4", "a100") else "tpu"
    return Configuration(framework, paper.versions()[framework], device, f"study-2023-{model}", "as-published")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All of the paper's raw data as a merged study."""
    folder = tmp_path_factory.mktemp("study_2023")
    import_raw_data([RAW], folder / "runs", read_rules(find_checkout().runners, paper.FRAMEWORKS))
    merge([str(folder / "runs")], folder / "study")
    return opened_study(folder / "study")


@pytest.fixture(scope="module")
def latencies(study: Any) -> Mapping[str, Latencies]:
    """The latencies of each framework on the T4 and the v3-8."""
    return {name: paper_method(study, side(name, "t4"), side(name, "v3-8")) for name in PRINTED}


@pytest.fixture(scope="module")
def results(study: Any) -> Results:
    return compute_results(study)


@pytest.fixture(scope="module")
def found_rates(study: Any) -> Mapping[Configuration, Rates]:
    return rates(study)


def test_tables_5_to_7_are_recomputed_to_the_last_printed_digit(latencies: Mapping[str, Latencies]) -> None:
    for name, measured in latencies.items():
        found = differences(measured)
        assert [entry.published for entry in found] == list(paper.latencies(name).values())
        assert [entry.published.function for entry in found if not entry.agrees] == []
    assert {name: len(differences(measured)) for name, measured in latencies.items()} == PRINTED
    assert sum(PRINTED.values()) == 155


def test_the_paper_leaves_out_one_function_that_was_timed_on_both(latencies: Mapping[str, Latencies]) -> None:
    names = {name: {one.listed_as for one in measured.functions} for name, measured in latencies.items()}
    others = {name: found - paper.latencies(name).keys() for name, found in names.items()}
    assert others == {"tensorflow": {"tf.data.experimental.dense_to_ragged_batch"}, "torch": set(), "jax": set()}


def test_a_test_that_some_runs_did_not_time_is_left_out(latencies: Mapping[str, Latencies]) -> None:
    why = f"not timed in every run on {side('torch', 'v3-8')}"
    assert ("torch.cat", 1) in {
        (entry.function, entry.tests) for entry in latencies["torch"].exclusions if entry.reason == why
    }


def test_table_8_follows_from_the_outcomes(found_rates: Mapping[Configuration, Rates]) -> None:
    def statuses(framework: str, model: str) -> tuple[int, ...]:
        counts = found_rates[side(framework, model)].by_function.counts
        return tuple(counts.values())

    # Published: 2, 3 and 58 on the T4; 17, 11 and 36 on the v3-8.
    assert statuses("torch", "t4")[:3] == (58, 2, 3)
    assert statuses("torch", "v3-8")[:3] == (32, 18, 13)
    # Published: 5, 9 and 51; 10, 9 and 46.
    assert statuses("tensorflow", "t4")[:3] == (49, 8, 8)
    assert statuses("tensorflow", "v3-8")[:3] == (44, 13, 8)


def test_nothing_is_said_of_failures_where_only_times_are_known(found_rates: Mapping[Configuration, Rates]) -> None:
    with_outcomes = {side(framework, model) for framework in ("torch", "tensorflow") for model in ("t4", "v3-8")}
    assert {one for one, rates in found_rates.items() if not rates.is_timings_only} == with_outcomes
    for one, found in found_rates.items():
        assert (found.by_function.percent is None) == (one not in with_outcomes)


def test_timing_that_is_implausible_against_another_model_is_unverified(results: Results) -> None:
    ((unverified, why),) = results.unverified.items()
    assert unverified == side("torch", "v2-8")
    assert "the median function takes 27.9 times as long on torch-1.12.0-tpu on study-2023-v3-8" in why
    assert "torch.fliplr: 0.035 ms here, 725.480 ms there" in why
    sentences = [headline.sentence for headline in build_headlines(results)]
    said = [sentence for sentence in sentences if "study-2023-v2-8" in sentence and "torch" in sentence]
    assert len(said) == 1 and said[0].startswith("Timing unverified")


def test_every_cell_of_the_paper_that_differs_has_a_reason(results: Results) -> None:
    cells = paper_cells(results)
    assert [cell for cell in cells if not cell.agrees and not cell.reason] == []
    assert agreement(cells).startswith("Of 92 cells 31 are as printed, 29 differ, and 32 cannot be computed")
    found = {(cell.place, cell.what): (cell.published, cell.ours) for cell in cells}
    assert found["Table 2", "torch: rows, the 5 largest and 5 least ratios"] == ("10", "10")
    assert found["Table 5", "tensorflow: rows"] == ("51", "51")
    assert found["Table 4", "tensorflow on T4: failing, all"] == ("22 %", "22 %")
    assert found["text", "tensorflow on T4: functions that fail"] == ("21.54 %", "24.62 %")
    assert found["text", "torch: over 10 times slower on the TPU"] == ("81.4 %", "81.4 %")
    assert found["text", "jax: 1.5 times faster on the A100 than on the T4"] == ("0.05 %", "4.84 %")


def test_an_imported_test_has_no_command_to_repeat_it(tmp_path: Path, portbench: Portbench) -> None:
    import_raw_data(sorted((RAW / "torch").glob("tpu_v3_*")), tmp_path / "runs", NO_RULES)
    done = portbench("explain", tmp_path / "runs", "torch.unsqueeze")
    assert done.exit_code == 0, done.output
    assert "portbench run" not in done.output
    assert "so it cannot run it again" in " ".join(done.output.split())
    done = portbench("explain", tmp_path / "runs", "torch.unsqueeze", "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.output)["again"] is None
    refused = portbench("explain", tmp_path / "runs", "torch.unsqueeze", "--bundle", tmp_path / "bundle").exception
    assert isinstance(refused, BadInput)


def test_a_report_of_timings_only_has_no_rate(tmp_path: Path, portbench: Portbench) -> None:
    done = portbench("import-study-2023", RAW / "jax", "-o", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    done = portbench("report", tmp_path / "runs", "-o", tmp_path / "report")
    assert done.exit_code == 0, done.output
    assert "100.0" not in (tmp_path / "report" / "report.md").read_text("utf-8").split("##")[1]
    assert not (tmp_path / "report" / "tables" / "table-8-paper-method.md").exists()


def test_models_are_those_of_the_paper(study: Any) -> None:
    models = device_model(study)
    assert {published_column(one, models[one]) for one in sides(study) if one.framework == "jax"} == {
        paper.PublishedColumn("jax", "gpu", "T4"),
        paper.PublishedColumn("jax", "gpu", "A100"),
        paper.PublishedColumn("jax", "tpu", "v3-8"),
        paper.PublishedColumn("jax", "tpu", "v2-8"),
    }
    assert (side("jax", "t4"), side("jax", "v3-8")) in pairs_of_devices(sides(study))
    assert (side("torch", "v2-8"), side("torch", "v3-8")) in pairs_of_models(study)


@pytest.mark.parametrize("framework", paper.FRAMEWORKS)
def test_every_function_of_the_sample_has_one_test_file(framework: str) -> None:
    functions = list(paper.raw_test_files(framework).values())
    assert sorted(functions) == sorted(row["name"] for row in paper.sample(framework))


def test_the_command_writes_valid_run_files_and_lists_unused_test_files(portbench: Portbench, tmp_path: Path) -> None:
    done = portbench("import-study-2023", "-o", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    assert "36 raw runs imported" in done.output
    assert f"wrote {tmp_path}/runs/study-2023-torch-gpu-t4.json\n" in done.output
    assert f"wrote {tmp_path}/runs/study-2023-torch-gpu-a100.json, timings only\n" in done.output
    assert "left out, belongs to no function of the paper: PRNG_test.py (1 test)" in done.output
    assert "left out, ran on the CPU: 1,115 tests" in done.output
    assert "not in the raw files: when and on which host it ran" in done.output
    names = [
        f"study-2023-{framework}-{device}.json"
        for framework in sorted(paper.FRAMEWORKS)
        for device in ("gpu-a100", "gpu-t4", "tpu-v2", "tpu-v3")
    ]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == names
    checked = portbench("validate", tmp_path / "runs")
    assert checked.exit_code == 0, checked.output


def test_what_is_not_known_is_null(tmp_path: Path, write: Callable[[str, Any], Path]) -> None:
    raw = write("jax/tpu_v3_run2.json", ADD | {"eig_test.py:testEig0": {"operations": [], "test_time": 0.25}})
    (path,) = import_raw_data([raw], tmp_path / "runs", NO_RULES).files
    document = json.loads(path.read_text("utf-8"))
    environment = document["environment"]
    unknown = ("os", "kernel", "cpu_model", "cpu_cores", "memory_bytes", "python", "runner_commit", "runner_sha256")
    assert {environment[name] for name in unknown} == {None}
    assert (document["started_at"], document["ended_at"], document["protocol"]["steady_budget_s"]) == (None, None, None)
    assert environment["packages"] == {"jax": "0.4.8"}
    assert document["imported"]["source"].startswith(paper.source())
    assert document["imported"]["not_recorded"].startswith("whether a test passed, when and on which host it ran")
    assert document["protocol"]["sync"] == "as-published"
    add, eig = document["results"]
    assert (add["function"], add["test"], add["run"], add["outcome"]) == ("jax.numpy.add", "testOp0", 2, None)
    assert [(call["cold"]["call_ns"], call["cold"]["wait_ns"]) for call in add["calls"]] == [
        (2_000_000, None),
        (1_000_000, None),
    ]
    assert (add["case_ns"], add["placement"]["verdict"]) == (500_000_000, "unknown")
    assert (eig["outcome"], eig["calls"], eig["worker"]) == (None, [], None)
    listed = {row["name"]: row for row in document["manifest"]["functions"]}
    assert len(listed) == 63
    renamed = listed["jax._src.interpreters.partial_eval.PartialVal"]
    assert renamed["listed_as"] == "jax._src.interpreters.partial_eval"
    assert (listed["jax.numpy.add"]["tests"], listed["jax.numpy.cos"]["tests"]) == (1, 0)


def test_the_same_files_give_the_same_run_files(tmp_path: Path) -> None:
    files = sorted((RAW / "torch").glob("gpu_t4_*"))
    once = import_raw_data(files, tmp_path / "once", NO_RULES).files
    again = import_raw_data([*files[::-1], files[0]], tmp_path / "again", NO_RULES).files
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_newer_hardware_of_the_paper_is_kept_apart(tmp_path: Path, write: Callable[[str, Any], Path]) -> None:
    raw = [write(f"jax/{name}_run1.json", ADD) for name in ("gpu_a100", "gpu_t4", "tpu_v3", "tpu_v2")]
    import_raw_data(raw, tmp_path / "runs", NO_RULES)
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
        ("caffe/gpu_t4_run1.json", ADD, "found framework caffe, expected one of tensorflow, torch, jax"),
        ("jax/gpu_t4_run1.json.gz", ADD, "not a gzip file"),
        ("torch/gpu_t4_outcomes.json", {}, "$: expected a list"),
        ("torch/gpu_t4_outcomes.json", [{"file": "a.py"}], "$[0]: expected an object with file, class, test and"),
        ("torch/gpu_t4_outcomes.json", [OUTCOME | {"outcome": "xfail"}], "$[0].outcome: expected one of passed"),
        ("torch/gpu_t4_outcomes.json", [OUTCOME | {"message": 1}], "$[0].message: expected text"),
        ("torch/gpu_t4_outcomes.json", [OUTCOME, OUTCOME], "$[1]: a second outcome of this test"),
        ("torch/gpu_t4_outcomes.json", [OUTCOME], "outcomes without times"),
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
    shutil.copytree(RAW / "jax", copies)
    done = portbench("import-study-2023", RAW / "jax", copies, "-o", tmp_path / "runs")
    assert isinstance(done.exception, BadInput)
    assert "are both run 1 of jax on the gpu " in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_failures_have_their_message_and_pair_across_devices(
    tmp_path: Path, write: Callable[[str, Any], Path], portbench: Portbench
) -> None:
    def raw(device: str, name: str, outcome: dict[str, str]) -> None:
        times = {f"cat_test.py:test_cat_{name}_int8": {"operations": [0.001], "test_time": 0.01}}
        times |= {"cat_test.py:test_cat_cpu_int8": {"operations": [0.001], "test_time": 0.01}}
        packed = write(f"torch/{device}_run1.json", times)
        packed.with_suffix(".json.gz").write_bytes(gzip.compress(packed.read_bytes()))
        packed.unlink()
        write(f"torch/{device}_outcomes.json", [OUTCOME | {"test": f"test_cat_{name}_int8"} | outcome])

    raw("gpu_t4", "cuda", {})
    message = "RuntimeError: XLA tensors do not have storage"
    raw("tpu_v3", "xla", {"outcome": "failed", "phase": "call", "message": message})
    done = portbench("import-study-2023", tmp_path / "torch", "-o", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    gpu, tpu = (json.loads(path.read_text("utf-8"))["results"] for path in sorted((tmp_path / "runs").iterdir()))
    assert [(result["test"], result["outcome"]) for result in (*gpu, *tpu)] == [
        ("test_cat_int8", "passed"),
        ("test_cat_int8", "failed"),
    ]
    (failed,) = tpu
    assert (failed["error"]["type"], failed["error"]["message"]) == ("RuntimeError", "XLA tensors do not have storage")
    assert failed["category"] == "not_implemented"


def test_times_of_a_name_that_several_classes_have_are_of_none_of_them(
    tmp_path: Path, write: Callable[[str, Any], Path]
) -> None:
    one = {"file": "cast_test.py", "test": "testCast", "outcome": "passed"}
    write("tensorflow/gpu_t4_run1.json", {"cast_test.py:testCast": {"operations": [0.5], "test_time": 1}})
    write("tensorflow/gpu_t4_outcomes.json", [one | {"class": "A"}, one | {"class": "B"}])
    (path,) = import_raw_data([tmp_path / "tensorflow"], tmp_path / "runs", NO_RULES).files
    results = json.loads(path.read_text("utf-8"))["results"]
    assert [(result["test"], len(result["calls"])) for result in results] == [
        ("A.testCast", 0),
        ("B.testCast", 0),
        ("testCast", 1),
    ]


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

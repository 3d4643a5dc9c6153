"""Merging run files into a study: its content, and what a merge refuses."""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.errors import BadInput, Contradiction, StorageFailed
from portbench.formats.documents import read_document
from portbench.study.merge import merge
from portbench.study.open import study_of
from portbench.study.store import connect, create_views, read_study
from portbench.util.owned_folder import Kind, locked
from tests.paths import EXAMPLES
from tests.unit.host.conftest import result_document, run_document

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]
Command = Callable[..., Result]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study"


def rows(study: Path, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """The rows of a table in a fixed order."""
    with connect() as connection:
        create_views(connection, read_study(study).tables)
        return connection.sql(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()


def content(study: Path) -> tuple[bytes, list[Any]]:
    """All content of a study."""
    return (study / "study.json").read_bytes(), [rows(study, table) for table in ("runs", "results", "samples")]


def files(study: Path) -> set[str]:
    return {str(path.relative_to(study)) for path in study.rglob("*") if path.is_file()}


def test_the_summary_fits_its_schema_and_names_the_run_files(write: Write, make_run: Make, study: Path) -> None:
    path = write("results/run.json", make_run())
    merge([str(path)], study)
    summary = read_document(study / "study.json", "study").data
    (run,) = summary["run_files"]
    document = read_document(path)
    assert run["run_id"] == document.data["run_id"]
    assert run["sha256"] == document.sha256
    assert run["target"] == {"framework": "torch", "version": "2.9.0", "device": "cpu"}
    assert (run["machine"], run["started_at"]) == ("box", "2026-11-21T09:00:00.123Z")
    places = {Path(file).parent for file in files(study)}
    tables = ("runs", "results", "samples", "functions")
    assert places == {Path(), Path(summary["tables"]), *(Path(summary["tables"], table) for table in tables)}


def test_runs_have_the_facts_of_a_whole_run_file(write: Write, make_run: Make, study: Path) -> None:
    document = make_run(machine='box "1"')
    merge([str(write("run.json", document))], study)
    (row,) = rows(study, "runs", "machine, manifest, manifest_sha256, protocol, runs, timeout_s, ended_at, environment")
    assert row[:-1] == ('box "1"', "study-torch", "a" * 64, "both", 3, 900.0, "2026-11-21T09:10:00Z")
    assert json.loads(row[-1]) == document["environment"]


def test_results_have_every_fact(write: Write, make_run: Make, make_result: Make, study: Path) -> None:
    results = [
        make_result(run=1, output={"text": "a\x00b\u00e9\U0001f600", "total_bytes": 9}),
        make_result(run=2, outcome="failed"),
        make_result(run=3, outcome="timed_out"),
        make_result(test="other", outcome="skipped"),
    ]
    results[1]["error"]["causes"] = [{"type": "ValueError", "message": "deep"}]
    merge([str(write("run.json", make_run(results)))], study)
    found = rows(
        study, "results", "test, run, outcome, category, phase, reason, placement, timed_calls, worker, case_ns"
    )
    assert found == [
        ("other", 1, "skipped", "removed", None, "torch.cat is not in this version", "unknown", 0, 0, 0),
        ("rows", 1, "passed", None, None, None, "device", 1, 1, 2_000_000),
        ("rows", 2, "failed", "other", "call", None, "device", 0, 1, 2_000_000),
        ("rows", 3, "timed_out", "timeout", "call", "no result within 900 s", "unknown", 0, 1, 2_000_000),
    ]
    (error,) = rows(study, "results", "error_type, error_message, error_causes")[:1]
    assert error == ("RuntimeError", "it does not work", [{"type": "ValueError", "message": "deep"}])
    assert ("SIGKILL", False, 300_000_000) in rows(study, "results", "exit_signal, oom_killed, peak_memory_bytes")
    assert ("a\x00b\u00e9\U0001f600", 9) in rows(study, "results", "output_text, output_total_bytes")


def test_samples_have_one_row_for_each_raw_sample(
    write: Write, make_run: Make, make_result: Make, make_call: Make, study: Path
) -> None:
    calls = [
        make_call(1, 2, (30, 40), 10),
        make_call(5, 6, (70,), 10) | {"cold": None},
        make_call(8, 9) | {"steady": None},
    ]
    merge([str(write("run.json", make_run([make_result(calls=calls)])))], study)
    columns = "call, protocol, sample, call_ns, wait_ns, block_ns, calls_per_block"
    assert rows(study, "samples", columns) == [
        (1, "cold", 1, 1, 2, None, None),
        (1, "steady", 1, None, None, 30, 10),
        (1, "steady", 2, None, None, 40, 10),
        (2, "steady", 1, None, None, 70, 10),
        (3, "cold", 1, 8, 9, None, None),
    ]
    assert [json.loads(row[0]) for row in rows(study, "samples", "counters") if row[0]] == [{"compilations": 1}] * 2


def test_results_and_samples_have_the_facts_of_the_run_file(study: Path) -> None:
    example = EXAMPLES / "run" / "valid" / "second_opinions.json"
    merge([str(example)], study)
    by_test = {result["test"]: result for result in json.loads(example.read_text())["results"]}
    columns = "test, sync, host_operations, value_verdict, deviation, cpu_control, full_precision, sync_check"
    for test, sync, host_operations, *facts in rows(study, "results", columns):
        result = by_test[test]
        assert sync == "complete"
        assert host_operations == result["placement"].get("host_operations")
        assert facts == [
            result[key] for key in ("value_verdict", "deviation", "cpu_control", "full_precision", "sync_check")
        ]
    (call,) = by_test["mixed"]["calls"]
    counters = {protocol: json.loads(text) for protocol, text in rows(study, "samples", "protocol, counters")}
    assert counters == {protocol: call[protocol]["counters"] for protocol in ("cold", "steady", "observed")}
    assert rows(study, "runs", "sync, shuffle, memory_bytes") == [("complete", None, None)]


def test_results_have_outcomes_caused_by_an_earlier_test(study: Path) -> None:
    example = EXAMPLES / "run" / "valid" / "contaminated.json"
    merge([str(example)], study)
    (result,) = json.loads(example.read_text())["results"]
    assert rows(study, "results", "outcome, contaminated") == [("passed", result["contaminated"])]
    assert rows(study, "runs", "memory_bytes") == [(2 << 30,)]


def test_results_have_how_a_disturbed_test_ended_first(study: Path) -> None:
    example = EXAMPLES / "run" / "valid" / "disturbed.json"
    merge([str(example)], study)
    (result,) = json.loads(example.read_text())["results"]
    assert rows(study, "results", "outcome, disturbed") == [("passed", result["disturbed"])]


def test_the_same_file_twice_changes_nothing(write: Write, make_run: Make, study: Path) -> None:
    path = write("a/run.json", make_run())
    copy = write("b/copy.json", path.read_text())
    first = merge([str(path), str(path), str(copy)], study)
    before = content(study), files(study)
    second = merge([str(copy)], study)
    assert (first.added, first.known, second.added, second.known) == (1, 0, 0, 1)
    assert (content(study), files(study)) == before


def test_a_second_merge_adds_to_the_study(write: Write, make_run: Make, make_result: Make, study: Path) -> None:
    merge([str(write("1.json", make_run([make_result()])))], study)
    merged = merge([str(write("2.json", make_run([make_result(outcome="failed")])))], study)
    (target,) = merged.study.summary["targets"]
    assert len(merged.study.summary["run_files"]) == 2
    assert target["functions"][0]["tests_by_verdict"]["flaky"] == 1
    assert len(rows(study, "results")) == 2
    assert len([path for path in study.iterdir() if path.is_dir()]) == 1


@settings(max_examples=6, deadline=None)
@given(order=st.permutations(range(5)), cuts=st.sets(st.integers(1, 4), max_size=2))
def test_neither_order_nor_grouping_matters(
    order: list[int], cuts: set[int], make_run: Make, make_result: Make, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("order")
    targets = ["torch-2.9.0-cpu", "torch-2.10.0-cpu", "jax-0.10.2-xla", "torch-2.9.0-cpu", "torch-2.9.0-cpu"]
    machines = ["box", "box", "box", "other", "box"]
    paths = []
    for number, (target, machine) in enumerate(zip(targets, machines, strict=True)):
        outcome = "failed" if number == 4 else "passed"
        run = make_run([make_result(outcome=outcome), make_result("torch.add")], target=target, machine=machine)
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(json.dumps(run))
    merge([str(folder)], folder / "at_once")
    edges = [0, *sorted(cuts), 5]
    for start, end in itertools.pairwise(edges):
        merge([str(paths[number]) for number in order[start:end]], folder / "in_steps")
    assert content(folder / "in_steps") == content(folder / "at_once")


def test_studies_are_merged_as_their_run_files_would_be_and_each_run_counts_once(
    write: Write, make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    results = [make_result(), make_result("torch.add", outcome="failed")]
    paths = [str(write(f"{name}.json", make_run(results, machine=name))) for name in ("a", "b", "c", "d")]
    merge(paths[:3], tmp_path / "first")
    merge(paths[1:3], tmp_path / "second")
    studies = [str(tmp_path / "first"), str(tmp_path / "second")]
    merged = merge([*studies, paths[3], studies[0]], tmp_path / "joined")
    assert (merged.added, merged.known) == (4, 0)
    merge(paths, tmp_path / "at_once")
    assert content(tmp_path / "joined") == content(tmp_path / "at_once")
    again = merge([studies[1]], tmp_path / "joined")
    assert (again.added, again.known) == (0, 2)


def test_a_study_that_contradicts_another_is_refused(write: Write, make_run: Make, study: Path, tmp_path: Path) -> None:
    merge([str(write("a.json", make_run(run_id="3" * 32)))], tmp_path / "first")
    merge([str(write("b.json", make_run(run_id="3" * 32, machine="other")))], tmp_path / "second")
    with pytest.raises(Contradiction, match=r"has two contents.*of .*first.*of .*second"):
        merge([str(tmp_path / "first"), str(tmp_path / "second")], study)
    assert not study.exists()


def test_targets_are_apart_by_machine_and_in_the_order_of_versions(write: Write, make_run: Make, study: Path) -> None:
    for version, machine in (("2.10.0", "b"), ("2.10.0", "a"), ("2.9.0", "z")):
        write(f"r/{version}{machine}.json", make_run(target=f"torch-{version}-cpu", machine=machine))
    summary = merge([str(study.parent / "r")], study).study.summary
    assert [(entry["target"]["version"], entry["machine"]) for entry in summary["targets"]] == [
        ("2.9.0", "z"),
        ("2.10.0", "a"),
        ("2.10.0", "b"),
    ]


def test_one_run_id_with_two_contents_is_refused_and_the_study_is_unchanged(
    write: Write, make_run: Make, study: Path
) -> None:
    first = write("first.json", make_run(run_id="1" * 32))
    second = write("second.json", make_run(run_id="1" * 32, machine="other"))
    merge([str(first)], study)
    before = content(study), files(study)
    with pytest.raises(Contradiction) as caught:
        merge([str(second)], study)
    for part in ("run_id " + "1" * 32, read_document(first).sha256, read_document(second).sha256, str(second)):
        assert part in str(caught.value)
    assert (content(study), files(study)) == before
    with pytest.raises(Contradiction):
        merge([str(first), str(second)], study.with_name("new"))
    assert not study.with_name("new").exists()


def test_results_of_mutated_functions_are_refused(write: Write, make_run: Make, study: Path) -> None:
    protocol = make_run()["protocol"] | {"mutant": "scaled"}
    audited = write("runs/a.json", make_run(schema_version=2, protocol=protocol))
    with pytest.raises(BadInput, match="functions were mutated"):
        merge([str(audited)], study)
    assert not study.exists()


def test_first_calls_of_processes_are_never_pooled_with_those_of_tests(
    write: Write, make_run: Make, study: Path
) -> None:
    older = make_run(schema_version=4)
    assert "cold" not in older["protocol"]
    first, same = write("a.json", older), write("b.json", make_run(cold="test"))
    of_process = write("c.json", make_run(cold="process"))
    merge([str(first), str(same)], study)
    before = content(study)
    for allow_drift in (False, True):
        with pytest.raises(
            Contradiction, match=r"torch-2\.9\.0-cpu on box has first calls of tests .* and of processes"
        ):
            merge([str(of_process)], study, allow_drift=allow_drift)
    assert content(study) == before
    # Another machine is another target, and is not pooled.
    elsewhere = write("d.json", make_run(cold="process", machine="other"))
    assert merge([str(elsewhere)], study).added == 1


def test_one_manifest_name_with_two_contents_is_refused(write: Write, make_run: Make, study: Path) -> None:
    first = make_run()
    second = make_run(machine="other")
    second["manifest"]["sha256"] = "c" * 64
    with pytest.raises(Contradiction) as caught:
        merge([str(write("r/1.json", first)), str(write("r/2.json", second))], study)
    for part in ("manifest study-torch", "a" * 64, "c" * 64, "1.json", "2.json"):
        assert part in str(caught.value)
    assert caught.value.remedy


def test_collected_tests_are_never_in_a_study_of_others(write: Write, make_run: Make, study: Path) -> None:
    others = make_run()
    collected = make_run(run_id="2" * 32)
    collected["manifest"]["name"] = "collected-torch-2.9.0"
    first, second = write("a.json", others), write("b.json", collected)
    with pytest.raises(Contradiction, match="has collected tests"):
        merge([str(first), str(second)], study)
    assert not study.exists()
    merge([str(second)], study)
    with pytest.raises(Contradiction, match="has others"):
        merge([str(first)], study)


def test_folders_globs_and_odd_names(write: Write, make_run: Make, study: Path, tmp_path: Path) -> None:
    write("in/[1]*? é'/sub/run.json", make_run(machine="a"))
    write("in/plain/run.json", make_run(machine="b"))
    write("in/plain/deep/run.json", make_run(machine="c"))
    assert merge([str(tmp_path / "in/[1]*? é'")], study).added == 1
    assert merge([str(tmp_path / "in/pl*")], study).added == 2
    assert merge([str(tmp_path / "in/**/run.json")], study).known == 3


def test_other_files_of_a_folder_are_listed_and_not_merged(
    write: Write, make_run: Make, manifest: Document, study: Path, portbench: Command
) -> None:
    write("r/run.json", make_run())
    write("r/done.json", make_run(machine="b"))
    write("r/done.journal.jsonl", "")
    journal = write("r/late.journal.jsonl", "")
    other = write("r/manifest.json", manifest)
    result = portbench("merge", study.parent / "r", "-o", study)
    assert result.exit_code == 0, result.output
    assert f"left out, unfinished: {journal}" in result.stdout
    assert f"left out, not a run file: {other}" in result.stdout
    assert "2 run files added" in result.stdout
    assert "done.journal" not in result.stdout


@pytest.mark.parametrize("given", ["empty", "nowhere", "none-*.json"])
def test_a_path_without_run_files_is_refused(given: str, tmp_path: Path, study: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"no run file there|does not exist") as caught:
        merge([str(tmp_path / given)], study)
    assert caught.value.remedy
    assert not study.exists()


def test_a_folder_with_only_a_journal_gives_the_next_command(write: Write, study: Path) -> None:
    journal = write("r/x.journal.jsonl", "")
    with pytest.raises(BadInput, match="the journal of an unfinished run") as caught:
        merge([str(journal.parent)], study)
    assert "--resume" in caught.value.remedy


def test_a_named_file_must_be_a_run_file_and_a_damaged_one_stops_the_merge(
    write: Write, make_run: Make, manifest: Document, study: Path
) -> None:
    with pytest.raises(BadInput, match="is a manifest, not a run file"):
        merge([str(write("m.json", manifest))], study)
    write("r/a.json", make_run())
    write("r/b.json", json.dumps(make_run())[:500])
    with pytest.raises(BadInput, match=r"b\.json: line 1, column .*truncated"):
        merge([str(study.parent / "r")], study)
    assert not study.exists()


def test_a_folder_that_is_no_study_is_not_changed(write: Write, make_run: Make) -> None:
    path = write("r/run.json", make_run())
    with pytest.raises(BadInput, match="is neither a study that portbench wrote nor empty"):
        merge([str(path)], path.parent)
    assert [entry.name for entry in path.parent.iterdir()] == ["run.json"]


def test_an_output_that_cannot_be_created_is_an_error(write: Write, make_run: Make) -> None:
    path = write("run.json", make_run())
    with pytest.raises(StorageFailed, match="cannot be created"):
        merge([str(path)], path / "study")


@pytest.mark.parametrize("damage", ["gone", "garbage"])
def test_a_study_without_its_tables_is_refused(write: Write, make_run: Make, study: Path, damage: str) -> None:
    merge([str(write("1.json", make_run()))], study)
    (table,) = (read_study(study).tables / "results").iterdir()
    table.unlink() if damage == "gone" else table.write_bytes(b"PAR1")
    with pytest.raises(BadInput, match=r"is missing|was changed or damaged") as caught:
        merge([str(write("2.json", make_run(machine="b")))], study)
    assert "Merge the run files again" in caught.value.remedy


def test_two_merges_at_once_are_refused(write: Write, make_run: Make, study: Path) -> None:
    merge([str(write("1.json", make_run()))], study)
    holder = os.open(study, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with pytest.raises(BadInput, match="another command is changing this study"):
            merge([str(write("2.json", make_run(machine="b")))], study)
    finally:
        os.close(holder)


def test_two_merges_at_once_are_refused_where_folders_cannot_be_locked(
    write: Write, make_run: Make, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock

    def flock(locked: int | IO[bytes], operation: int) -> None:
        if stat.S_ISDIR(os.fstat(locked if isinstance(locked, int) else locked.fileno()).st_mode):
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        # Without the lock of a file, the temporary folders of other tests would be taken for abandoned, and removed.
        real(locked, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    merge([str(write("1.json", make_run()))], study)
    before = files(study)
    with (
        locked(study, Kind("study", re.compile(""))),
        pytest.raises(BadInput, match="another command is changing this study"),
    ):
        merge([str(write("2.json", make_run(machine="b")))], study)
    assert files(study) == before
    merge([str(write("2.json", make_run(machine="b")))], study)
    assert len(rows(study, "runs")) == 2
    assert list(study.parent.glob(".*lock")) == []


def test_a_full_disk_leaves_the_old_study(
    write: Write, make_run: Make, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge([str(write("1.json", make_run()))], study)
    before = content(study), files(study)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailed, match="No space left on device") as caught:
        merge([str(write("2.json", make_run(machine="b")))], study)
    assert "as it was before" in caught.value.remedy
    assert (content(study), files(study)) == before


KILLED_AT_FSYNC = """
import os, signal, sys
from pathlib import Path
from portbench.study.merge import merge
real, left = os.fsync, int(sys.argv[1])
def fsync(descriptor):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(descriptor)
os.fsync = fsync
merge([sys.argv[2]], Path(sys.argv[3]))
"""


# Two parts of four tables with their digests: nothing synced; all but the folder; study.json replaced, and the old
# tables still there.
@pytest.mark.parametrize(("moment", "is_new"), [(1, False), (16, False), (17, True)])
def test_a_killed_merge_leaves_a_complete_study(
    write: Write, make_run: Make, study: Path, moment: int, is_new: bool
) -> None:
    merge([str(write("1.json", make_run()))], study)
    second = write("2.json", make_run(machine="b"))
    old = content(study)
    expected = study.with_name("expected")
    merge([str(study.parent / "?.json")], expected)
    killed = subprocess.run([sys.executable, "-c", KILLED_AT_FSYNC, str(moment), str(second), str(study)], check=False)
    assert killed.returncode == -9
    assert content(study) == (content(expected) if is_new else old)
    third = write("3.json", make_run(machine="c"))
    # The merge of the same file again has nothing to add where the killed one had replaced study.json.
    for file in (second, third):
        merge([str(file)], study)
        merge([str(file)], expected)
        assert content(study) == content(expected)
        names = {path.name for path in study.iterdir()}
        assert names == {".portbench.json", "study.json", read_study(study).tables.name}


NAMES = st.text(min_size=1, max_size=12)
NS = st.integers(0, 9 * 10**15)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_valid_run_file_can_be_merged_without_change(
    data: st.DataObject,
    make_run: Make,
    make_result: Make,
    make_call: Make,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    keys = data.draw(st.lists(st.tuples(NAMES, NAMES, st.integers(1, 3)), min_size=1, max_size=4, unique=True))
    results = [
        make_result(
            *key,
            case_ns=data.draw(NS),
            output={"text": data.draw(st.text(max_size=20)), "total_bytes": data.draw(NS)},
            calls=[make_call(data.draw(NS), data.draw(NS), (data.draw(NS),), data.draw(st.integers(1, 10**18)))],
        )
        for key in keys
    ]
    folder = tmp_path_factory.mktemp("any")
    (folder / "run.json").write_text(json.dumps(make_run(results, machine=data.draw(NAMES))))
    merge([str(folder / "run.json")], folder / "study")
    columns = "function, test, run, case_ns, output_text, output_total_bytes"
    assert sorted(rows(folder / "study", "results", columns)) == sorted(
        (r["function"], r["test"], r["run"], r["case_ns"], r["output"]["text"], r["output"]["total_bytes"])
        for r in results
    )
    read_document(folder / "study" / "study.json", "study")


def of_content(content: str, started_at: str, **changes: Any) -> Document:
    """A run of the manifest with this content."""
    run = run_document(started_at=started_at, ended_at=started_at, **changes)
    run["manifest"]["sha256"] = content * 64
    return run


def test_readers_take_the_newest_content_of_a_changed_manifest_and_merge_names_the_files_to_remove(
    write: Write, study: Path, tmp_path: Path
) -> None:
    write("r/older.json", of_content("a", "2026-01-01T10:00:00Z", results=[result_document(test="before")]))
    write("r/newer.json", of_content("c", "2026-01-01T11:00:00Z", results=[result_document(test="after")]))
    write("r/other.json", of_content("a", "2026-01-01T09:00:00Z", machine="other"))
    said: list[str] = []
    with study_of([str(tmp_path / "r")], said.append) as opened, connect() as connection:
        create_views(connection, opened.tables)
        found = connection.sql("SELECT DISTINCT test FROM results WHERE machine <> 'other'").fetchall()
    assert found == [("after",)]
    assert {entry["machine"] for entry in opened.summary["targets"]} >= {"other"}
    (line,) = said
    assert "older.json" in line
    assert "newer.json" not in line
    with pytest.raises(Contradiction) as caught:
        merge([str(tmp_path / "r")], study)
    assert "older.json" in caught.value.remedy
    assert "--out" in caught.value.remedy
    assert not study.exists()


def test_report_and_explain_say_which_run_files_they_leave_out(
    write: Write, tmp_path: Path, portbench: Callable[..., Result]
) -> None:
    write("r/older.json", of_content("a", "2026-01-01T10:00:00Z"))
    write("r/newer.json", of_content("c", "2026-01-01T11:00:00Z"))
    for command in (("report", tmp_path / "r"), ("explain", tmp_path / "r", "torch.cat")):
        done = portbench(*command)
        assert done.exit_code == 0, done.output
        assert "left out 1 run file of an older content of study-torch" in done.stderr
        assert "older.json" in done.stderr

"""A study's tables are in parts: any parts give the same study, and existing parts are not written again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.errors import BadInput
from portbench.study import merge as merging
from portbench.study import parquet as study_tables
from portbench.study.merge import merge
from portbench.study.store import connect, create_views, read_study

Document = dict[str, Any]
Write = Callable[[str, Any], Path]
Make = Callable[..., Document]

TABLES = ("runs", "results", "timed_calls", "samples", "listed_functions")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "study"


@pytest.fixture
def runs(write: Write, make_run: Make, make_result: Make, tmp_path: Path) -> Path:
    """A folder of six run files: three targets on two machines, with failures."""
    targets = ("torch-2.9.0-cpu", "torch-2.10.0-cpu", "jax-0.10.2-xla", "torch-2.9.0-cpu", "torch-2.9.0-cpu")
    for number, target in enumerate((*targets, "jax-0.10.2-xla")):
        results = [make_result(outcome="failed" if number % 2 else "passed", run=2), make_result(test="other")]
        run = make_run(results, target=target, machine="lab" if number == 3 else "box")
        write(f"runs/{number}.json", run | {"started_at": f"2026-11-21T09:00:0{number}Z", "run_id": f"{number}" * 32})
    return tmp_path / "runs"


def content(study: Path) -> tuple[bytes, list[Any]]:
    """All bytes of study.json and all rows of the tables."""
    with connect() as connection:
        create_views(connection, read_study(study).tables)
        rows = [connection.sql(f"FROM {table} ORDER BY ALL").fetchall() for table in TABLES]
    return (study / "study.json").read_bytes(), rows


def parts(study: Path) -> dict[str, int]:
    """The inodes of the parts of the table results."""
    return {file.name: file.stat().st_ino for file in (read_study(study).tables / "results").iterdir()}


def test_a_merge_writes_no_old_part_again(runs: Path, study: Path) -> None:
    merge([str(runs / "[0-3].json")], study)
    before = parts(study)
    merge([str(runs)], study)
    assert before.items() < parts(study).items()
    assert len(parts(study)) == 2


def test_several_processes_and_one_target_at_a_time_give_the_same_study(
    runs: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge([str(runs)], study.with_name("at_once"))
    monkeypatch.setattr(merging, "_BATCH_BYTES", (runs / "0.json").stat().st_size * 2 + 100)
    monkeypatch.setattr(merging, "_LARGE_BYTES", 0)
    merge([str(runs)], study)
    assert len(parts(study)) == 3
    assert content(study) == content(study.with_name("at_once"))


def test_only_targets_that_something_was_added_to_are_analysed_again(
    runs: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_LARGE_BYTES", 0)
    merge([str(runs / "[0-4].json")], study)
    analysed = []
    real = merging.target_entries

    def watched(*arguments: Any) -> Any:
        analysed.append(arguments[1])
        return real(*arguments)

    monkeypatch.setattr(merging, "target_entries", watched)
    merge([str(runs / "5.json")], study)
    assert analysed == [("jax", "0.10.2", "xla", "box", "complete")]
    monkeypatch.undo()
    merge([str(runs)], study.with_name("at_once"))
    assert content(study) == content(study.with_name("at_once"))


def test_many_small_parts_become_one(runs: Path, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_tables, "_MOST_SMALL", 3)
    counts = []
    for number in range(6):
        merge([str(runs / f"{number}.json")], study)
        counts.append(len(parts(study)))
    assert counts == [1, 2, 3, 2, 3, 2]
    merge([str(runs)], study.with_name("at_once"))
    assert content(study) == content(study.with_name("at_once"))


def test_tables_that_other_code_derived_are_written_again(
    runs: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr(study_tables, "_derivation", lambda: "another")
        merge([str(runs / "[0-3].json")], study)
    before = parts(study)
    merge([str(runs)], study)
    assert not before.items() & parts(study).items()
    merge([str(runs)], study.with_name("at_once"))
    assert content(study) == content(study.with_name("at_once"))


def test_the_derivation_has_every_module_that_tables_and_summary_follow_from() -> None:
    names = {file.name for file in study_tables.derivation_files()}
    modules = {"document.py", "model.py", "summary.py", "drift.py", "failures.py", "fingerprints.py"}
    of_fingerprints = {"messages.py"}
    assert modules | of_fingerprints < names
    sql = names - modules - of_fingerprints
    assert all(name.endswith(".sql") for name in sql)
    package = Path(study_tables.__file__).parent
    assert sql == {file.name for file in (package / "sql").iterdir()}
    for module in modules:
        imported = re.findall(r"^from portbench\.study\.(\w+) import", (package / module).read_text(), re.MULTILINE)
        # parquet.py stores the derived values; the version of the format covers it.
        assert {f"{name}.py" for name in imported} <= {*modules, "parquet.py"}


def test_the_derivation_depends_on_each_of_its_files(tmp_path: Path) -> None:
    files = study_tables.derivation_files()
    digests = {study_tables.derivation_digest(files)}
    for position, file in enumerate(files):
        changed = tmp_path / file.name
        changed.write_bytes(file.read_bytes() + b" ")
        digests.add(study_tables.derivation_digest([*files[:position], changed, *files[position + 1 :]]))
    assert len(digests) == len(files) + 1


def test_an_error_in_another_process_has_the_same_message(
    runs: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads((runs / "4.json").read_text())
    document["results"][0]["run"] = 0
    (runs / "4.json").write_text(json.dumps(document))
    monkeypatch.setattr(merging, "_BATCH_BYTES", 1)
    with pytest.raises(BadInput, match=r"4\.json: \$\.results\[0\]\.run: found 0, expected at least 1") as caught:
        merge([str(runs)], study)
    assert caught.value.remedy
    assert not study.exists()


def test_a_merge_does_not_import_pandas(runs: Path, study: Path) -> None:
    code = "import sys; from pathlib import Path; from portbench.study.merge import merge; "
    code += "merge([sys.argv[1]], Path(sys.argv[2])); print('pandas' in sys.modules)"
    merged = subprocess.run([sys.executable, "-c", code, str(runs), str(study)], stdout=subprocess.PIPE, check=True)
    assert merged.stdout == b"False\n"


@pytest.mark.parametrize("value", ["", "it's", "''", "\\'", "a\0b\0", "$1 ? :x -- ü𝄞\n", 7, True])
def test_sql_reads_the_same_value(value: str | int) -> None:
    with connect() as connection:
        study_tables.set_variable(connection, "given", value)
        assert connection.sql("SELECT getvariable('given')").fetchone() == (value,)

"""Collecting tests from examples in docstrings: what they call becomes tests, and mutations of these."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")

from runners.core import documents
from runners.core.collection import examples
from runners.core.process import processes, sandbox
from tests.unit.runner.collection.test_collection import COLLECT, run
from tests.unit.runner.runner_cli import ROOT


def collected(out, *options, source="docs"):
    """The runner's exit status, its last event, and the manifest's path."""
    command = [*COLLECT, "--collect", source, "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), out / "fake-1.0.0.collected.json"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    status, last, path = collected(tmp_path_factory.mktemp("docs"))
    assert (status, last["event"]) == (0, "end"), last
    return path


@pytest.fixture(scope="module")
def document(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def tests(document):
    return {entry["function"]: entry["tests"] for entry in document["functions"]}


def test_the_manifest_fits_its_schema_and_names_its_source(document):
    assert documents.first_mistake(documents.checker("manifest"), document) == ""
    (source,) = document["collected"]["sources"]
    assert (source["name"], source["package"], source["version"], source["entries"]) == ("docs", "runners", "1.0.0", 8)


def test_calls_of_examples_become_tests_of_the_functions_called(tests):
    assert set(tests) == {"fake.noise", "fake.root", "fake.scale", "fake.scale_"}
    first, second, third = tests["fake.scale"]
    assert [test["id"] for test in tests["fake.scale"]] == ["docs", "docs-2", "docs-3"]
    assert first["case"] == "fake.sampled:replay"
    own = first["params"]
    assert (own["source"], own["entry"], own["position"], len(own["sha256"])) == ("docs", "fake.scale", 0, 64)
    assert own["args"] == [{"tensor": {"dtype": "float64", "values": [1.0, 2.0]}}, 3.0]
    # The second call has the same arguments. The third is rounded in some way by each computer.
    assert second["params"]["position"] == 1
    assert second["params"]["args"] == [
        {"tensor": {"dtype": "float32", "shape": [3], "seed": 1, "low": 0.123, "high": 4.0, "like": "sorted"}}
    ]
    assert second["params"]["kwargs"] == {"factor": 0.5}
    # The docstring of another function comes after its own.
    assert (third["params"]["entry"], third["params"]["position"]) == ("fake.noise", 1)


def test_each_mutation_is_added_to_the_first_call_with_which_the_cpu_takes_it(tests):
    first, second, third = (test["grid"]["mutation"] for test in tests["fake.scale"])
    assert first == ["none", "float16", "float32", "complex64", "int32", "bool", "empty", "odd", "large", "strided"]
    assert (second, third) == (["none", "float64"], ["none"])


def test_a_function_without_calls_is_tried_with_those_of_the_same_name(tests):
    params = [test["params"] for test in tests["fake.scale_"]]
    assert params == [test["params"] for test in tests["fake.scale"]]


def test_what_is_left_out_has_a_reason(document):
    reasons = {each["entry"]: each["reason"] for each in document["collected"]["left_out"]}
    assert reasons["fake.quotient"] == "the process was ended by SIGKILL"
    assert reasons["fake.refuse"] == "NotImplementedError: refuse is not implemented for Tensor"
    assert reasons["fake.execute"] == "SystemExit: 3"
    assert reasons["fake.refuse_on_device"] == "no example calls a function that can be recorded"
    assert reasons["fake.scale_unevenly"].endswith(("Operation not permitted", "Connection refused"))
    assert len(reasons) == 5


def test_the_same_packages_give_the_same_bytes(path, tmp_path):
    assert collected(tmp_path)[2].read_bytes() == path.read_bytes()


def test_all_of_it_passes_on_the_cpu_and_a_device_is_judged_by_it(path, tmp_path):
    results = run(path, tmp_path / "cpu")
    assert {result["outcome"] for result in results.values()} == {"passed"}
    assert ("fake.scale", "docs[mutation=large]") in results
    results = run(path, tmp_path / "xla", "xla")
    wrong = results["fake.root", "docs[mutation=none]"]
    assert (wrong["outcome"], wrong["value_verdict"]) == ("failed", "wrong")
    assert results["fake.scale", "docs[mutation=float16]"]["outcome"] == "passed"


def test_only_the_examples_of_selected_functions_are_run(tmp_path):
    _, _, path = collected(tmp_path, "--function", "fake.r*", "--samples", "1")
    document = json.loads(path.read_text())
    assert [entry["function"] for entry in document["functions"]] == ["fake.root"]
    assert document["collected"]["sources"][0]["entries"] == 3


def test_a_mutation_that_does_not_apply_is_the_manifests_mistake(path, tmp_path):
    changed = tmp_path / "changed.json"
    changed.write_text(path.read_text().replace('"strided"', '"backwards"'))
    result = run(changed, tmp_path / "out")["fake.scale", "docs[mutation=backwards]"]
    assert result["outcome"] == "error"
    assert "there is no mutation 'backwards'" in result["error"]["message"]


def test_a_manifest_of_recorded_calls_must_have_the_name_of_one(path, tmp_path):
    changed = tmp_path / "changed.json"
    changed.write_text(path.read_text().replace('"collected-fake-1.0.0"', '"mine"'))
    command = [*COLLECT, "--manifest", str(changed), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected a name that begins with 'collected-'" in done.stdout


def test_examples_are_what_follows_a_prompt_and_what_is_fenced():
    text = """
    Adds.

    >>> a = [1,
    ...      2]
    >>> f(a)
    3

    ```python
    g(a)
    if a:
        h(a)
    ```

    ``f`` is not one.
    """
    assert examples.examples_in(text) == ["a = [1,\n     2]\n", "f(a)\n", "g(a)\nif a:\n    h(a)\n"]
    assert examples.examples_in("Nothing.") == []


def test_examples_with_uneven_indentation_are_read_line_by_line():
    text = "  >>> for a in b:\n ...     f(a)\n >>>g(a)\n"
    assert examples.examples_in(text) == ["for a in b:\n    f(a)\n", "g(a)\n"]


FORKING = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from runners.core.collection import forks
from runners.core.process import processes

def work(send):
    {}

processes.adopt_orphans()
print(json.dumps(list(forks.messages(work, float(sys.argv[1])))))
"""


def said(code, limit_s=60):
    """The messages of a fork that runs a piece of code."""
    command = [sys.executable, "-c", FORKING.format(code.strip().replace("\n", "\n    ")), str(limit_s)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_fork_that_says_nothing_in_time_is_ended():
    assert said("signal.pause()", 0.2) == [{"ended": "the process did not finish it within 0.2 s"}]


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("pass", ""),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the process was ended by SIGSEGV"),
        ("os._exit(3)", "the process ended with exit status 3"),
        ("sys.exit('no')", "SystemExit: no"),
    ],
)
def test_a_fork_says_how_it_ended(code, ended):
    assert said(f"send({{'step': 1}})\n{code}") == [{"step": 1}, {"ended": ended}]


def test_what_a_fork_starts_ends_with_it_and_its_folder_is_removed():
    code = """
Path("file").write_text("x")
child = os.fork()
if child == 0:
    os.setsid()
    signal.pause()
send({"folder": os.getcwd(), "child": child})
"""
    first, last = said(code)
    assert last == {"ended": ""}
    assert not Path(first["folder"]).exists()
    assert not processes.is_alive(first["child"])


@pytest.mark.skipif(sandbox.available() != sandbox.WHOLE, reason="this system has no Landlock or seccomp")
def test_a_fork_changes_no_other_file_and_starts_no_program(tmp_path):
    code = f"""
for attempt in (lambda: Path({str(tmp_path / "file")!r}).write_text("x"), lambda: subprocess.run(["true"])):
    try:
        attempt()
    except PermissionError:
        send({{"refused": True}})
"""
    assert said(code) == [{"refused": True}, {"refused": True}, {"ended": ""}]
    assert not list(tmp_path.iterdir())

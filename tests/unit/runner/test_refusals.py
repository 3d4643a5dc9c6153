"""Wrong input: one clear error that says where and what to do, exit status not 0, no file left behind."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import types

import pytest

from runners.core.process.zygote_handle import ZygoteHandle
from runners.core.public import names
from tests.unit.runner.runner_cli import ROOT, cases, numbered, write_manifest


def refused(run, status, *fragments):
    assert run.status == status
    message = run.error["message"] + " " + run.error["remedy"]
    for fragment in fragments:
        assert fragment in message
    assert "Traceback" not in message
    assert not run.out.exists() or not list(run.out.iterdir())


def entry(**changes):
    return {"id": "a", "case": "fake.behaviours:passes", **changes}


def function(*tests, name="fake.identity"):
    return {"function": name, "tests": list(tests)}


@pytest.mark.parametrize(
    ("functions", "fragments"),
    [
        ([function(entry(parms={}))], ["$.functions[0].tests[0]", "'parms' was unexpected"]),
        ([function(entry(), entry())], ["$.functions[0].tests[1]", "test id 'a' twice"]),
        ([function(entry()), function(entry())], ["$.functions[1]", "found fake.identity twice"]),
        ([{**function(entry()), "successors": ["fake.scale", "fake.scale"]}],
         ["$.functions[0].successors", 'found "fake.scale" twice']),
        ([function(entry(case="os:system"))], ["$.functions[0].tests[0].case", "os:system"]),
        ([function(entry(case="torch.nn:forward"))], ["$.functions[0].tests[0].case", "not a case of fake"]),
        ([function(entry(case="fake.behaviours:no_such"))], ["fake.behaviours:no_such", "defines no case no_such"]),
        ([function(entry(case="fake.nowhere:no_such"))], ["no case module runners/fake/cases/nowhere.py"]),
        ([function(entry(case="fake.behaviours:trial"))], ["defines no case trial"]),
        ([function(entry(), name="torch.cat")], ["torch.cat does not begin with 'fake.'"]),
        ([function(entry(params={"a": "$b"}))], ["'$b' is used", "tests[0]"]),
        ([function(entry(grid={"a": [1]}))], ["'a' is not used"]),
        ([function(entry(grid={"a": [1, 1]}, params={"x": "$a"}))], ["test id 'a[a=1]' twice"]),
        ([function(entry(grid={"a": [0] * 101, "b": [0] * 101}, params={"x": "$a", "y": "$b"}))], ["10201 tests"]),
        ([function({"id": "a", "case": "call", "args": [1]})], ["'expect' is a required property"]),
        ([function(entry(), name="fake.identity.__globals__.clear")], ["$.functions[0].function", "leads into Python"]),
        ([function(entry(), name="fake.random.seed")], ["$.functions[0].function", "leads to random, outside"]),
        ([function(entry(params={"path": "/etc/passwd"}))], ["tests[0].params", "leads out of the working folder"]),
        ([function(entry(grid={"a": ["x" * 2000]}, params={"x": "$a"}))], ["grid", "at most 1000 are allowed"]),
        ([], ["$.functions"]),
    ],
)  # fmt: skip
def test_a_wrong_manifest(run, functions, fragments):
    refused(run(functions), 2, *fragments)


def test_grids_that_would_fill_the_memory(run):
    hundred = list(range(100))
    params = {"x": "$a", "y": "$b"}
    many = [entry(id=f"t{n}", grid={"a": hundred, "b": hundred}, params=params) for n in range(3)]
    refused(run([function(*many)]), 2, "tests[2]", "30000 tests", "at most 20000")
    large = entry(grid={"a": hundred, "b": hundred}, params={**params, "z": [0] * 10_000})
    refused(run([function(large)]), 2, "tests[0]", "10000 tests", "bytes are allowed")


def test_a_name_that_is_a_mistake_is_found_in_the_file(run):
    refused(run([function(entry()), function(entry(case="fake.behaviours:no_such"), name="fake.scale")]), 2,
            "manifest.json: $.functions[1].tests[0].case: fake.behaviours:no_such")  # fmt: skip


def test_nothing_in_a_manifest_steers_the_terminal(run, tmp_path):
    path = write_manifest(tmp_path / "..", [function(entry())], **{"\x1b[2J\u202e": 1})
    out = tmp_path / "out"
    arguments = ["--framework", "fake", "--device", "cpu", "--manifest", str(path), "--out", str(out)]
    done = subprocess.run([sys.executable, "-m", "runners", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "was unexpected" in done.stderr
    assert all(line.isprintable() for line in done.stderr.splitlines())


def test_more_functions_than_a_command_line_holds(tmp_path):
    functions = [f"fake.gone_{'x' * 180}_{number}" for number in range(15_000)]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    zygote = ZygoteHandle("fake", "cpu", functions, variables, itertools.count(1))
    try:
        assert zygote.start_worker().process
    finally:
        zygote.close()


@pytest.mark.parametrize("name", ["json.tool.main", "json.scanner.py_make_scanner"])
def test_a_name_that_runs_what_its_arguments_hold_is_refused(name):
    facts = types.SimpleNamespace(
        MODULE="json", NAMESPACE="json", PACKAGES=("json",), CODE_EXECUTION_APIS=("json.tool", "scanner")
    )
    with pytest.raises(names.Forbidden, match="runs code that its arguments hold"):
        names.function(name, facts)


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax", "fake"])
def test_each_framework_says_what_runs_code(framework):
    facts = names.framework(framework)
    assert all(isinstance(door, str) and door for door in facts.CODE_EXECUTION_APIS)
    assert framework == "fake" or facts.CODE_EXECUTION_APIS


def test_a_grid_value_that_does_not_fit_its_place(run):
    test = {
        "id": "a", "case": "call", "grid": {"shape": [[2], "two"]},
        "args": [{"tensor": {"shape": "$shape", "dtype": "float32"}}], "expect": {"value": 1},
    }  # fmt: skip
    refused(run([function(test)]), 2, "a[shape=two]", "tests[0].args[0].tensor.shape")


def test_a_function_that_is_missing_in_the_version_that_the_manifest_is_written_for(run):
    functions = [function(entry()), function(entry(), name="fake.idenity")]
    refused(run(functions, written_for="1.0.0"), 2, "fake.idenity", "fake has no idenity")


def test_a_function_that_is_missing_in_another_version_is_a_finding(run):
    functions = [function(entry()), function(entry(), name="fake.gone")]
    finished = run(functions, "--runs", "2", written_for="0.9.0")
    assert finished.status == 0
    gone = [result for result in finished.document["results"] if result["function"] == "fake.gone"]
    assert [(r["outcome"], r["category"], r["worker"], r["run"]) for r in gone] == [
        ("skipped", "removed", 0, 1),
        ("skipped", "removed", 0, 2),
    ]
    assert "fake has no gone" in gone[0]["reason"]
    assert finished.events[-1]["outcomes"]["removed"] == 2


def test_a_manifest_of_which_nothing_runs_is_an_error(run):
    refused(run([function(entry(), name="fake.gone")]), 4, "has none of its functions")


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("{", ["not valid JSON"]),
        ("[]", ["not a manifest"]),
        ('{"schema": "portbench/run", "schema_version": 1}', ["not a manifest"]),
        ('{"schema": "portbench/manifest", "schema_version": 8}', ["version 8", "newer portbench"]),
        ('{"schema": "portbench/manifest", "schema": 1}', ["'schema' is duplicated"]),
        ('{"schema": [1, NaN]}', ["$.schema[1]: NaN is not JSON"]),
        ('{"schema": 1%s}' % ("0" * 100_000), ["$.schema: 1000", "needs more than 64 bits"]),
        ('{"schema": 9223372036854775808}', ["$.schema", "needs more than 64 bits"]),
        ('{"schema": 1e999}', ["$.schema: 1e999 is too large"]),
        ('{"schema": {"\\ud800": 1}}', ["$.schema", "half of a surrogate pair"]),
        ("[" * 100_000, ["nested too deeply"]),
        ("[" * 200 + "]" * 200, ["nested too deeply", "at most 100 levels"]),
        ("\x00\xff", ["not valid JSON"]),
    ],
)
def test_a_file_that_is_no_manifest(run, tmp_path, text, fragments):
    path = tmp_path / "manifest.json"
    path.write_bytes(text.encode("latin-1"))
    refused(run(path), 2, "manifest.json", *fragments)


def test_a_manifest_of_another_framework(run):
    refused(run(cases("passes"), framework="torch"), 2, "$.framework", "for torch, the target is fake")


def test_a_manifest_that_is_not_there(run, tmp_path):
    refused(run(tmp_path / "none.json"), 2, "none.json", "No such file")


def test_a_glob_that_matches_nothing(run):
    refused(run(numbered(1), "--function", "fake.x*"), 2, "no function matches fake.x*")


def test_a_glob_selects(run):
    functions = [function(entry()), function(entry(), name="fake.scale")]
    document = run(functions, "--function", "*.identity", "--runs", "1").document
    assert {result["function"] for result in document["results"]} == {"fake.identity"}
    assert document["manifest"]["selection"] == ["*.identity"]


def test_a_function_is_excluded_although_it_is_selected(run):
    functions = [function(entry(), name=name) for name in ("fake.identity", "fake.scale", "fake.sum")]
    options = ("--function", "fake.[is]*", "--exclude", "*.scale", "--exclude", "torch.*")
    document = run(functions, *options, "--runs", "1").document
    assert {result["function"] for result in document["results"]} == {"fake.identity", "fake.sum"}
    assert document["manifest"]["selection"] == ["fake.[is]*", "not:*.scale", "not:torch.*"]


def test_all_functions_are_excluded(run):
    refused(run(numbered(1), "--exclude", "fake.*"), 2, "--exclude fake.* leaves no function", "--dry-run")


def test_a_test_is_selected_by_its_whole_id_or_by_a_glob(run):
    grid = entry(grid={"n": [1, 2, 12]}, case="fake.behaviours:passes", params={"n": "$n"})
    functions = [function(grid, entry(id="b"), entry(id="b2")), function(entry(id="c"), name="fake.scale")]
    options = ("--runs", "1", "--test", "a[n=2]", "--test", "b?", "--test", "a[*1]")
    document = run(functions, *options).document
    assert [result["test"] for result in document["results"]] == ["a[n=1]", "a[n=2]", "b2"]
    assert document["manifest"]["selection"] == ["test:a[n=2]", "test:b?", "test:a[*1]"]


def test_the_run_file_lists_all_functions_of_the_manifest_with_their_strata(run):
    stratum = {"decile": 3, "uses": 12, "top20": False, "listed_as": "fake.Identity"}
    functions = [
        dict(function(entry(grid={"n": [1, 2]}, params={"n": "$n"}), entry(id="b")), stratum=stratum),
        function(entry(), name="fake.scale"),
    ]
    document = run(functions, "--function", "*.scale", "--runs", "1").document
    assert document["manifest"]["functions"] == [
        {"name": "fake.identity", "tests": 3, **stratum},
        {"name": "fake.scale", "tests": 1, "decile": None, "uses": None, "top20": None, "listed_as": None},
    ]


def test_a_test_that_is_not_there(run):
    refused(run(numbered(1), "--test", "rows"), 2, "no test of the selected functions matches rows")


@pytest.mark.parametrize(
    "option",
    [
        *(("--runs", "0"), ("--runs", "10001"), ("--runs", "9" * 4000)),
        ("--lanes", "0"),
        *(("--timeout", "nan"), ("--timeout", "-1"), ("--timeout", "2073601"), ("--timeout", "1e300")),
        *(("--steady-budget", "0"), ("--steady-budget", "86401")),
        *(("--shuffle", "99999999999999999999"), ("--shuffle", "-9223372036854775809")),
        *(("--memory", "999999999999999T"), ("--memory", "8388608T")),
        *(("--machine", ""), ("--machine", "x" * 201)),
    ],
)
def test_numbers_out_of_range(run, option):
    refused(run(numbered(1), *option), 2, option[0])


def test_a_device_that_is_absent(run):
    refused(run(numbered(1), "--device", "gpu"), 3, "no gpu")


def test_another_version_than_the_one_asked_for(run):
    refused(run(numbered(1), "--version", "9.9"), 6, "wanted fake 9.9, this environment has 1.0.0")


def test_a_framework_that_is_not_installed(run, tmp_path):
    try:
        import torch  # noqa: F401
    except ImportError:
        pass
    else:
        pytest.skip("torch is installed here")
    path = write_manifest(tmp_path, [function({"id": "a", "case": "torch.x:y"}, name="torch.cat")], framework="torch")
    refused(run(path, "--framework", "torch"), 6, "cannot import torch", "No module named")


@pytest.mark.parametrize("name", ["json.decoder.re.compile", "json.codecs.open", "json.decoder.scanner.re"])
def test_a_name_that_leads_out_of_the_framework_is_refused(name):
    facts = types.SimpleNamespace(
        MODULE="json", NAMESPACE="json", PACKAGES=("json",), CODE_EXECUTION_APIS=("json.tool", "scanner")
    )
    with pytest.raises(names.Forbidden):
        names.function(name, facts)
    assert names.function("json.decoder.JSONDecoder", facts) is json.JSONDecoder


def test_a_manifest_that_is_no_text(run, tmp_path):
    path = tmp_path / "manifest.json"
    path.write_bytes(b'{"name": "\xff"}')
    refused(run(path), 2, "not valid JSON: byte 10 is not UTF-8")


@pytest.mark.parametrize(
    "option", [("--shuffle", "9223372036854775807"), ("--memory", "8388607T"), ("--timeout", "2073600")]
)
def test_the_largest_numbers_give_a_run_file(run, option):
    assert run(numbered(1), "--runs", "1", *option).status == 0


def test_text_that_is_not_utf_8_is_escaped(run, monkeypatch):
    monkeypatch.setenv("PORTBENCH_MACHINE", os.fsdecode(b"vm\xff"))
    monkeypatch.setenv("XLA_FLAGS", os.fsdecode(b"--a=\xfe"))
    finished = run(numbered(1), "--runs", "1", "--function", os.fsdecode(b"f[!\xfa]*"))
    environment = finished.document["environment"]
    assert environment["machine"] == "vm\\xff"
    assert environment["variables"]["XLA_FLAGS"] == "--a=\\xfe"
    assert finished.document["manifest"]["selection"] == ["f[!\\xfa]*"]
    assert finished.journals == []
    resumed = run(numbered(1), "--runs", "1", "--function", os.fsdecode(b"f[!\xfa]*"), "--resume")
    assert resumed.events[-1]["unchanged"] is True


@pytest.mark.parametrize(
    "text",
    [
        "file:/etc/passwd", "FILE:etc", " file:/a", "\tfi\nle:/a", "<file:/a>", "<URL: file:/a>", "gs:bucket",
        "data:,a", "ram:a" * 20_000,
    ],
)  # fmt: skip
def test_an_address_of_any_scheme(run, text):
    refused(run([function(entry(params={"path": text}))]), 2, "tests[0].params", "leads out of the working folder")


def test_texts_that_are_no_address(run):
    texts = ["cuda:0", "a:1", "none: []", "none:", "m::[[1]]", "ij,jk->ik", "a b:c", ":a", "x" * 10_000]
    finished = run([function(entry(case="fake.behaviours:passes"), entry(id="b", case="call", args=[texts],
                   expect={"value": 1}))], "--runs", "1")  # fmt: skip
    assert finished.status == 0


def test_a_name_that_is_not_public(run):
    finished = run([function(entry(), name="fake._note")])
    refused(finished, 2, "$.functions[0].function", "fake._note begins with an underscore", "calls public")


def test_an_argument_that_is_not_public(run):
    test = {"id": "a", "case": "call", "args": [{"attribute": "fake._note"}], "expect": {"value": 1}}
    refused(run([function(test)]), 2, "$.functions[0].tests[0]", "fake._note begins with an underscore")


def test_the_user_may_allow_private_names(run):
    assert run([function(entry(), name="fake._divided")], "--private-names", "--runs", "1").status == 0


def test_a_device_that_this_environment_cannot_predict(run):
    """As torch-tpu-v2 of compose with TorchTPU's image, which serves newer TPUs."""
    finished = run([function(entry())], "--device", "tpu-v2")
    refused(finished, 3, "fake in this environment cannot predict tpu-v2, only tpu-v3, tpu-v5e", "FAKE_VERSION names")

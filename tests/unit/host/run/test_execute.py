"""`portbench run`, through the command line, with a stand-in for the runner."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest

from portbench.util.parallel import cores
from tests.unit.host.clones import REPOSITORY, Clone, make_clone

CURRENT = ("--backend", "current")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_clone(tmp_path)


def argv_of(clone: Clone, target: str = "fake-9.9-cpu", out: str = "results") -> list[str]:
    """The arguments of the runner, from the run file that the stand-in writes."""
    return list(json.loads((clone.root / out / f"{target}.json").read_text())["argv"])


def test_a_run_prints_its_file_its_counts_and_its_backend(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT)
    assert done.returncode == 0, done.stderr
    assert "fake-cpu: backend current (as --backend current asks)" in done.stderr
    assert "1 passed, 1 failed; results/fake-9.9-cpu.json" in done.stdout


def test_a_run_ends_with_the_failed_tests_the_counts_and_what_to_type_next(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT)
    first, failed, _, counts, _, title, *commands = done.stdout.splitlines()
    assert first == "fake-9.9-cpu: 1 test did not pass"
    assert failed == "  failed  fake.identity::b: 1 is not 2"
    assert counts.startswith("fake-9.9-cpu: 1 passed, 1 failed; results/fake-9.9-cpu.json")
    assert title == "Next:"
    assert [shlex.split(line, comments=True) for line in commands] == [
        ["portbench", "explain", "results/fake-9.9-cpu.json", "fake.identity", "--test", "b"],
        ["portbench", "run", "fake-cpu", "--failed", "results/fake-9.9-cpu.json", "--backend", "current"],
        ["portbench", "report", "results"],
    ]


def test_many_failed_tests_are_cut_and_mistakes_in_the_manifest_come_first(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, stand_in="fails_often")
    lines = done.stdout.splitlines()
    assert lines[0] == "fake-9.9-cpu: 31 tests did not pass, 1 of them by a mistake in the manifest (error)"
    assert lines[1] == "  error  fake.scale::typo: no property is called sums"
    assert lines[2] == "  failed  fake.identity::0: 1 is not 2"
    assert lines[21] == "  and 11 more: portbench explain results/fake-9.9-cpu.json FUNCTION"


@pytest.mark.parametrize(("option", "shown"), [((), True), (("-q",), False), (("--quiet",), False)])
def test_quiet_prints_the_summary_and_no_progress(clone: Clone, option: tuple[str, ...], shown: bool) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, *option)
    assert bool(done.stderr) == shown
    assert "1 passed, 1 failed" in done.stdout
    failed = clone.portbench("run", "fake-cpu", *CURRENT, *option, stand_in="has_no_device")
    assert "no accelerator found" in failed.stderr


def test_verbose_prints_a_line_about_every_test(clone: Clone) -> None:
    lines = clone.portbench("run", "fake-cpu", *CURRENT, "-v").stderr.splitlines()
    assert "fake-cpu: [1/2] passed  fake.identity::a  (0 ms)" in lines
    assert "fake-cpu: [2/2] failed  fake.identity::b  (0 ms)" in lines


def test_another_version_in_the_users_python_is_named_everywhere(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT)
    assert "fake-cpu: runs as fake-9.9-cpu: this Python does not have the default 1.0.0" in done.stderr
    assert "fake-1.0.0" not in done.stdout


def test_json_is_one_object_on_stdout_and_progress_goes_to_stderr(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--json")
    (target,) = json.loads(done.stdout)["targets"]
    assert target.pop("seconds") > 0
    assert target == {
        "target": "fake-9.9-cpu",
        "backend": "current",
        "exit_status": 0,
        "run_file": str(clone.root / "results" / "fake-9.9-cpu.json"),
        "copy": None,
        "outcomes": {"passed": 1, "failed": 1},
        "disturbed": 0,
        "failed": [
            {
                "function": "fake.identity",
                "test": "b",
                "outcome": "failed",
                "category": "other",
                "message": "1 is not 2",
                "runs": 1,
                "listed_as": "fake.identity",
            }
        ],
        "error": None,
        "check": None,
    }
    assert "backend current" in done.stderr


def test_the_runner_gets_the_options(clone: Clone) -> None:
    options = ["--function", "fake.i*", "--function", "fake.scale", "--runs", "2", "--protocol", "cold"]
    options += [
        "--test",
        "a[b=1]",
        "--timeout",
        "1.5",
        "--steady-budget",
        "0.25",
        "--resume",
        "--out",
        "elsewhere",
        "--shuffle",
        "7",
        "--sync",
        "as-published",
        "--memory",
        "2G",
    ]
    done = clone.portbench("run", "fake-cpu", *CURRENT, *options)
    assert done.returncode == 0, done.stderr
    manifest, out = clone.root / "manifests" / "study" / "fake.json", clone.root / "elsewhere"
    expected = f"--framework fake --device cpu --manifest {manifest} --out {out} --runs 2 --protocol cold"
    expected += " --timeout 1.5 --steady-budget 0.25 --function fake.i* --function fake.scale --test a[b=1]"
    expected += " --sync as-published --shuffle 7 --memory 2G --resume --progress json"
    assert argv_of(clone, out="elsewhere") == expected.split()


@pytest.mark.parametrize("word", ["as-published", "study"])
def test_the_older_word_for_sync_as_published_is_accepted(clone: Clone, word: str) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--sync", word)
    assert done.returncode == 0, done.stderr
    argv = argv_of(clone)
    assert argv[argv.index("--sync") + 1] == "as-published"


@pytest.mark.parametrize(("time", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("0.5m", 30), ("2.5", 2.5)])
def test_a_limit_is_in_seconds_minutes_or_hours(clone: Clone, time: str, seconds: float) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--timeout", time)
    assert done.returncode == 0, done.stderr
    argv = argv_of(clone)
    assert float(argv[argv.index("--timeout") + 1]) == seconds


@pytest.mark.parametrize("time", ["10 min", "m", "", "-1", "1e3", "30m1h", "31h31m99999999s", "577h"])
def test_a_wrong_limit_is_wrong_usage(clone: Clone, time: str) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--timeout", time)
    assert done.returncode == 2
    assert "is not a time such as" in " ".join(done.stderr.split())


@pytest.mark.parametrize("size", ["0", "2GB", "-1", "much", "1.5G"])
def test_a_wrong_memory_limit_is_wrong_usage(clone: Clone, size: str) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--memory", size)
    assert done.returncode == 2
    assert "such as 2G" in done.stderr


def test_a_default_is_left_out_because_an_older_runner_may_not_know_the_option(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--sync", "complete")
    assert done.returncode == 0, done.stderr
    assert "--sync" not in argv_of(clone)


def test_the_runner_starts_in_the_clone_whatever_the_working_folder(clone: Clone) -> None:
    inside = clone.root / "manifests" / "study"
    inner = Clone(inside)
    done = inner.portbench("run", "fake-cpu", *CURRENT, "--manifest", "fake.json")
    assert done.returncode == 0, done.stderr
    written = json.loads((inside / "results" / "fake-9.9-cpu.json").read_text())
    assert written["cwd"] == str(clone.root)
    assert str(inside / "fake.json") in written["argv"]


def test_the_users_python_must_have_the_version_only_if_the_target_names_one(clone: Clone) -> None:
    clone.portbench("run", "fake-cpu", *CURRENT)
    assert "--version" not in argv_of(clone)
    clone.portbench("run", "fake-1.0.0-cpu", *CURRENT)
    argv = argv_of(clone)
    assert argv[argv.index("--version") + 1] == "1.0.0"


def test_one_manifest_name_serves_several_frameworks(clone: Clone) -> None:
    clone.add_version("torch", "1.12.0")
    done = clone.portbench("run", "torch-cpu", "fake-cpu", *CURRENT)
    assert done.returncode == 0, done.stderr
    for framework in ("torch", "fake"):
        argv = argv_of(clone, f"{framework}-9.9-cpu")
        assert argv[argv.index("--manifest") + 1] == str(clone.root / "manifests" / "study" / f"{framework}.json")


def test_output_of_the_runner_that_is_no_event_is_ignored(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, stand_in="prints_rubbish")
    assert done.returncode == 0, done.stderr
    assert "1 passed, 1 failed" in done.stdout


def test_functions_without_tests_are_listed(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, stand_in="lists_uncurated")
    assert done.returncode == 0, done.stderr
    assert "fake-cpu: no tests yet: fake.identity, fake.\\x1b[2Jscale" in done.stderr


def test_a_warning_of_the_runner_is_shown_at_once(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, stand_in="warns")
    assert done.returncode == 0, done.stderr
    assert "fake-cpu: warning: no latencies: \\x1b[2Jnothing waits here" in done.stderr


@pytest.mark.parametrize(
    ("stand_in", "status", "words"),
    [
        ("dies", 9, ["ended with exit status 9", "Illegal instruction: no AVX here", "--resume"]),
        ("dies_silently", 137, ["ended by SIGKILL", "wrote nothing to stderr"]),
        ("leaves_a_child", 9, ["ended with exit status 9"]),
        ("leaves_a_daemon", 9, ["ended with exit status 9"]),
        ("has_no_device", 3, ["error: no accelerator found", "plug one in"]),
        ("lies", 1, ["x.json", "there is no such file"]),
        ("says_nothing", 1, ["ended with exit status 0"]),
        ("is_interrupted_by_others", 130, ["interrupted", "--resume"]),
    ],
)
def test_a_runner_that_fails_is_one_error(clone: Clone, stand_in: str, status: int, words: list[str]) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, stand_in=stand_in)
    assert done.returncode == status
    assert done.stderr.count("error:") == 1
    for each in words:
        assert each in done.stderr
    assert "Traceback" not in done.stderr


def test_the_other_targets_run_if_one_fails(clone: Clone) -> None:
    clone.add_version("torch", "1.12.0")
    clone.add_version("jax", "0.4.13")
    misbehaving = {"STAND_IN_torch": "has_no_device", "STAND_IN_jax": "dies"}
    done = clone.portbench("run", "torch-cpu", "jax-cpu", "fake-cpu", *CURRENT, "--json", variables=misbehaving)
    assert done.returncode == 3
    targets = json.loads(done.stdout)["targets"]
    assert [target["exit_status"] for target in targets] == [3, 9, 0]
    assert targets[0]["error"] == "no accelerator found"
    assert targets[2]["run_file"] is not None


def test_a_run_that_was_complete_already_is_reported_as_such(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, "--resume", stand_in="was_complete")
    assert done.returncode == 0
    assert "was complete already" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_is_passed_on_once_and_the_command_that_continues_is_printed(
    clone: Clone, number: signal.Signals
) -> None:
    clone.add_version("torch", "1.12.0")
    options = [
        *CURRENT,
        "--manifest",
        "study",
        "--function",
        "*.[a-z]*",
        "--runs",
        "2",
        "--sync",
        "study",
        "--out",
        "my results",
    ]
    process, tell = clone.start("run", "fake-cpu", "torch-cpu", *options, stand_in="waits")
    assert tell.readline() == "ready\n"
    process.send_signal(number)
    # One line, then the end of the pipe: no process is left.
    assert tell.read() == "interrupted\n"
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    (line,) = [line for line in stderr.splitlines() if line.startswith("To continue:")]
    again = shlex.split(line.removeprefix("To continue:"))
    assert again[:4] == ["portbench", "run", "fake-cpu", "torch-cpu"]
    done = clone.portbench(*again[1:])
    assert done.returncode == 0, done.stderr
    argv = argv_of(clone, out="my results")
    assert "--resume" in argv
    assert argv[argv.index("--function") + 1] == "*.[a-z]*"
    assert argv[argv.index("--runs") + 1] == "2"
    assert argv[argv.index("--sync") + 1] == "as-published"
    assert "torch" not in stdout


def test_measured_targets_run_alone_and_before_the_predicted_ones(clone: Clone) -> None:
    clone.add_predicted_tpus()
    clone.add_version("torch", "1.12.0")
    targets = ["fake-tpu-v5e", "fake-cpu", "torch-cpu"]
    process, tell = clone.start("run", *targets, *CURRENT, "--json", stand_in="tells_when_it_runs")
    # Held open, so that the pipe does not end with the first runner.
    held = os.open(clone.root / "tell", os.O_WRONLY)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    os.close(held)
    said = tell.read().split("\n")
    assert said == ["cpu begins", "cpu ends", "cpu begins", "cpu ends", "tpu-v5e begins", "tpu-v5e ends", ""]
    assert [target["target"] for target in json.loads(stdout)["targets"]] == [
        "fake-9.9-tpu-v5e",
        "fake-9.9-cpu",
        "torch-9.9-cpu",
    ]


@pytest.mark.skipif(cores() < 2, reason="one predicted target runs for each core")
def test_predicted_targets_run_at_once_and_one_ctrl_c_interrupts_them_all(clone: Clone) -> None:
    clone.add_predicted_tpus()
    process, tell = clone.start("run", "fake-tpu-v3", "fake-tpu-v5e", *CURRENT, stand_in="waits")
    assert [tell.readline(), tell.readline()] == ["ready\n", "ready\n"]
    process.send_signal(signal.SIGINT)
    # One line of each, then the end of the pipe: no process is left.
    assert tell.read() == "interrupted\n" * 2
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout.count("exit status 130") == 2
    (line,) = [line for line in stderr.splitlines() if line.startswith("To continue:")]
    assert {"fake-tpu-v3", "fake-tpu-v5e", "--resume"} <= set(shlex.split(line))


def test_predicted_targets_that_run_at_once_share_the_cores(clone: Clone) -> None:
    clone.add_predicted_tpus()
    clone.portbench("run", "fake-tpu-v3", "fake-tpu-v5e", "fake-cpu", *CURRENT)
    given = {}
    for device in ("tpu-v3", "tpu-v5e", "cpu"):
        argv = argv_of(clone, f"fake-9.9-{device}")
        given[device] = argv[argv.index("--lanes") + 1] if "--lanes" in argv else None
    share = str(max(1, cores() // 2))
    assert given == {"tpu-v3": share, "tpu-v5e": share, "cpu": None}


@pytest.mark.skipif(cores() < 2, reason="one predicted target runs for each core")
def test_a_second_ctrl_c_kills_all_that_run_at_once(clone: Clone) -> None:
    clone.add_predicted_tpus()
    process, tell = clone.start("run", "fake-tpu-v3", "fake-tpu-v5e", *CURRENT, stand_in="ignores_interrupts")
    assert [tell.readline(), tell.readline()] == ["ready\n", "ready\n"]
    process.send_signal(signal.SIGINT)
    assert [tell.readline(), tell.readline()] == ["interrupted\n", "interrupted\n"]
    process.send_signal(signal.SIGINT)
    assert tell.read() == ""
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.skipif(cores() < 2, reason="one predicted target runs for each core")
def test_runners_at_once_keep_their_journals_when_they_are_interrupted(clone: Clone) -> None:
    """With the real runner."""
    clone.add_predicted_tpus()
    for name in ("runners", "schema"):
        shutil.rmtree(clone.root / name)
        shutil.copytree(REPOSITORY / name, clone.root / name, ignore=shutil.ignore_patterns("__pycache__"))
    tests = [{"id": id, "case": f"fake.behaviours:{id}"} for id in ("passes", "hangs_on_request")]
    head = {"schema": "portbench/manifest", "schema_version": 1, "name": "hang", "framework": "fake"}
    manifest = clone.root / "hang.json"
    manifest.write_text(json.dumps({**head, "functions": [{"function": "fake.identity", "tests": tests}]}))
    command = ["run", "fake-tpu-v3", "fake-tpu-v5e", *CURRENT, "--manifest", str(manifest), "--runs", "1"]
    process = clone.popen(*command, variables={"FAKE_HANGS": "1"})
    assert process.stderr is not None
    lines = (line for line in process.stderr if "0/2" in line)
    assert len([next(lines), next(lines)]) == 2
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    journals = sorted(path.name for path in (clone.root / "results").glob("*.journal.jsonl"))
    assert [name.split("-2")[0] for name in journals] == ["fake-1.0.0-tpu-v3", "fake-1.0.0-tpu-v5e"]
    done = clone.portbench(*command, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert [target["outcomes"] for target in json.loads(done.stdout)["targets"]] == [{"passed": 2}, {"passed": 2}]


def test_a_second_ctrl_c_kills_a_runner_that_ignores_signals_and_its_children(clone: Clone) -> None:
    process, tell = clone.start("run", "fake-cpu", *CURRENT, stand_in="ignores_interrupts")
    assert tell.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert tell.readline() == "interrupted\n"
    process.send_signal(signal.SIGINT)
    assert tell.read() == ""
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in stderr


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["fkae-cpu"], 2, ["no target is called 'fkae-cpu'", "did you mean fake-cpu"]),
        (["fake-cpu", "--manifest", "stduy"], 2, ["no manifest 'stduy' for fake", "Manifests for fake: study"]),
        (["fake-cpu", "--manifest", "nowhere.json"], 2, ["nowhere.json: no such file"]),
        (["fake-cpu", "--manifest", "torch.json"], 2, ["$.framework", "expected 'fake'", "found 'torch'"]),
        (["fake-cpu", "--manifest", "broken.json"], 2, ["broken.json", "truncated"]),
        (["fake-cpu", "--out", "a-file/results"], 5, ["cannot write to", "--out"]),
    ],
)
def test_wrong_input_is_one_error_before_anything_runs(
    clone: Clone, arguments: list[str], status: int, words: list[str]
) -> None:
    clone.add_manifest(clone.root / "torch.json", "torch")
    (clone.root / "broken.json").write_text('{"framework": "fake"')
    (clone.root / "a-file").touch()
    done = clone.portbench("run", "fake-cpu", *arguments, *CURRENT)
    assert done.returncode == status
    assert done.stderr.count("error:") == 1
    for each in words:
        assert each in done.stderr
    assert done.stdout == ""
    assert not (clone.root / "results").exists() or not list((clone.root / "results").iterdir())


@pytest.mark.parametrize(
    "option",
    [
        *(["--runs", "0"], ["--runs", "10001"], ["--timeout", "0"], ["--steady-budget", "86401"]),
        *(["--shuffle", "99999999999999999999"], ["--memory", "999999999999999T"]),
        *(["--protocol", "hot"], ["--sync", "no"], ["--backend", "vm"]),
    ],
)
def test_an_option_out_of_range_is_wrong_usage(clone: Clone, option: list[str]) -> None:
    done = clone.portbench("run", "fake-cpu", *option)
    assert done.returncode == 2
    assert option[0] in done.stderr


def test_outside_a_clone_portbench_uses_its_own_clone(clone: Clone, tmp_path: Path) -> None:
    done = Clone(tmp_path).portbench("targets", "--json")
    assert {"torch-1.12.0-cpu", "jax-0.4.13-cpu"} <= {row["target"] for row in json.loads(done.stdout)["targets"]}


def test_portbench_python_must_name_a_python_that_starts(clone: Clone) -> None:
    done = clone.portbench("run", "fake-cpu", *CURRENT, variables={"PORTBENCH_PYTHON": "/nowhere/python"})
    assert done.returncode == 3
    assert "PORTBENCH_PYTHON" in done.stderr


def test_portbenchs_own_python_is_used_only_if_it_has_the_framework(clone: Clone, tmp_path: Path) -> None:
    clone.add_version("torch", "1.12.0")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    python = theirs / "python3"
    python.write_text('#!/bin/sh\necho \'{"event": "error", "message": "this is theirs"}\'\nexit 6\n')
    python.chmod(0o755)
    own = str(Path(sys.executable).parent)
    done = clone.portbench("run", "torch-cpu", *CURRENT, variables={"PORTBENCH_PYTHON": "", "PATH": f"{own}:{theirs}"})
    assert "this is theirs" in done.stderr
    done = clone.portbench("run", "torch-cpu", *CURRENT, variables={"PORTBENCH_PYTHON": "", "PATH": own})
    assert done.returncode == 3
    assert "torch is not installed" in done.stderr

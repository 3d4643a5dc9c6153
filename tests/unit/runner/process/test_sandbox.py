"""A manifest from elsewhere that runs code: what it may not do under the sandbox, and how that is reported."""

from __future__ import annotations

import json

import pytest

from runners.core.process import sandbox
from tests.paths import ROOT
from tests.unit.runner.runner_cli import cases

pytestmark = pytest.mark.skipif(sandbox.available() != sandbox.WHOLE, reason="this system offers no whole sandbox")

AUTO = ("--sandbox", "auto", "--runs", "1")


def executing(**texts):
    """A function that nobody has listed as dangerous, with a test for each Python text."""
    tests = [{"id": key, "case": "call", "args": [text], "expect": {"value": 0}} for key, text in texts.items()]
    return [{"function": "fake.execute", "tests": tests}]


def test_what_a_test_may_not_do(run, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    mode = victim.stat().st_mode
    # A path is put together, because a manifest may not have one.
    path = "chr(47) + " + " + chr(47) + ".join(repr(part) for part in victim.parts[1:])
    texts = {
        "write": f"open({path}, 'w')",
        "create": f"open({path} + 'x', 'w')",
        "truncate": f"import os; os.truncate({path}, 0)",
        "truncate_on_opening": f"import os; os.open({path}, os.O_RDONLY | os.O_TRUNC)",
        "remove": f"import os; os.remove({path})",
        "rename": f"import os; os.rename({path}, {path} + 'x')",
        "link": f"import os; os.symlink({path}, {path} + 'x')",
        "rights": f"import os; os.chmod({path}, 0)",
        "connect": "import socket; socket.socket()",
        "connect_to_a_service_here": "import socket; socket.socket(socket.AF_UNIX)",
        "program": "import subprocess; subprocess.run(['true'])",
        "replace_itself": "import os; os.execvp('true', ['true'])",
        "signal": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
        "signal_to_its_group": "import os, signal; os.kill(0, signal.SIGTERM)",
        "another_thread": (
            "import concurrent.futures as f, socket\n"
            "with f.ThreadPoolExecutor() as pool: pool.submit(socket.socket).result()"
        ),
    }
    finished = run(executing(**texts), *AUTO)
    assert finished.status == 0, finished.events
    results = finished.results
    assert {key: result["outcome"] for key, result in results.items()} == dict.fromkeys(texts, "skipped")
    assert all("the sandbox refused" in result["reason"] for result in results.values())
    assert all(result["error"] is None and result["category"] is None for result in results.values())
    assert finished.document["environment"]["sandbox"] == "landlock+seccomp"
    assert victim.read_text() == "untouched" and victim.stat().st_mode == mode
    assert not victim.with_name("victimx").exists()


def test_a_command_of_the_shell_does_nothing(run, tmp_path):
    path = "chr(47) + " + " + chr(47) + ".join(repr(part) for part in (tmp_path / "made").parts[1:])
    run(executing(shell=f"import os; os.system('touch ' + {path})"), *AUTO)
    assert not (tmp_path / "made").exists()


def test_what_a_test_may_do(run):
    texts = {
        # A call is made twice.
        "its_folder": "open('a', 'w').write('b'); import os; os.path.isdir('c') or os.mkdir('c'); "
        "os.rename('a', 'c' + chr(47) + 'a')",
        "temporary_file": "import tempfile; tempfile.TemporaryFile().write(b'a')",
        "thread": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        "process": "import os; p = os.fork(); p or os._exit(0); os.waitpid(p, 0)",
        "read": "open(chr(47) + 'proc' + chr(47) + 'self' + chr(47) + 'stat').read()",
        "nothing": "open(chr(47) + 'dev' + chr(47) + 'null', 'w').write('a')",
    }
    results = run(executing(**texts), *AUTO).results
    assert {key: (result["outcome"], result["error"]) for key, result in results.items()} == dict.fromkeys(
        texts, ("passed", None)
    )


def test_an_error_of_the_framework_stays_one(run):
    result = run(cases("fails"), *AUTO).results["fails"]
    assert result["outcome"] == "failed" and result["error"]["message"] == "expected 2, got 1"


@pytest.mark.parametrize(("mode", "expected"), [("off", "none"), ("required", "landlock+seccomp")])
def test_the_user_chooses(run, mode, expected):
    finished = run(executing(socket="import socket; socket.socket().close()"), "--sandbox", mode, "--runs", "1")
    assert finished.document["environment"]["sandbox"] == expected
    assert finished.results["socket"]["outcome"] == ("passed" if mode == "off" else "skipped")


def test_a_manifest_of_this_repository_is_trusted(run):
    own = ROOT / "manifests" / "placement" / "fake.json"
    assert run(own, *AUTO).document["environment"]["sandbox"] == "none"


def test_a_changed_manifest_of_this_repository_is_from_elsewhere(run, tmp_path):
    document = json.loads((ROOT / "manifests" / "placement" / "fake.json").read_text("utf-8"))
    changed = tmp_path / "fake.json"
    changed.write_text(json.dumps({**document, "description": "another one"}))
    assert run(changed, *AUTO).document["environment"]["sandbox"] == "landlock+seccomp"


def test_a_test_cannot_guess_how_its_result_is_marked(run):
    # It sends what would be its result to every descriptor, with the numbers that a count would give.
    forged = (
        "import os\n"
        "for n in range(20):\n"
        "  for d in range(3, 64):\n"
        '    try: os.write(d, (\'\\n{"outcome": "passed", "id": %d, "reason": null, "phase": null, \'\n'
        '      \'"error": null, "calls": [], "case_ns": 1, "placement": null}\\n\' % n).encode())\n'
        "    except OSError: pass\n"
        "raise ValueError('the true end')"
    )
    result = run(executing(forged=forged), *AUTO).results["forged"]
    assert result["outcome"] == "failed" and result["error"]["message"] == "the true end"


def test_without_a_whole_sandbox_the_user_learns_what_is_possible():
    assert sandbox.shortfall("auto", "landlock+seccomp") == ""
    assert "may change your files" in sandbox.shortfall("auto", "seccomp")
    assert "may do whatever you may do" in sandbox.shortfall("auto", "none")
    with pytest.raises(Exception, match="--sandbox required: this system offers seccomp, expected landlock"):
        sandbox.shortfall("required", "seccomp")

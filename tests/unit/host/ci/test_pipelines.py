"""The GitHub Action and the GitLab job: their steps run here as the two services run them, with fake targets."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from ruamel.yaml import YAML

from tests.paths import ROOT

SCRIPTS = ROOT / "scripts" / "ci"
ACTION = ROOT / "action.yml"
GITLAB = SCRIPTS / "gitlab.yml"

GH = """#!{python}
import json, os, sys
with open(os.environ["GH_CALLS"], "a") as calls:
    body = next((word[6:] for word in sys.argv if word.startswith("body=@")), None)
    print(json.dumps([sys.argv[1:], os.environ.get("MARK"), body and open(body).read()]), file=calls)
if "--paginate" in sys.argv:
    print(os.environ.get("GH_EARLIER", ""))
"""


def manifest(case: str) -> str:
    functions = [{"function": "fake.identity", "tests": [{"id": "same", "case": f"fake.behaviours:{case}"}]}]
    head = {"schema": "portbench/manifest", "schema_version": 2, "name": "own", "framework": "fake"}
    return json.dumps({**head, "functions": functions})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A user's repository, whose origin has a branch with a baseline in which the test passed."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", str(origin))
    (origin / "m.json").write_text(manifest("passes"))
    commit(origin)
    git(origin, "checkout", "--quiet", "-b", "results")
    run = [sys.executable, "-m", "portbench", "run", "fake-cpu", "--backend", "current", "--manifest", "m.json"]
    subprocess.run([*run, "--runs", "1", "--protocol", "cold", "--out", "base"], cwd=origin, check=True)
    commit(origin)
    git(origin, "checkout", "--quiet", "main")
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    return clone


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "a change")


def document(path: Path) -> Any:
    return list(YAML(typ="safe").load_all(path))[-1]


class Job:
    """A job of GitHub that uses the action: its steps with ``run``, one after the other."""

    def __init__(self, folder: Path, repository: Path, inputs: Mapping[str, str]) -> None:
        self.calls = folder / "gh-calls"
        self.summary = folder / "summary"
        self.repository = repository
        action = document(ACTION)
        given = {name: str(facts.get("default", "")) for name, facts in action["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in {**given, **inputs}.items()}
        self.values |= {"github.event.pull_request.number": "7", "github.token": "secret"}
        self.steps = [step for step in action["runs"]["steps"] if "run" in step]
        tools = folder / "tools"
        tools.mkdir()
        (tools / "gh").write_text(GH.format(python=sys.executable))
        (tools / "gh").chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_REPOSITORY": "someone/something",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(folder),
            "GH_CALLS": str(self.calls),
        }

    def run(self) -> dict[str, subprocess.CompletedProcess[str]]:
        """What each step did, by its name. The steps go on after a failure, as those with always() do."""
        return {step["name"]: self._run(step) for step in self.steps}

    def _run(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        output = self.calls.with_name("output")
        output.write_text("")
        variables = {name: self._filled(text) for name, text in step.get("env", {}).items()}
        environment = {**self.environment, **variables, "GITHUB_OUTPUT": str(output)}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=self.repository, env=environment, capture_output=True, text=True)
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: self.values[found[1]].strip("${ }"), text)


INPUTS = {
    "targets": "fake-cpu",
    "manifest": "m.json",
    "options": "--runs 1 --protocol cold --backend current --function 'fake.*'",
    "baseline": "results:base",
}
COMPARE, COMMENT = "Run and compare", "Comment on the pull request"


def test_a_new_failure_fails_the_job_and_is_in_the_comment(repository: Path, tmp_path: Path) -> None:
    (repository / "m.json").write_text(manifest("fails"))
    job = Job(tmp_path, repository, {**INPUTS, "baseline": "results:base"})
    done = job.run()
    assert done[COMPARE].returncode == 1, done[COMPARE].stderr
    assert done[COMMENT].returncode == 0, done[COMMENT].stderr
    (_, mark, _), (posted, _, body) = map(json.loads, job.calls.read_text().splitlines())
    assert posted[:4] == ["api", "--method", "POST", "repos/someone/something/issues/7/comments"]
    assert body.startswith(f"{mark}\n") and mark == "<!-- portbench: fake-cpu -->"
    assert "newly failing | 1 |" in body and "fake.identity" in body
    assert job.summary.read_text() == body
    assert {"results", "study", "report", "comment.md", "junit.xml"} <= {
        path.name for path in (tmp_path / "portbench").iterdir()
    }


def test_the_comment_of_before_is_updated(repository: Path, tmp_path: Path) -> None:
    job = Job(tmp_path, repository, INPUTS)
    job.environment["GH_EARLIER"] = "4711"
    done = job.run()
    assert {name: each.returncode for name, each in done.items()} == dict.fromkeys(done, 0), done
    *_, (posted, _, body) = map(json.loads, job.calls.read_text().splitlines())
    assert posted[:4] == ["api", "--method", "PATCH", "repos/someone/something/issues/comments/4711"]
    assert "newly failing | 0 |" in body


@pytest.mark.parametrize("baseline", ["", "no-branch:study"])
def test_without_a_baseline_nothing_is_compared_and_the_comment_says_so(
    repository: Path, tmp_path: Path, baseline: str
) -> None:
    job = Job(tmp_path, repository, {**INPUTS, "baseline": baseline})
    done = job.run()
    assert done[COMPARE].returncode == 0, done[COMPARE].stderr
    assert "nothing was compared" in (tmp_path / "portbench" / "comment.md").read_text()


def test_wrong_options_fail_the_job_with_their_message(repository: Path, tmp_path: Path) -> None:
    job = Job(tmp_path, repository, {**INPUTS, "options": "--function 'fake.idenity'"})
    done = job.run()
    assert done[COMPARE].returncode == 2
    assert "did you mean fake.identity?" in done[COMPARE].stderr
    assert not job.calls.exists()


def test_inputs_are_never_part_of_a_script() -> None:
    for step in document(ACTION)["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


class Notes(BaseHTTPRequestHandler):
    """GitLab's notes of a merge request."""

    kept: list[dict[str, Any]]

    def do_GET(self) -> None:
        self._answer(self.kept)

    def do_POST(self) -> None:
        self.kept.append({"id": 40 + len(self.kept), "body": self._body()})
        self._answer(self.kept[-1])

    def do_PUT(self) -> None:
        (note,) = [note for note in self.kept if self.path.endswith(f"/notes/{note['id']}")]
        note["body"] = self._body()
        self._answer(note)

    def _body(self) -> str:
        return parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["body"][0]

    def _answer(self, data: object) -> None:
        is_right = self.headers["PRIVATE-TOKEN"] == "secret" and self.path.startswith("/projects/3/merge_requests/7/")
        self.send_response(200 if is_right else 401)
        self.end_headers()
        self.wfile.write(json.dumps(data).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def notes() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    kept: list[dict[str, Any]] = [{"id": 3, "body": "Looks good."}]
    with ThreadingHTTPServer(("localhost", 0), type("Kept", (Notes,), {"kept": kept})) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://localhost:{server.server_port}", kept
        server.shutdown()


def test_a_job_of_gitlab_writes_one_note(
    repository: Path, tmp_path: Path, notes: tuple[str, list[dict[str, Any]]]
) -> None:
    address, kept = notes
    job = document(GITLAB)["portbench"]
    inputs = {**INPUTS, "fail-on": "new-failure", "repository": str(ROOT)}
    project = {"CI_PROJECT_DIR": str(repository), "CI_API_V4_URL": address, "CI_PROJECT_ID": "3"}
    project |= {"CI_MERGE_REQUEST_IID": "7", "PORTBENCH_GITLAB_TOKEN": "secret"}
    variables = {
        name: re.sub(r"\$\[\[ inputs\.(.*?) \]\]", lambda found: inputs[found[1]], text).replace(
            "$CI_PROJECT_DIR", str(repository)
        )
        for name, text in job["variables"].items()
    }
    # What before_script would clone.
    (repository / ".portbench").symlink_to(ROOT)
    for case, status, count in (("passes", 0, 0), ("fails", 1, 1)):
        (repository / "m.json").write_text(manifest(case))
        variables["PORTBENCH_OUT"] = str(tmp_path / case)
        environment = {**os.environ, **project, **variables}
        script, after = ("\n".join(job[name]) for name in ("script", "after_script"))
        done = subprocess.run(["bash", "-c", script], cwd=repository, env=environment, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        subprocess.run(["bash", "-c", after], cwd=repository, env=environment, check=True)
        assert [note["id"] for note in kept] == [3, 41]
        assert f"newly failing | {count} |" in kept[1]["body"]


def test_the_files_follow_the_formats_of_the_services(tmp_path: Path) -> None:
    job = tmp_path / "job.yml"
    job.write_text(GITLAB.read_text().split("\n---\n")[1])
    for schema, path, options in (
        ("github-actions", ACTION, []),
        ("gitlab-ci", job, ["--data-transform", "gitlab-ci"]),
    ):
        check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *options, str(path)]
        done = subprocess.run(check, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_all_inputs_of_gitlab_are_used() -> None:
    head, job = GITLAB.read_text().split("\n---\n")
    assert set(re.findall(r"inputs\.([a-z-]+)", job)) == set(YAML(typ="safe").load(head)["spec"]["inputs"])

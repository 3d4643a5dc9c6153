"""`portbench images` with a stand-in for docker: what it shows of each image, and its commands to the engine."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portbench.backends.build_progress import Steps
from portbench.cli import main
from portbench.targets.catalog import Target, all_targets, by_image
from portbench.targets.image_digest import copied, source_sha256
from portbench.util.repository import Checkout
from tests.unit.host.clones import REPOSITORY, make_clone

# Keeps its images in images.json in the same folder. `build` adds one with the labels that a Dockerfile would set.
DOCKER = """#!{python} -IS
import json, os, sys
from pathlib import Path

state = Path(__file__).with_name("images.json")
images = json.loads(state.read_text())
words = sys.argv[1:]
with Path(__file__).with_name("asked").open("a") as asked:
    print(*words, file=asked)


TPUS = ["tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x"]


def version(framework):
    return os.environ.get(framework.upper() + "_VERSION", "0")


def tag(framework, device):
    return f"portbench/{{framework}}:{{version(framework)}}-{{'tpu-aot' if device in TPUS else device}}"


if words[0] == "version":
    print("28.0.0")
elif words[:2] == ["compose", "version"]:
    print("2.30.0")
elif words[:2] == ["compose", "config"]:
    services = [("fake", "cpu"), ("torch", "cpu"), *(("torch", device) for device in TPUS)]
    print(json.dumps({{"services": {{"-".join(each): {{"image": tag(*each)}} for each in services}}}}))
elif words[:2] == ["compose", "build"]:
    framework, _, device = words[2].partition("-")
    print(f"#1 [{{words[2]}} 1/2] RUN install\\n#1 1.0 installing")
    if "TORCH_FAILS" in os.environ and framework == "torch":
        sys.exit(print("#1 2.0 " + os.environ["TORCH_FAILS"], file=sys.stderr) or 17)
    own = tag(framework, device) + os.environ.get("PORTBENCH_TAG", "")
    labels = {{"portbench.framework": framework, "portbench.version": version(framework),
              "portbench.device": tag(framework, device).partition("-")[2],
              "portbench.source_sha256": os.environ["PORTBENCH_SOURCE_SHA256"],
              "org.opencontainers.image.revision": os.environ["PORTBENCH_RUNNER_COMMIT"]}}
    for image in images:
        image["RepoTags"] = [other for other in image["RepoTags"] if other != own]
    images.append({{"Id": f"sha256:{{len(images):064}}", "RepoTags": [own], "Created": "2026-11-20T10:00:00Z",
                   "Size": 1590000000, "Config": {{"Labels": labels}}}})
    state.write_text(json.dumps(images))
elif words[:2] == ["image", "inspect"]:
    found = [each for each in images if each["Id"] in words or set(each["RepoTags"]) & set(words)]
    print(json.dumps(found))
    sys.exit(len(found) < len(words) - 2)
elif words[:2] == ["image", "ls"] and "--format" in words:
    print("\\n".join(tag for each in images for tag in each["RepoTags"]))
elif words[:2] == ["image", "ls"]:
    print("\\n".join(each["Id"] for each in images))
elif words[:2] == ["image", "rm"]:
    if os.environ.get("IN_USE") in words:
        sys.exit("Error response from daemon: conflict: container 12ab is using its referenced image")
    def stays(image):
        named = bool(image["RepoTags"])
        image["RepoTags"] = [tag for tag in image["RepoTags"] if tag not in words]
        return image["RepoTags"] if named else image["Id"] not in words
    state.write_text(json.dumps([image for image in images if stays(image)]))
elif words[0] == "tag":
    for image in images:
        image["RepoTags"] = [other for other in image["RepoTags"] if other != words[2]]
    for image in images:
        image["RepoTags"] += [words[2]] * (words[1] in image["RepoTags"])
    state.write_text(json.dumps(images))
elif words[0] == "run":  # cat of a file in the image
    (image,) = (each for each in images if {{each["Id"], *each["RepoTags"]}} & set(words))
    print(json.dumps(image["Files"][words[-1]]))
elif words[:2] == ["system", "df"]:
    # Each image has 1 GB of its own layers, of which builds keep 0.4 GB.
    print(f"Images:{{len(images)}}.5GB\\nContainers:0B\\nBuild Cache:{{(10 - len(images)) * 400}}MB")
"""

Built = dict[str, Any]

DESCRIBE = runpy.run_path(str(REPOSITORY / "images" / "describe.py"))
CATALOGUE = [target for target in all_targets(Checkout(REPOSITORY)) if target.dockerfile]
IMAGES = [group[0] for group in by_image(CATALOGUE)]


class Host:
    """A clone and the engine DOCKER."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.clone = make_clone(folder)
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "docker").write_text(DOCKER.format(python=sys.executable))
        (self.bin / "docker").chmod(0o755)
        self.keep([])
        self.clone.add_version("torch", "1.12.0")
        self.clone.add_version("torch", "2.9.0", default=False)
        for lock in (self.clone.root / "images").glob("*/*/cpu.lock"):
            own = lock.parent.relative_to(self.clone.root)
            text = f"FROM python\nCOPY \\\n  images/as-owner {own}/cpu.lock /locks/\nCOPY --from=x /a /b\n"
            lock.with_name("cpu.Dockerfile").write_text(f"{text}COPY schema schema\nCOPY --chmod=755 runners runners\n")
        (self.clone.root / "images" / "as-owner").write_text("#!/bin/sh\n")
        (self.clone.root / "schema" / "run.schema.json").write_text("{}")

    def run(self, *arguments: str, command: str = "images", **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs `portbench images`, or another command, in the clone."""
        with self._monkeypatch.context() as patch:
            patch.chdir(self.clone.root)
            patch.setattr(sys, "argv", ["portbench", command, *arguments])
            patch.setenv("COLUMNS", "200")
            for name, value in ({"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"} | variables).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        said = self._capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), said.out, said.err)

    def keep(self, images: list[Built]) -> None:
        """Sets the engine's images."""
        (self.bin / "images.json").write_text(json.dumps(images))

    @property
    def images(self) -> list[Built]:
        """The engine's images."""
        return list(json.loads((self.bin / "images.json").read_text()))

    def listed(self, target: str) -> dict[str, Any]:
        """The entry of a target in `list --json`."""
        done = self.run("list", "--json")
        assert done.returncode == 0, done.stderr
        (found,) = (image for image in json.loads(done.stdout)["images"] if image["target"] == target)
        return dict(found)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Host:
    return Host(tmp_path, monkeypatch, capsys)


@pytest.fixture
def digest(host: Host) -> Any:
    """The current digest of the sources of the image of torch-1.12.0-cpu."""

    def of(target: str = "torch-1.12.0-cpu") -> str:
        checkout = Checkout(host.clone.root)
        (found,) = (each for each in all_targets(checkout) if each.name == target)
        return source_sha256(found, checkout)

    return of


def test_a_built_image_is_up_to_date_and_has_the_commit_of_its_sources(host: Host) -> None:
    assert host.listed("torch-1.12.0-cpu")["state"] == "not built"
    done = host.run("build", "torch-cpu")
    assert done.returncode == 0, done.stderr
    assert "torch-1.12.0-cpu: 1/2 RUN install" in done.stdout
    assert "torch-1.12.0-cpu: portbench/torch:1.12.0-cpu is built, 1.59 GB" in done.stdout
    assert host.listed("torch-1.12.0-cpu") == {
        "target": "torch-1.12.0-cpu",
        "image": "portbench/torch:1.12.0-cpu",
        "state": "up to date",
        "built_at": "2026-11-20T10:00:00Z",
        "size_bytes": 1_590_000_000,
        "runner_commit": None,  # the clone is no git repository
    }
    assert host.listed("torch-2.9.0-cpu")["state"] == "not built"
    table = host.run("list").stdout
    assert "2026-11-20 10:00" in table
    assert "1.59 GB" in table


def test_an_image_that_targets_share_is_one(host: Host) -> None:
    folder = host.clone.root / "images" / "torch" / "1.12.0"
    (folder / "tpu-aot.Dockerfile").write_text((folder / "cpu.Dockerfile").read_text())
    done = host.run("build", "torch-tpu-v3", "torch-tpu-v5e")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is built") == 1
    assert "torch-1.12.0-tpu-v3: portbench/torch:1.12.0-tpu-aot is built" in done.stdout
    assert len(host.images) == 1
    assert host.listed("torch-1.12.0-tpu7x")["state"] == "up to date"
    (line,) = (line for line in host.run("list").stdout.splitlines() if "tpu" in line)
    assert line.startswith("torch-1.12.0-tpu-v2 … tpu7x ")
    (folder / "cpu.lock").write_text("changed\n")
    stale = host.run("check")
    assert stale.stdout.count("stale: torch-1.12.0-tpu-v2 … tpu7x") == 1
    assert "portbench images build torch-1.12.0-tpu-v2\n" in stale.stderr
    assert "stale: torch-1.12.0-tpu-v4 " in host.run("check", "torch-tpu-v4").stdout
    assert "removed portbench/torch:1.12.0-tpu-aot" in host.run("clean", "torch-tpu-v6e").stdout
    assert host.images == []


def test_check_finds_a_stale_image_by_content_and_names_the_command(host: Host) -> None:
    host.run("build", "torch-cpu", "fake-cpu")
    assert host.run("check").returncode == 0
    runner = host.clone.root / "runners" / "__init__.py"
    os.utime(runner, (0, 0))
    assert host.run("check").returncode == 0
    runner.write_text("changed = True\n")
    done = host.run("check", "torch-cpu")
    assert done.returncode == 1
    assert "stale: torch-1.12.0-cpu" in done.stdout
    assert "portbench images build torch-1.12.0-cpu" in done.stderr
    everything = host.run("check")
    assert everything.returncode == 1
    assert everything.stdout.count("stale") == 2
    host.run("build")  # those that are there
    assert len(host.images) == 4
    assert host.run("check").returncode == 0


def test_an_image_of_an_older_portbench_is_unknown(host: Host) -> None:
    host.run("build", "torch-cpu")
    (image,) = host.images
    image["RepoTags"] = ["portbench/torch:1.12.0-cpu"]
    for source in ("", None):
        image["Config"]["Labels"]["portbench.source_sha256"] = source
        host.keep([image])
        done = host.run("check")
        assert done.returncode == 1
        assert "unknown: torch-1.12.0-cpu was built by an older portbench" in done.stdout


def test_an_image_that_compose_built_alone_is_compared_by_what_it_holds(host: Host, digest: Any) -> None:
    host.run("build", "torch-cpu")
    (image,) = host.images
    image["RepoTags"] = ["portbench/torch:1.12.0-cpu"]
    image["Config"]["Labels"] |= {"portbench.source_sha256": "", "portbench.sbom": "/opt/environment/sbom.cdx.json"}
    for source, state in ((digest(), "up to date"), ("0" * 64, "stale")):
        facts = {"source_sha256": source, "runner_commit": "1" * 40 + "?"}
        host.keep([image | {"Files": {"/opt/portbench/image.json": facts}}])
        listed = host.listed("torch-1.12.0-cpu")
        assert (listed["state"], listed["runner_commit"]) == (state, "1" * 40 + "?")


def test_a_clone_does_not_take_the_image_of_another(host: Host) -> None:
    runner = host.clone.root / "runners" / "__init__.py"
    host.run("build", "torch-cpu")
    runner.write_text("other = True\n")
    host.run("build", "torch-cpu")
    assert host.listed("torch-1.12.0-cpu")["state"] == "up to date"
    runner.write_text("")
    assert host.listed("torch-1.12.0-cpu")["state"] == "up to date"
    names = sorted(len(image["RepoTags"]) for image in host.images)
    assert names == [1, 2]  # the last build also has the name that 'docker compose run' uses


def test_the_bill_of_materials_of_an_image_is_printed(host: Host) -> None:
    assert "portbench images build torch-1.12.0-cpu" in host.run("sbom", "torch-cpu").stderr
    host.run("build", "torch-cpu")
    (image,) = host.images
    host.keep([image | {"Files": {"/opt/environment/sbom.cdx.json": {"bomFormat": "CycloneDX"}}}])
    assert json.loads(host.run("sbom", "torch-cpu").stdout) == {"bomFormat": "CycloneDX"}


def test_labels_of_other_images_cannot_control_the_terminal(host: Host) -> None:
    host.run("build", "torch-cpu")
    (image,) = host.images
    image["Config"]["Labels"]["org.opencontainers.image.revision"] = "\x1b[2J"
    host.keep([image])
    shown = host.run("list").stdout
    assert r"\x1b[2" in shown and "\x1b" not in shown


def test_check_of_a_missing_image_fails_only_if_the_target_was_named(host: Host) -> None:
    assert host.run("check", "torch-cpu").returncode == 1
    done = host.run("check")
    assert (done.returncode, done.stdout) == (0, "no image is built\n")


@pytest.mark.parametrize(
    "path",
    [
        "runners/__init__.py",
        "runners/torch/cases/new.py",
        "schema/run.schema.json",
        "images/as-owner",
        "images/torch/1.12.0/cpu.lock",
        "images/torch/1.12.0/cpu.Dockerfile",
    ],
)
def test_every_source_of_an_image_changes_its_digest(host: Host, digest: Any, path: str) -> None:
    before = digest()
    file = host.clone.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "") + "\n")
    assert digest() != before


def test_a_name_and_a_permission_to_execute_are_content_too(host: Host, digest: Any) -> None:
    before = digest()
    script = host.clone.root / "images" / "as-owner"
    script.chmod(0o755)
    executable = digest()
    assert executable != before
    module = host.clone.root / "runners" / "__init__.py"
    module.rename(module.with_name("other.py"))
    assert digest() != executable
    script.unlink()
    assert digest()


def test_other_files_do_not_change_the_digest_of_an_image(host: Host, digest: Any) -> None:
    before = digest()
    images = host.clone.root / "images"
    for path in ("README.md", "torch/1.12.0/cpu.in", "torch/2.9.0/cpu.lock", "torch/default-version"):
        (images / path).write_text("1.12.0")
    cached = host.clone.root / "runners" / "core" / "__pycache__"
    cached.mkdir(parents=True)
    (cached / "core.pyc").write_text("")
    (host.clone.root / "manifests" / "new.json").write_text("{}")
    assert digest() == before


@pytest.mark.parametrize("target", IMAGES, ids=lambda target: target.name)
def test_a_build_computes_the_digest_of_the_host(target: Target) -> None:
    assert target.dockerfile is not None
    dockerfile = str(target.dockerfile.relative_to(REPOSITORY))
    assert DESCRIBE["source_sha256"](REPOSITORY, dockerfile) == source_sha256(target, Checkout(REPOSITORY))


def test_a_lock_that_is_created_later_is_part_of_the_digest(host: Host, digest: Any) -> None:
    folder = host.clone.root / "images" / "torch" / "1.12.0"
    lock = (folder / "cpu.lock").read_text()
    text = (folder / "cpu.Dockerfile").read_text()
    (folder / "cpu.Dockerfile").write_text(text.replace("cpu.lock", "cpu.lock*"))
    (folder / "cpu.lock").unlink()
    (folder / "cpu.in").write_text("torch==1.12.0\n")
    before = digest()
    (folder / "cpu.lock").write_text(lock)
    assert digest() != before


@pytest.mark.parametrize("target", CATALOGUE, ids=lambda target: target.name)
def test_the_files_that_the_repositorys_dockerfiles_copy_are_found(target: Target) -> None:
    assert target.dockerfile is not None
    sources = copied(target.dockerfile)
    assert {"runners", "schema", "images/as-owner"} <= set(sources)
    suffix = ".lock" if target.lock else ".lock*"
    assert any(source.endswith(suffix) and source.startswith(f"images/{target.framework}") for source in sources)
    assert not [source for source in sources if source.startswith("/")]


def test_one_image_that_cannot_be_built_is_one_error_and_the_others_are_built(host: Host) -> None:
    done = host.run("build", "torch-cpu", "fake-cpu", TORCH_FAILS="no matching distribution")
    assert done.returncode == 6
    assert done.stderr.count("error:") == 1
    assert "torch-1.12.0-cpu could not be built" in done.stderr
    assert "no matching distribution" in done.stderr
    assert "portbench/fake:1.0.0-cpu is built" in done.stdout


def test_the_error_for_a_full_disk_says_how_to_make_room(host: Host) -> None:
    done = host.run("build", "torch-cpu", TORCH_FAILS="write /opt/x: no space left on device")
    assert done.returncode == 5
    assert "the disk is full" in done.stderr
    assert "docker builder prune" in done.stderr


def test_build_without_a_target_and_without_images_asks_for_one(host: Host) -> None:
    done = host.run("build")
    assert done.returncode == 2
    assert "no image is built yet: give targets" in done.stderr


def test_clean_removes_only_the_targets_images_including_earlier_builds(host: Host) -> None:
    for _ in range(2):
        host.run("build", "torch-cpu", "torch-2.9.0-cpu")
    dry = host.run("clean", "torch-cpu", "--dry-run")
    assert dry.stdout.count("would remove") == 2
    assert len(host.images) == 4
    done = host.run("clean", "torch-cpu")
    assert done.returncode == 0, done.stderr
    assert "removed portbench/torch:1.12.0-cpu, 1.59 GB" in done.stdout
    assert "(an earlier build of torch-1.12.0-cpu)" in done.stdout
    assert "freed 1.20 GB of disk; 800 MB more stay as Docker's build cache until 'docker builder prune'" in done.stdout
    assert {image["Config"]["Labels"]["portbench.version"] for image in host.images if image["RepoTags"]} == {"2.9.0"}
    assert host.run("clean", "torch-cpu").stdout == "nothing to remove\n"


def test_clean_keeps_images_that_others_built_from_ours(host: Host) -> None:
    host.run("build", "torch-cpu")
    (image,) = host.images
    theirs = {**image, "Id": "sha256:" + "f" * 64, "RepoTags": ["somebody/else:1"]}
    host.keep([image, theirs])
    done = host.run("clean")
    assert done.stdout.count("removed") == 1
    assert theirs in host.images


def test_an_image_in_use_is_kept_and_is_an_error_after_the_others_are_removed(host: Host) -> None:
    host.run("build", "torch-cpu", "torch-2.9.0-cpu")
    done = host.run("clean", IN_USE="portbench/torch:1.12.0-cpu")
    assert done.returncode == 5
    assert "removed portbench/torch:2.9.0-cpu" in done.stdout
    assert "portbench/torch:1.12.0-cpu was not removed" in done.stderr
    assert "container 12ab" in done.stderr
    assert "docker ps --all" in done.stderr


@pytest.mark.parametrize("command", ["build", "check", "clean"])
def test_an_unknown_target_is_an_error_with_near_misses(host: Host, command: str) -> None:
    done = host.run(command, "trch-cpu")
    assert done.returncode == 2
    assert "did you mean torch-cpu" in done.stderr


@pytest.mark.parametrize("command", [["build", "torch-cpu"], ["list"], ["check"], ["clean"]])
def test_without_an_engine_each_command_is_one_error_that_says_how(host: Host, command: list[str]) -> None:
    (host.bin / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    stopped = host.run(*command)
    assert stopped.returncode == 3
    assert "no Docker engine answers: Cannot connect to the Docker daemon" in stopped.stderr
    assert "systemctl start docker" in stopped.stderr
    missing = host.run(*command, PATH=str(host.clone.root))
    assert missing.returncode == 3
    assert "there is no docker command" in missing.stderr


def test_a_target_without_a_dockerfile_or_a_service_is_one_error(host: Host) -> None:
    folder = host.clone.root / "images" / "torch" / "1.12.0"
    shutil.copyfile(folder / "cpu.lock", folder / "gpu.lock")
    done = host.run("build", "torch-gpu")
    assert done.returncode == 3
    assert "there is no gpu.Dockerfile" in done.stderr
    (folder / "gpu.Dockerfile").write_text("FROM python\n")
    done = host.run("build", "torch-gpu")
    assert done.returncode == 3
    assert "compose.yaml has no service torch-gpu" in done.stderr


def test_a_target_that_is_not_locked_is_one_error_that_says_how(host: Host) -> None:
    (host.clone.root / "images" / "torch" / "1.12.0" / "cpu.lock").unlink()
    done = host.run("build", "torch-cpu")
    assert done.returncode == 3
    assert "torch-1.12.0-cpu is not locked" in done.stderr
    assert "portbench lock torch/1.12.0" in done.stderr


def test_targets_shows_which_images_are_built_and_runs_each_docker_command_once(host: Host) -> None:
    assert host.run("build", "torch-1.12.0-cpu").returncode == 0
    asked = host.bin / "asked"
    asked.unlink()
    done = host.run("--json", command="targets")
    built = {row["target"]: row["image_built"] for row in json.loads(done.stdout)["targets"]}
    with_image = {target: is_built for target, is_built in built.items() if is_built is not None}
    assert with_image == {"fake-1.0.0-cpu": False, "torch-1.12.0-cpu": True, "torch-2.9.0-cpu": False}
    commands = asked.read_text().splitlines()
    assert "compose config --format json" in commands
    assert len(commands) == len(set(commands)) <= 5


def test_only_steps_that_run_are_reported() -> None:
    reported: list[str] = []
    steps = Steps(reported.append)
    for line in (
        '#0 building with "default" instance using docker driver',
        "#4 [torch-cpu internal] load build definition",
        "#4 DONE 0.0s",
        "#6 [torch-cpu environment 2/3] COPY images/installer.lock /locks/",
        "#6 CACHED",
        "#7 [torch-cpu environment 3/3] RUN python -m pip     && uv venv",
        "#8 [torch-cpu stage-1 2/7] COPY runners runners",
        "#7 3.326 Collecting uv==0.13.8",
        "#8 DONE 0.1s",
        "#7 DONE 6.4s",
        "#9 [torch-cpu] exporting to image",
        "#9 exporting layers",
    ):
        steps.on_line(line)
    assert reported == ["3/3 RUN python -m pip && uv venv", "2/7 COPY runners runners", "saving the image"]

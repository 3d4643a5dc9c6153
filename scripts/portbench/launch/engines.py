"""One class for each engine: its own options, its file for a target, and the command that hands the file over."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined

from portbench.errors import BadInput
from portbench.launch.model import MOST_TRIES, Launch, check_texts
from portbench.util import remote


class Engine(Protocol):
    """Options of an engine are its fields."""

    def text(self, launch: Launch, target: str, folder: Path) -> str:
        """The content of the file for a target. ``folder`` is where the file will be, an absolute path."""

    def name(self, target: str) -> str:
        """The name of the file."""

    def submit(self, launch: Launch, file: Path) -> list[list[str]]:
        """The commands that hand the file over."""


@dataclass(frozen=True)
class Slurm:
    """A job array. ``options``: further options of sbatch, such as --partition=gpu. The folder of the job's file, that
    of the results and portbench's environment must be the same on every node."""

    options: tuple[str, ...] = ()

    def text(self, launch: Launch, target: str, folder: Path) -> str:
        """A batch script."""
        log = f"{folder}/{target}-%a.log".replace("%", "%%").replace("%%a.log", "%a.log")
        return _render("slurm.sh.j2", launch, target, self, python=sys.executable, cwd=str(Path.cwd()), log=log)

    def name(self, target: str) -> str:
        """The name of the file."""
        return f"{target}.slurm.sh"

    def submit(self, launch: Launch, file: Path) -> list[list[str]]:
        """The commands that hand the file over."""
        return [["sbatch", str(file)]]


@dataclass(frozen=True)
class Kubernetes:
    """An Indexed Job. ``resources`` are requested and limits, such as nvidia.com/gpu: 1."""

    image: str
    claim: str | None = None
    secret: str | None = None
    queue: str | None = None
    resources: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)

    def text(self, launch: Launch, target: str, folder: Path) -> str:
        """A manifest in YAML."""
        to_store = remote.is_store(launch.results)
        if to_store == bool(self.claim):
            raise BadInput(
                "results go to a store or to a volume",
                "Give --results URL without --claim, or --claim NAME with the folder where it is mounted as --results.",
            )
        if not to_store and not launch.results.startswith("/"):
            raise BadInput(f"--results {launch.results} is not absolute", "Give the folder where the claim is mounted.")
        mounted = launch.scratch if to_store else launch.results
        label = re.sub("[^a-z0-9]+", "-", f"portbench-{target}".lower())
        return _render("kubernetes.yaml.j2", launch, target, self, label=label, mounted=mounted)

    def name(self, target: str) -> str:
        """The name of the file."""
        return f"{target}.kubernetes.yaml"

    def submit(self, launch: Launch, file: Path) -> list[list[str]]:
        """The commands that hand the file over."""
        return [["kubectl", "apply", "-f", str(file)]]


@dataclass(frozen=True)
class SkyPilot:
    """A task, of which each shard is a managed job. ``bucket`` is mounted at the launch's results; ``setup`` prepares a
    new machine in a copy of ``workdir``."""

    bucket: str
    workdir: str
    setup: str
    command: str
    accelerators: str | None = None
    infra: str | None = None
    cpus: str | None = None
    spot: bool = False

    def text(self, launch: Launch, target: str, folder: Path) -> str:
        """A task in YAML. Raises BadInput if the results do not go to a bucket."""
        if not remote.is_store(self.bucket):
            raise BadInput(f"--results {self.bucket} is no bucket", "Give a URL such as s3://bucket/results.")
        return _render("skypilot.yaml.j2", launch, target, self)

    def name(self, target: str) -> str:
        """The name of the file."""
        return f"{target}.sky.yaml"

    def submit(self, launch: Launch, file: Path) -> list[list[str]]:
        """The commands that hand the file over: one for each shard."""
        target = file.name.removesuffix(".sky.yaml")
        launched = ["sky", "jobs", "launch", "--yes", "--detach-run"]
        return [
            [*launched, "--name", f"portbench-{target}-{shard}", "--env", f"SHARD={shard}", str(file)]
            for shard in range(1, launch.shards + 1)
        ]


@dataclass(frozen=True)
class Ray:
    """A driver of tasks on a cluster that is there. portbench must be in the Python of its nodes."""

    address: str = "auto"
    cpus: float = 1
    gpus: float = 0
    resources: dict[str, float] = field(default_factory=dict)

    def text(self, launch: Launch, target: str, folder: Path) -> str:
        """A program in Python."""
        words = {"argv": launch.argv(target), "out": launch.out(target), "cwd": str(Path.cwd())}
        return _render("ray_driver.py.j2", launch, target, self, words=words)

    def name(self, target: str) -> str:
        """The name of the file."""
        return f"{target.replace('-', '_').replace('.', '_')}_on_ray.py"

    def submit(self, launch: Launch, file: Path) -> list[list[str]]:
        """The commands that hand the file over. The program ends when all shards have ended."""
        return [[sys.executable, str(file)]]


def _render(template: str, launch: Launch, target: str, engine: Any, **more: Any) -> str:
    texts = [launch.results, launch.machine, *launch.options, *_texts(asdict(engine)), *_texts(more)]
    check_texts(texts)
    environment = Environment(
        loader=PackageLoader("portbench.launch"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # A text in JSON is one in YAML, too.
    environment.filters |= {"sh": shlex.quote, "yaml": json.dumps, "python": repr}
    return environment.get_template(template).render(
        target=target,
        shards=launch.shards,
        machine=launch.machine,
        results=launch.results,
        out=launch.out(target),
        arguments=shlex.join(launch.argv(target)),
        most_tries=MOST_TRIES,
        engine=engine,
        **more,
    )


def _texts(found: Any) -> list[str]:
    """All texts in a value of lists and tables."""
    if isinstance(found, str):
        return [found]
    values = [*found, *found.values()] if isinstance(found, dict) else found if isinstance(found, list | tuple) else []
    return [text for value in values for text in _texts(value)]

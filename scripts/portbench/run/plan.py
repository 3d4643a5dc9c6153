"""From what the user asked for to a plan: every target, manifest and folder is looked up before anything runs."""

from __future__ import annotations

from pathlib import Path

from portbench.errors import BadInput, StorageFailed
from portbench.formats.documents import read_document
from portbench.run.model import RunnerArguments, RunOptions, RunPlan
from portbench.targets.catalog import find_targets
from portbench.util.machine import Machine
from portbench.util.repository import Checkout


def plan_run(options: RunOptions, checkout: Checkout, machine: Machine | None = None) -> RunPlan:
    """Plans a run and creates the folder of its run files. Raises UnknownTarget, BadInput or StorageFailed."""
    targets = tuple(find_targets(options.targets, checkout))
    out = Path(options.out).absolute()
    frameworks = dict.fromkeys(target.framework for target in targets)
    manifests = {framework: find_manifest(options.manifest, framework, checkout) for framework in frameworks}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFailed(f"cannot write to {out}: {error.strerror}", "Give another folder with --out.") from error
    return RunPlan(
        checkout=checkout,
        targets=targets,
        backend=options.backend,
        arguments={
            framework: RunnerArguments(manifest, out, options.runner) for framework, manifest in manifests.items()
        },
        command_to_resume=options.command_to_resume(),
        machine=machine or Machine(),
    )


def find_manifest(given: str, framework: str, checkout: Checkout) -> Path:
    """The absolute path of the manifest for a framework.

    A name, such as ``study``, means manifests/<name>/<framework>.json. A word with a / or .json at its end is a path.
    Raises BadInput if there is no such file, if it is not a valid manifest, or if it is another framework's.
    """
    if given.endswith(".json") or "/" in given:
        path = Path(given).absolute()
        if not path.is_file():
            raise BadInput(f"{given}: no such file", "Give the path of a manifest, or a name such as study.")
    else:
        path = checkout.manifests / given / f"{framework}.json"
        if not path.is_file():
            names = sorted(found.parent.name for found in checkout.manifests.glob(f"*/{framework}.json"))
            raise BadInput(
                f"there is no manifest {given!r} for {framework}: {path} does not exist",
                f"Manifests for {framework}: {', '.join(names) or 'none'}. Or give the path of a manifest.",
            )
    _check_framework(path, framework)
    return path


def _check_framework(path: Path, framework: str) -> None:
    found = read_document(path, "manifest").data["framework"]
    if found != framework:
        raise BadInput(
            f"{path}: $.framework: expected {framework!r} as for the target, found {found!r}",
            "Give a name, such as study: a path is the manifest of one framework only.",
        )

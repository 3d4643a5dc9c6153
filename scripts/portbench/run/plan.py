"""From what the user asked for to a plan: every target, manifest and folder is looked up before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from portbench.errors import BadInput, StorageFailed
from portbench.formats.documents import read_document
from portbench.run.failures import FailedRun, manifest_of
from portbench.run.model import RunnerArguments, RunOptions, RunPlan
from portbench.targets.catalog import find_targets
from portbench.util.machine import Machine
from portbench.util.repository import Checkout
from portbench.util.strict_json import read_json, shown
from portbench.util.text import did_you_mean


def plan_run(
    asked: RunOptions, checkout: Checkout, machine: Machine | None = None, failed: FailedRun | None = None
) -> RunPlan:
    """Plans a run; with ``failed``, of the tests that failed there. Raises UnknownTarget or BadInput."""
    options = _with_failed(asked, failed, checkout) if failed else asked
    targets = tuple(find_targets(options.targets, checkout))
    frameworks = dict.fromkeys(target.framework for target in targets)
    functions = options.runner.functions
    manifests = {name: find_manifest(options.manifest, name, checkout, functions) for name in frameworks}
    if options.runner.excluded:
        _check_excluded(options.runner.excluded, manifests.values())
    out = Path(options.out).absolute()
    return RunPlan(
        checkout=checkout,
        targets=targets,
        backend=options.backend,
        arguments={
            framework: RunnerArguments(manifest, out, options.runner) for framework, manifest in manifests.items()
        },
        command_to_resume=asked.command_to_resume(),
        machine=machine or Machine(),
        copy_to=options.copy_to,
    )


def create_out(plan: RunPlan) -> None:
    """Creates the folder of a plan's run files. Raises StorageFailed."""
    for out in dict.fromkeys(arguments.out for arguments in plan.arguments.values()):
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"cannot write to {out}: {error.strerror}", "Give another folder with --out."
            ) from error


def _with_failed(options: RunOptions, failed: FailedRun, checkout: Checkout) -> RunOptions:
    """The options with the target and the manifest of a run file, unless others are given, and its failed tests."""
    targets = options.targets or (failed.target,)
    for target in find_targets(targets, checkout):
        if target.framework != failed.framework:
            raise BadInput(
                f"{shown(failed.path)} is a run of {failed.target}, {target.name} has another framework",
                f"Give targets of {failed.framework}, or no target for the one of the file.",
            )
    if options.runner.tests:
        raise BadInput("--failed and --test exclude each other", "Leave out one of them. --function can be added.")
    manifest = manifest_of(failed, checkout) if options.manifest == RunOptions.manifest else options.manifest
    tests = tuple(dict.fromkeys(test.full_id for test in failed.tests))
    return replace(options, targets=targets, manifest=manifest, runner=replace(options.runner, tests=tests))


def find_manifest(given: str, framework: str, checkout: Checkout, functions: Sequence[str] = ()) -> Path:
    """The absolute path of the manifest for a framework, in which one of the globs ``functions`` must match.

    A name, such as ``study``, means manifests/<name>/<framework>.json. A word with a / or .json at its end is a path.
    Raises BadInput if there is no such file, if it is not a valid manifest, if it is another framework's, or if no
    function matches.
    """
    if given.endswith(".json") or "/" in given:
        path = Path(given).absolute()
        if not path.is_file():
            beside = [each.name for each in path.parent.glob("*.json")]
            raise BadInput(
                f"{given}: no such file{did_you_mean(path.name, beside)}",
                "Give the path of a manifest, or a name such as study.",
            )
    else:
        path = checkout.manifests / given / f"{framework}.json"
        if not path.is_file():
            names = sorted(found.parent.name for found in checkout.manifests.glob(f"*/{framework}.json"))
            raise BadInput(
                f"there is no manifest {given!r} for {framework}{did_you_mean(given, names)}",
                f"Manifests for {framework}: {', '.join(names) or 'none'}. Or give the path of a manifest.",
            )
    _check_framework(path, framework, functions)
    return path


def _check_framework(path: Path, framework: str, functions: Sequence[str]) -> None:
    document = read_document(path, "manifest").data
    found = document["framework"]
    if found != framework:
        raise BadInput(
            f"{path}: $.framework: expected {framework!r} as for the target, found {found!r}",
            "Give a name, such as study: a path is the manifest of one framework only.",
        )
    # A mistyped name is reported before an environment is created for it. The runner checks everything else.
    names = function_names(document)
    if names and functions and not any(fnmatchcase(name, glob) for name in names for glob in functions):
        raise BadInput(
            f"{shown(path)}: no function matches {' or '.join(functions)}{did_you_mean(functions[0], names)}",
            "Globs match whole names: '*linalg*', 'torch.cat'. To list what runs, add --dry-run.",
        )


def _check_excluded(globs: Sequence[str], manifests: Iterable[Path]) -> None:
    """Raises BadInput for a glob that matches in no manifest: with a mistyped name, a run would be too large."""
    names = [name for path in manifests for name in function_names(read_json(path).data)]
    for glob in globs:
        if names and not any(fnmatchcase(name, glob) for name in names):
            raise BadInput(
                f"--exclude {glob} matches no function{did_you_mean(glob, names)}",
                "Globs match whole names: '*linalg*', 'torch.cat'. To list what runs, add --dry-run.",
            )


def function_names(manifest: Mapping[str, Any]) -> list[str]:
    """The functions of a manifest, in its order; none where it is not a valid one."""
    entries = manifest.get("functions")
    found = [entry.get("function") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name for name in found if isinstance(name, str)]

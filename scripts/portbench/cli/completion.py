"""Completion of words in a shell: targets, functions of a manifest or study, manifests, and folders of studies.

The shell calls portbench for each press of the tab key, so these functions are fast and never fail: where something
cannot be read there is nothing to offer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from portbench.errors import PortbenchError
from portbench.run.plan import find_manifest, function_names
from portbench.targets.catalog import all_targets, find_targets
from portbench.util.repository import find_checkout
from portbench.util.strict_json import read_json

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(find: Callable[[click.Context], Iterable[str]]) -> Completer:
    """Offers the names that ``find`` yields and that begin with what is typed; if none does, those that contain it."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            names = list(dict.fromkeys(find(context)))
        except (PortbenchError, OSError, ValueError, KeyError, TypeError):
            return []
        matching = [name for name in names if name.startswith(incomplete)]
        wanted = incomplete.casefold()
        return [CompletionItem(name) for name in matching or [name for name in names if wanted in name.casefold()]]

    return complete


def _targets(context: click.Context) -> Iterable[str]:
    catalogue = all_targets(find_checkout())
    short = [target.service for target in catalogue if target.is_default]
    latest = [target.latest_name for target in catalogue if target.is_latest]
    return [*short, *latest, *(target.name for target in catalogue)]


def _manifests(context: click.Context) -> Iterable[str]:
    names = (path.parent.name for path in sorted(find_checkout().manifests.glob("*/*.json")))
    return [*names, *(path.name for path in sorted(Path.cwd().glob("*.json")))]


def _functions_of_manifests(context: click.Context) -> Iterable[str]:
    """Of the manifest and the targets that stand before in the command line, or else of all frameworks."""
    checkout, given = find_checkout(), context.params
    manifest = given.get("manifest") or "study"
    # While the value of an option is missing, click leaves the arguments before it unparsed.
    unparsed = [word for word in context.args if not word.startswith("-")]
    names = [*(given.get("targets") or unparsed), *([given["target"]] if given.get("target") else [])]
    if names:
        frameworks = {target.framework for target in find_targets(names, checkout)}
    else:
        frameworks = {path.stem for path in checkout.manifests.glob(f"{manifest}/*.json")}
    for framework in sorted(frameworks):
        yield from function_names(read_json(find_manifest(manifest, framework, checkout)).data)


def _studies(context: click.Context) -> Iterable[str]:
    """Folders up to two levels below the working folder that hold a study."""
    for pattern in ("study.json", "*/study.json", "*/*/study.json"):
        yield from (str(path.parent.relative_to(Path.cwd())) for path in sorted(Path.cwd().glob(pattern)))


def _functions_of_the_study(context: click.Context) -> Iterable[str]:
    path = Path(context.params.get("study") or "")
    summary: Any = json.loads((path / "study.json" if path.is_dir() else path).read_text("utf-8"))
    if "results" in summary:
        return [result["function"] for result in summary["results"]]
    return [function["name"] for target in summary["targets"] for function in target["functions"]]


TARGETS = _completer(_targets)
MANIFESTS = _completer(_manifests)
FUNCTIONS = _completer(_functions_of_manifests)
STUDIES = _completer(_studies)
FUNCTIONS_OF_STUDY = _completer(_functions_of_the_study)

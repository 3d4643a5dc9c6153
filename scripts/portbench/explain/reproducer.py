"""The command that runs a single test of a study again, on the target where it ran before."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.explain.evidence import TargetEvidence, TestEvidence
from portbench.formats.documents import files_below
from portbench.study.summary import Row
from portbench.targets.catalog import all_targets
from portbench.targets.pinning import pinning
from portbench.util.repository import Checkout
from portbench.util.strict_json import read_json, shown

_USUAL_LIMIT_S = 900.0


@dataclass(frozen=True)
class Reproducer:
    """``command`` runs ``test`` of the function alone. ``notes`` say how that may differ from the recorded run."""

    evidence: TargetEvidence
    test: TestEvidence
    manifest: Path | None
    """The manifest with the test; None if this clone does not have it."""
    backend: str
    notes: tuple[str, ...]

    @property
    def run(self) -> Row:
        """The facts of the run file with the result to repeat."""
        return self.evidence.run_of(self.test)

    @property
    def function(self) -> str:
        """The name of the function in the manifest."""
        return self.evidence.successor_of or self.evidence.function

    @property
    def command(self) -> str:
        """The shell command, to be run in the clone."""
        return self.command_with(self.manifest_or_blank)

    def command_with(self, manifest: str, *options: str) -> str:
        """The shell command with another manifest and further options."""
        argv = ["--function", self.function, "--test", self.test.id]
        return shlex.join([*self.argv_before(manifest), *argv, *self.argv_after, *options])

    @property
    def manifest_or_blank(self) -> str:
        """The manifest's path, or the placeholder MANIFEST if this clone does not have it."""
        return str(self.manifest) if self.manifest else "MANIFEST"

    def argv_before(self, manifest: str) -> list[str]:
        """The arguments before the function and the test."""
        return ["portbench", "run", str(self.evidence.target), "--manifest", manifest]

    @property
    def argv_after(self) -> list[str]:
        """The arguments after the function and the test."""
        return [
            *self.runner_protocol,
            *(["--backend", self.backend] if self.backend != "auto" else []),
        ]

    @property
    def runner_protocol(self) -> list[str]:
        """The protocol as options of the runner itself."""
        # A test that does not pass has no steady state to measure.
        argv = ["--runs", "1", "--protocol", self.run["protocol"] if self.test.verdict == "passed" else "cold"]
        if self.evidence.sync != "complete":
            argv += ["--sync", self.evidence.sync]
        if self.run["cold"] == "process":
            argv += ["--cold", "process"]
        if self.run["timeout_s"] not in (None, _USUAL_LIMIT_S):
            argv += ["--timeout", f"{self.run['timeout_s']:g}"]
        return argv


@dataclass(frozen=True)
class KnownManifest:
    """A manifest of the clone. ``path``: as a command names it."""

    path: Path
    sha256: str
    name: str
    framework: str


def known_manifests(checkout: Checkout) -> list[KnownManifest]:
    """All manifests of the clone, sorted by path."""
    files = [read_json(path) for path in files_below(checkout.manifests, (".json",))]
    return [
        KnownManifest(_named(file.path, checkout), file.sha256, str(file.data.get("name")), str(file.data["framework"]))
        for file in files
        if isinstance(file.data, dict) and file.data.get("schema") == "portbench/manifest" and "framework" in file.data
    ]


def reproducer(
    evidence: TargetEvidence,
    test: TestEvidence,
    checkout: Checkout,
    manifest: Path | None = None,
    known: Sequence[KnownManifest] | None = None,
) -> Reproducer | None:
    """Finds how to repeat a test; None where its run was imported. ``manifest``: its manifest, if that is not one of
    the clone's; ``known``: those of the clone, where the caller has read them."""
    run = evidence.run_of(test)
    if run["imported"]:
        return None
    if manifest is None and known is None:
        known = known_manifests(checkout)
    found, sha256 = (manifest, read_json(manifest).sha256) if manifest else _find_manifest(run, evidence, known or ())
    backend, note = _backend(run["environment"], evidence, checkout)
    notes = [note] if note else []
    if found is None:
        called = f"{run['manifest']} (SHA-256 {run['manifest_sha256'][:12]}…)"
        notes.insert(
            0, f"MANIFEST is the placeholder for {called}, which is not in manifests/: give it with --manifest."
        )
    elif sha256 != run["manifest_sha256"]:
        notes.insert(0, f"{shown(found)} has changed since this run: the test may be another one.")
    return Reproducer(evidence, test, found, backend, tuple(notes))


def not_repeatable(run: Row) -> str:
    """Why there is no command to repeat a test of an imported run."""
    return f"Imported from: {run['imported']['source']}. portbench has no such test, so it cannot run it again."


def _backend(environment: Row, evidence: TargetEvidence, checkout: Checkout) -> tuple[str, str]:
    """The backend that the test ran with, or else the most similar one, and a note on how it may differ."""
    recorded = environment.get("backend")
    if recorded == "current":
        return "current", f"It ran in a Python of the user (Python {environment['python']}): see PORTBENCH_PYTHON."
    if recorded == "venv":
        return "venv", ""
    digest, container = environment["image_digest"], environment["container"]
    if digest:
        return "docker", f"It ran in the image {digest}; --bundle writes a command for that very image."
    if container:
        return "auto", f"It ran in a container ({container}) whose image is not recorded."
    known = next((target for target in all_targets(checkout) if target.name == str(evidence.target)), None)
    if known and pinning(known):
        return "venv", ""
    return "current", "images/ has no lock for this target: it runs in your own Python, see PORTBENCH_PYTHON."


def _find_manifest(run: Row, evidence: TargetEvidence, known: Iterable[KnownManifest]) -> tuple[Path | None, str]:
    """The manifest with the run's SHA-256, or else with its name; and the SHA-256 of the file."""
    wanted = (run["manifest"], evidence.target.framework)
    named: tuple[Path | None, str] = None, ""
    for each in known:
        if each.sha256 == run["manifest_sha256"]:
            return each.path, each.sha256
        if (each.name, each.framework) == wanted:
            named = each.path, each.sha256
    return named


def _named(path: Path, checkout: Checkout) -> Path:
    """How a command names a manifest: in a clone from its root."""
    return path.relative_to(checkout.root) if checkout.is_clone else path

"""Collects tests for a whole API from packages of a target's environment: its runner tries them on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.corpus.asking import ask_runner
from portbench.formats.documents import Document
from portbench.util.machine import Machine
from portbench.util.repository import Checkout


@dataclass(frozen=True)
class CollectArguments:
    """Asks a runner for a manifest of samples. ``out`` is the host's path, absolute."""

    out: Path
    sources: Sequence[str]
    samples: int
    functions: Sequence[str]
    manifest: None = None
    own_mutants: None = None

    def argv(self, manifest: str, out: str) -> list[str]:
        """As command line arguments. There is no manifest."""
        asked = ["--collect", ",".join(self.sources), "--samples", str(self.samples)]
        asked += [word for glob in self.functions for word in ("--function", glob)]
        return [*asked, "--out", out, "--progress", "json"]


@dataclass(frozen=True)
class Collected:
    """A manifest as the runner wrote it. ``text`` is the file's text, the same for the same environment."""

    document: Document
    text: str


def collect_tests(
    name: str,
    checkout: Checkout,
    say: Callable[[str], None],
    sources: Sequence[str],
    samples: int,
    functions: Sequence[str] = (),
    backend: str = "auto",
    machine: Machine | None = None,
) -> Collected:
    """Collects from ``sources`` in the environment of the target called ``name``; at most ``samples`` of an entry in
    a dtype, for functions that match a glob of ``functions``. Raises as ask_runner does."""
    document, text = ask_runner(
        name,
        checkout,
        say,
        lambda folder: CollectArguments(folder, sources, samples, functions),
        "manifest",
        backend,
        machine,
    )
    return Collected(document, text)

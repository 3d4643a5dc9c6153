"""Lists the public functions of a target: its runner imports the framework, in the target's image or environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from portbench.corpus.asking import ask_runner
from portbench.formats.documents import Document
from portbench.util.machine import Machine
from portbench.util.repository import Checkout


@dataclass(frozen=True)
class EnumerateArguments:
    """Asks a runner for a list of the framework's functions. ``out`` is the host's path, absolute."""

    out: Path
    as_published: bool
    methods: bool
    manifest: None = None
    own_mutants: None = None

    def argv(self, manifest: str, out: str) -> list[str]:
        """As command line arguments. There is no manifest."""
        flags = [flag for flag, given in (("--as-study", self.as_published), ("--methods", self.methods)) if given]
        return ["--enumerate", "--out", out, *flags, "--progress", "json"]


@dataclass(frozen=True)
class Listing:
    """A list of functions as the runner wrote it. ``text`` is the file's text, the same for the same target."""

    document: Document
    text: str


def enumerate_target(
    name: str,
    checkout: Checkout,
    say: Callable[[str], None],
    *,
    backend: str = "auto",
    as_published: bool = False,
    methods: bool = False,
    machine: Machine | None = None,
) -> Listing:
    """Lists the public functions of the target called ``name``. ``say`` gets a line about every slow step.

    ``as_published``: by the rule of the paper of 2023. Raises UnknownTarget, RunFailed, Interrupted, or the error that
    says why the target cannot run here.
    """
    document, text = ask_runner(
        name,
        checkout,
        say,
        lambda folder: EnumerateArguments(folder, as_published, methods),
        "functions",
        backend,
        machine,
    )
    return Listing(document, text)

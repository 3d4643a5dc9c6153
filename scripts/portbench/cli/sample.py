"""``portbench sample``."""

from __future__ import annotations

import re
from pathlib import Path

import click

from portbench.cli import cli
from portbench.corpus.sample import FRAMEWORKS, SampleOptions, as_text, sample
from portbench.errors import BadInput
from portbench.util.files import write_text
from portbench.util.strict_json import shown
from portbench.util.text import pluralize


@cli.command("sample")
@click.argument("counts", type=click.Path(path_type=Path), metavar="COUNTS")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="MANIFEST", help="A new manifest.")
@click.option("--framework", type=click.Choice(FRAMEWORKS), help="Where COUNTS holds several.")
@click.option(
    "--by",
    type=click.Choice(["resolved", "identifier"]),
    default="resolved",
    show_default=True,
    help="Which count ranks: calls that lead to the function, or called words, as the study.",
)
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, help="So many of the most used.")
@click.option(
    "--per-stratum", type=click.IntRange(min=0), default=5, show_default=True, help="So many from each decile of use."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw: the same gives the same, anywhere.")
@click.option(
    "--exclude",
    "exclusions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Functions that must not be taken, with reasons (schema/exclusions.schema.json); each is replaced from its "
    "decile.",
)
def command(
    counts: Path,
    out: Path,
    framework: str | None,
    by: str,
    top: int,
    per_stratum: int,
    seed: int,
    exclusions: Path | None,
) -> None:
    """Draw a stratified sample of functions from COUNTS, as a manifest without tests.

    COUNTS is what 'portbench count' wrote. The manifest holds the most used functions and some at random from each
    decile of use, their strata, and under 'provenance' how they were drawn: corpus, counts, seed, and what was replaced
    and why. 'portbench run' lists its functions as not yet curated until they have tests.

    \b
    Examples:
      portbench sample counts.json --framework torch --seed 7 -o torch-sample.json
      portbench sample counts.json --framework jax --exclude no-tests.json -o jax-sample.json
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", out.stem):
        raise BadInput(
            f"{shown(out)}: its name without .json names the manifest: letters, digits, '_', '-', '.', at most 64",
            "Give another name.",
        )
    if out.exists():
        raise BadInput(f"{shown(out)} is there already, perhaps with tests", "Give another name, or remove it.")
    made = sample(SampleOptions(counts, out.stem, framework, by, top, per_stratum, seed, exclusions))
    write_text(out, as_text(made))
    replaced = made["provenance"]["replacements"]
    tops = sum(entry["stratum"]["top20"] for entry in made["functions"])
    click.echo(
        f"{shown(out)}: {pluralize(len(made['functions']), 'function')}, {tops} of the most used; "
        f"{len(replaced)} replaced"
    )

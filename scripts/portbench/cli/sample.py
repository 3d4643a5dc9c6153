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
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="MANIFEST", help="Write the manifest here."
)
@click.option("--framework", type=click.Choice(FRAMEWORKS), help="The framework to sample, if COUNTS holds several.")
@click.option(
    "--by",
    type=click.Choice(["resolved", "identifier"]),
    default="resolved",
    show_default=True,
    help="The count that ranks functions: calls that lead to the function, or calls by the last part of its name, as "
    "in the paper of 2023.",
)
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, help="Number of most used functions.")
@click.option(
    "--per-stratum",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Number of functions from each decile of use.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the random draw. The same seed gives the same sample on every machine.",
)
@click.option(
    "--exclude",
    "exclusions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Functions to leave out, with reasons (schema/exclusions.schema.json). Each is replaced by another function "
    "of its decile.",
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
    """Draw a stratified sample of functions, as a manifest without tests.

    COUNTS is a file that 'portbench count' wrote. The manifest holds the most used functions, random functions from
    each decile of use, and their strata. Its 'provenance' says how they were drawn: corpus, counts, seed, and which
    functions were replaced and why. 'portbench run' lists functions that have no tests yet.

    \b
    Examples:
      portbench sample counts.json --framework torch --seed 7 -o torch-sample.json
      portbench sample counts.json --framework jax --exclude no-tests.json -o jax-sample.json
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", out.stem):
        raise BadInput(
            f"{shown(out)}: the name without .json names the manifest: at most 64 letters, digits, '_', '-', '.'",
            "Give another name.",
        )
    if out.exists():
        raise BadInput(f"{shown(out)} exists already, perhaps with tests", "Give another name, or remove it.")
    made = sample(SampleOptions(counts, out.stem, framework, by, top, per_stratum, seed, exclusions))
    write_text(out, as_text(made))
    replaced = made["provenance"]["replacements"]
    tops = sum(entry["stratum"]["top20"] for entry in made["functions"])
    click.echo(
        f"{shown(out)}: {pluralize(len(made['functions']), 'function')}, {tops} of the most used; "
        f"{len(replaced)} replaced"
    )

"""``portbench count``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from portbench.cli import cli
from portbench.corpus.counting.count import ENGINES, CountOptions, count
from portbench.corpus.counting.counts import Shard, merge, write
from portbench.corpus.counting.progress import Progress
from portbench.corpus.counting.terminal import print_counts
from portbench.errors import BadInput
from portbench.util.console import results_console


def _shard(context: click.Context, parameter: click.Parameter, value: str | None) -> Shard | None:
    if value is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", value)
    if not found or not int(found[1]) <= int(found[2]) or int(found[2]) < 2:
        raise click.BadParameter("expected K/N with N of at least 2, such as 3/10")
    return Shard(int(found[1]), int(found[2]))


@cli.command("count")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...")
@click.option(
    "--functions",
    "lists",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The functions to count: a list that 'portbench enumerate' wrote, a manifest, or JSON or CSV with names and "
    "aliases. Give one per framework.",
)
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), metavar="COUNTS", help="Write the counts here."
)
@click.option(
    "--column",
    default="content",
    show_default=True,
    metavar="NAME",
    help="The column of .jsonl and .parquet files that holds the source.",
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes. [default: all cores]")
@click.option(
    "--shard", callback=_shard, metavar="K/N", help="Count only the K-th of N shares, on one of several machines."
)
@click.option("--resume", is_flag=True, help="Continue an interrupted count of the same corpus.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="Where it runs: in processes of this machine, or as tasks on the Ray cluster that RAY_ADDRESS names.",
)
@click.option("--merge", "merging", is_flag=True, help="Add up the counts of shards: each CORPUS is a file of counts.")
@click.option("--json", "as_json", is_flag=True, help="Print the totals as one JSON object. Progress goes to stderr.")
def command(
    corpus: tuple[str, ...],
    lists: tuple[Path, ...],
    out: Path,
    column: str,
    workers: int | None,
    shard: Shard | None,
    resume: bool,
    engine: str,
    merging: bool,
    as_json: bool,
) -> None:
    """Count how often functions are called in a corpus of Python source.

    A CORPUS is a folder, a .jsonl (also .gz, .zst), .parquet, .zip, .whl or .tar file, or the address of a data set
    that begins with hf://. portbench parses the files that import the framework. Each function gets two counts.
    'identifier' counts calls by the last part of the function's name, as the paper of 2023 did. 'resolved' counts calls
    that lead to the function through imports, aliases and scopes. Files of Python 2 and files with syntax errors are
    counted as such and left out.

    \b
    Examples:
      portbench count src/ --functions torch.json --functions jax.json -o counts.json
      portbench count codeparrot-clean/ --functions torch.json --shard 3/10 -o counts-3.json
      portbench count --merge counts-*.json -o counts.json
    """
    if merging:
        made = merge([Path(path) for path in corpus])
        write(out, made)
    elif not lists:
        raise BadInput("no list of functions is given", "Add --functions FILE; 'portbench enumerate' writes one.")
    else:
        options = CountOptions(corpus, lists, out, column, workers, shard, resume, engine)
        with Progress(Console(stderr=True)) as progress:
            made = count(options, progress)
    if as_json:
        click.echo(json.dumps(_totals(made), indent=2))
    else:
        print_counts(made, results_console())


def _totals(made: dict[str, Any]) -> dict[str, Any]:
    keys = ("framework", "version", "files", "kept_bytes", "calls")
    return {**made, "frameworks": [{key: entry[key] for key in keys} for entry in made["frameworks"]]}

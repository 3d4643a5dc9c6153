"""``portbench collect``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from portbench.cli import cli, completion
from portbench.cli import options as click_options
from portbench.corpus.collect import collect_tests
from portbench.run.progress import Reporter
from portbench.util.files import write_text
from portbench.util.machine import Machine
from portbench.util.repository import find_checkout
from portbench.util.strict_json import shown
from portbench.util.text import pluralize


@cli.command("collect")
@click.argument("target", metavar="TARGET", shell_complete=completion.TARGETS)
@click.option(
    "--from",
    "sources",
    metavar="SOURCE,...",
    required=True,
    help="Where the tests come from: opinfo and modules (PyTorch's own samples for its operators and modules); "
    "harnesses (JAX's own samples), numpy and scipy (inputs for what those have too, for JAX and TensorFlow); "
    "raw, signatures, keras, operators, assertions and programs (TensorFlow alone); docs (what the examples "
    "in docstrings call), pytest:PACKAGE (what the tests of an installed package call).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Write the manifest here.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    metavar="N",
    help="Take at most N samples of an entry in each dtype, evenly spread; of recorded calls, N of a function.",
)
@click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="GLOB",
    help="Only functions that match, such as 'torch.linalg.*'. Repeatable.",
)
@click_options.BACKEND
@click.pass_context
def command(
    context: click.Context,
    target: str,
    sources: str,
    output: Path,
    samples: int,
    functions: tuple[str, ...],
    backend: str,
) -> None:
    """Collect tests for a whole API from the packages of TARGET's environment.

    Frameworks bring inputs for their own tests. Each entry that the CPU computes becomes a test, which 'portbench run'
    repeats on any target of the same version. Nothing is copied: the manifest names source, entry, dtype, positions and
    a digest, and the samples are made where the test runs. The same environment gives the same bytes.

    Sources docs and pytest:PACKAGE record calls. Of these the manifest has shapes, dtypes and numbers, and the names of
    mutations that the CPU accepts: other dtypes, empty, large, strided. A package that the target's environment lacks
    needs one of your own: --backend current with PORTBENCH_PYTHON.

    \b
    Examples:
      portbench collect torch-latest-cpu --from opinfo -o api/torch.json
      portbench collect jax-latest-cpu --from harnesses,numpy,scipy -o api/jax.json
      portbench collect tensorflow-latest-cpu --from raw,signatures,keras,numpy,scipy -o api/tensorflow.json
      portbench collect torch-latest-cpu --from docs -o api/docs.json
      portbench run torch-latest-gpu-predicted --manifest api/torch.json --runs 1 --protocol cold
    """
    reporter = Reporter(Console(stderr=True), Console(stderr=True))
    named = list(dict.fromkeys(name.strip() for name in sources.split(",") if name.strip()))
    if not named:
        raise click.BadParameter("names no source; expected one or more, such as opinfo", param_hint="--from")
    machine = context.find_object(Machine)
    found = collect_tests(target, find_checkout(), reporter.say, named, samples, functions, backend, machine)
    write_text(output, found.text)
    entries = found.document.data["functions"]
    tests = sum(len(entry["tests"]) for entry in entries)
    left_out = len({(each["source"], each["entry"]) for each in found.document.data["collected"]["left_out"]})
    click.echo(f"{shown(output)}: {pluralize(tests, 'test')} of {pluralize(len(entries), 'function')}")
    click.echo(f"  entries left out in some or all dtypes: {left_out:,}; collected.left_out in the file says why")

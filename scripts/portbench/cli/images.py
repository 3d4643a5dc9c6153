"""``portbench images``."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portbench.backends.build_progress import build_progress
from portbench.backends.images import DiskUse, Image, Images
from portbench.cli import cli, completion
from portbench.errors import Interrupted, PortbenchError
from portbench.targets.catalog import by_image, title
from portbench.util.console import results_console, show_error
from portbench.util.machine import Machine
from portbench.util.processes import stoppable
from portbench.util.repository import find_clone
from portbench.util.text import duration, escape_control

_TARGETS = click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=completion.TARGETS)


@cli.group("images")
def command() -> None:
    """Build, list, check and remove the container images of targets.

    compose.yaml and the Dockerfiles in images/ say how they are built; 'portbench targets' lists the targets.
    """


@command.command("build")
@_TARGETS
@click.pass_context
def build(context: click.Context, targets: tuple[str, ...]) -> None:
    """Build the image of each TARGET. Without TARGET, build all existing images again.

    The image has labels with the commit of the runner and a digest of all files that went into it. 'portbench images
    check' compares them. If only the runner has changed, a build takes a second or two. An image that several TARGETs
    share is built once. If one build fails, the others still run, and the exit status is that of the first failure.

    \b
    Examples:
      portbench images build torch-cpu jax-cpu
      portbench images build torch-2.9.0-tpu
    """
    images, console, status = _images(), Console(), 0
    chosen = [group[0] for group in by_image(images.targets(targets))]
    if not targets:
        there = {each.target for each in images.status(chosen) if each.state != "not built"}
        chosen = [target for target in chosen if target.name in there]
        if not chosen:
            raise click.UsageError("no image is built yet: give targets ('portbench targets' lists them)")
    with stoppable():
        for target in chosen:
            begin = time.monotonic()
            try:
                with build_progress(target.name, console) as on_line:
                    built = images.build(target, on_line)
                size = _size(built.size_bytes)
                click.echo(f"{target.name}: {built.image} is built, {size} ({duration(time.monotonic() - begin)})")
            except KeyboardInterrupt:
                raise Interrupted(f"interrupted while {target.name} was built", "The same command continues.") from None
            except PortbenchError as error:
                show_error(error, Console(stderr=True))
                status = status or error.exit_status
    context.exit(status)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def list_images(as_json: bool) -> None:
    """List the image of each target: when it was built, its size, and whether it is up to date with this clone.

    "size" counts every layer of the image, also layers that it shares with other images. "runner" is the commit of the
    runner in it, with a + if files had changed since that commit.
    """
    images = _images()
    targets = images.targets(())
    if as_json:
        click.echo(json.dumps({"images": [asdict(image) for image in images.status(targets)]}, indent=2))
        return
    groups = by_image(targets)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("target", "built (UTC)", "size", "runner", "state"):
        table.add_column(heading, no_wrap=True)
    for group, image in zip(groups, images.status([group[0] for group in groups]), strict=True):
        built = image.built_at[:16].replace("T", " ") if image.built_at else "-"
        # Labels are not trusted: escape markup and control characters.
        cells = (escape(escape_control(text)) for text in (built, _size(image.size_bytes), _commit(image)))
        table.add_row(title(group), *cells, image.state)
    results_console().print(table)


@command.command("check")
@_TARGETS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
@click.pass_context
def check(context: click.Context, targets: tuple[str, ...], as_json: bool) -> None:
    """Check whether the image of each TARGET is up to date with this clone. Without TARGET, check all existing images.

    The check compares the contents of runner, schemas, lock, Dockerfile and Python version. An image that 'docker
    compose' built records them inside and is compared in the same way.

    Exit status 0 if every image is up to date, 1 if one is stale or unknown, or if the image of a TARGET is not built.
    """
    images = _images()
    groups = by_image(images.targets(targets))
    found = list(zip(groups, images.status([group[0] for group in groups]), strict=True))
    if not targets:
        found = [(group, image) for group, image in found if image.state != "not built"]
    behind = [image.target for _, image in found if image.state != "up to date"]
    if as_json:
        click.echo(json.dumps({"images": [asdict(image) for _, image in found]}, indent=2))
        context.exit(1 if behind else 0)
    for group, image in found:
        click.echo(f"{click.style(image.state, fg=_COLOURS[image.state])}: {title(group)}{_why(image)}")
    if behind:
        click.echo(f"To update:  portbench images build {' '.join(behind)}", err=True)
    if not found:
        click.echo("no image is built")
    context.exit(1 if behind else 0)


@command.command("sbom")
@click.argument("target", shell_complete=completion.TARGETS)
def sbom(target: str) -> None:
    """Print the software bill of materials of the image of TARGET: CycloneDX, as JSON.

    It lists Python, its packages and Debian's, with versions and, where a package states them, licences. The file was
    made when the image was built.

    \b
    Example:
      portbench images sbom torch-cpu > torch-cpu.cdx.json
    """
    images = _images()
    (chosen,) = images.targets([target])
    click.echo(images.sbom(chosen), nl=False)


@command.command("clean")
@_TARGETS
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
def clean(targets: tuple[str, ...], dry_run: bool) -> None:
    """Remove the images of each TARGET, also those of earlier builds. Without TARGET, remove all images of portbench.

    An image that a container uses stays, and is reported as an error at the end. Results, base images and Docker's
    build cache stay. The size of an image counts all of its layers. The freed space at the end counts only the layers
    that neither another image nor the build cache holds.
    """
    images = _images()
    found = images.removable(images.targets(targets) if targets else None)
    before = images.disk_use()
    failures = []
    for image in found:
        try:
            if not dry_run:
                images.remove(image)
            click.echo(
                f"{'would remove' if dry_run else 'removed'} {escape_control(image.title)}, {_size(image.size_bytes)}"
            )
        except PortbenchError as error:
            failures.append(error)
    after = images.disk_use()
    if not found:
        click.echo("nothing to remove")
    elif not dry_run and before and after:
        click.echo(_freed(before, after))
    if failures:
        raise type(failures[0])("\n".join(map(str, failures)), failures[0].remedy)


_COLOURS = {"up to date": "green", "stale": "red", "unknown": "yellow", "not built": "yellow"}


def _why(image: Image) -> str:
    reasons = {
        "stale": " was built from other files than this clone's",
        "unknown": " was built by an older portbench and does not record its sources",
        "not built": " has no image",
    }
    return reasons.get(image.state, "")


def _freed(before: DiskUse, after: DiskUse) -> str:
    kept = max(0, round(after.build_cache - before.build_cache))
    freed = max(0, round(before.images - after.images) - kept)
    still = f"; {_size(kept)} more stay as Docker's build cache until 'docker builder prune'" if kept else ""
    return f"freed {_size(freed)} of disk{still}"


def _commit(image: Image) -> str:
    commit = escape_control(image.runner_commit or "-")
    return commit[:7] + "+" * commit.endswith("+")


def _images() -> Images:
    return Images(find_clone(), Machine())


def _size(size_bytes: int | None) -> str:
    """As Docker prints it, in decimal units."""
    if size_bytes is None:
        return "-"
    return f"{size_bytes / 1e9:.2f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.0f} MB"

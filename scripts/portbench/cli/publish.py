"""``portbench publish``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import click

from portbench.cli import cli, completion
from portbench.site.write import DEFAULT_TITLE, publish
from portbench.study.open import studies_of
from portbench.study.store import connect, create_views
from portbench.study.summary import analyse
from portbench.study.tables_check import reading
from portbench.util.strict_json import shown
from portbench.util.text import pluralize


def _url(_: click.Context, __: click.Parameter, text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment):
        raise click.BadParameter(f"{text!r} is not an address such as https://example.org/portbench/.")
    return text


@cli.command("publish")
@click.argument("paths", nargs=-1, required=True, metavar="STUDY...", shell_complete=completion.STUDIES)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the site: a new or empty one, or the folder of an earlier site, which is updated.",
)
@click.option("--title", default=DEFAULT_TITLE, show_default=True, help="The title of the site.")
@click.option(
    "--url",
    default="",
    callback=_url,
    metavar="ADDRESS",
    help="Where the site will be, such as https://example.org/portbench/: for the feed, and for badges to copy.",
)
@click.option(
    "--strict-placement", is_flag=True, help="Count a test as failed if it passed, but not entirely on the device."
)
def command(paths: tuple[str, ...], out: Path, title: str, url: str, strict_placement: bool) -> None:
    """Write a static site of a study: a page with a stable address for each function.

    STUDY is a folder that 'portbench merge' wrote. You can also give run files or folders of run files: they are merged
    for this site only. A study of collected tests and one of others can be in one site: they are marked and counted
    apart.

    DIR gets a page for each function, target and framework, a list with search and filters, badges, the same as JSON
    (api/v1/, schema/site.schema.json) and an Atom feed. It needs no program on the server, works in any folder of it,
    and also from disk. Only files whose content changed are written, and files that are no longer part of the site are
    removed; other files in DIR stay.

    Exit status 4 if the study has no result.

    \b
    Examples:
      portbench publish study -o site
      portbench publish study -o site --url https://example.org/portbench/
      portbench publish study api/study -o site
    """
    with studies_of(paths) as studies, ExitStack() as stack:
        connections = []
        for study in studies:
            stack.enter_context(reading(study.tables))
            connections.append(stack.enter_context(connect()))
            create_views(connections[-1], study.tables)
            analyse(connections[-1], strict_placement)
        written = publish(connections, out, title, url)
    what = f"{pluralize(written.functions, 'function')} on {pluralize(written.targets, 'target')}"
    files = f"{pluralize(written.files, 'file')}, {written.changed:,} of them changed"
    click.echo(f"wrote {shown(out / 'index.html')}: {what}, {files}")

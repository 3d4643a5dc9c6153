"""Hooks of MkDocs: add pages that lie outside docs/, and lead their links to where the pages are in the site.

The README of the repository is the home page, the READMEs of the folders are the pages for contributors. In the
repository their links lead to files; here a link to a page of the site leads to that page, a link to any other file of
the repository becomes plain text, and a link to a file that does not exist is a warning, which ``--strict`` turns into
an error.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "build" / "docs" / "cli"
FOLDERS = ("images", "manifests", "runners", "schema", "scripts", "tests")
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "CHANGELOG.md": "reference/changelog.md",
    "images/pins.md": "reference/pins.md",
    "manifests/top20.md": "reference/top20.md",
    **{f"{name}/README.md": f"contributing/{name}.md" for name in FOLDERS},
}
"""Where in the site a file of the repository is a page."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_IMAGE = re.compile(r"(!\[[^\]]*\]\()([^)\s]+)(\))")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_log = logging.getLogger("mkdocs.hooks.links")


def on_config(config: Any) -> Any:
    """Lists the pages of the commands in the navigation."""
    names = sorted(path.stem for path in COMMANDS.glob("*.md") if path.stem != "index")
    pages = [{"Overview and exit status": "cli/index.md"}, *({name: f"cli/{name}.md"} for name in names)]
    for section in config.nav:
        if "Commands" in section:
            section["Commands"] = pages
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that lie elsewhere."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for path in COMMANDS.glob("*.md"):
        files.append(File.generated(config, f"cli/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leads the links of a page to where they lead in the site."""
    if page.file.src_uri.startswith("cli/"):
        return markdown
    source = next((path for path, each in PAGES.items() if each == page.file.src_uri), f"docs/{page.file.src_uri}")
    folder, here = posixpath.dirname(source), posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        text, address = found[1], found[2]
        if re.match(r"[a-z]+:|#", address):
            return found[0]
        target, mark, anchor = address.partition("#")
        path = posixpath.normpath(posixpath.join(folder, target))
        if not (ROOT / path).exists() and not path.startswith("docs/cli/"):
            _log.warning("%s: the link %s leads to no file", source, address)
        in_site = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        return f"[{text}]({posixpath.relpath(in_site, here or '.')}{mark}{anchor})" if in_site else text

    def image(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[2]))
        return f"{found[1]}{posixpath.relpath(path.removeprefix('docs/'), here or '.')}{found[3]}"

    parts = _CODE.split(_protected_links(markdown))
    return "".join(
        part if number % 2 else _IMAGE.sub(image, _LINK.sub(link, part)) for number, part in enumerate(parts)
    )


def _protected_links(markdown: str) -> str:
    """Code in the text of a link would split it: there the backticks go, since no link needs them."""
    return re.sub(r"\[`([^`\]]+)`\]\(", r"[\1](", markdown)

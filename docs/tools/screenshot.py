"""Takes a picture of a report's page or of a page of a site, for the README and the manual.

    .venv/bin/python docs/tools/screenshot.py report/index.html docs/images/page.png [--size 1280x860] [--hash STATE]

Needs Chromium. The picture has 256 colours, to be small.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--size", default="1280x860", metavar="WIDTHxHEIGHT")
    parser.add_argument("--hash", default="", metavar="STATE", help="what follows # in the page's address: its filters")
    parser.add_argument("--dark", action="store_true", help="as in a browser that asks for dark colours")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    picture = taken(f"{options.page.resolve().as_uri()}#{options.hash}", width, height, is_dark=options.dark)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    picture.save(options.picture, optimize=True)
    print(f"{options.picture}: {options.picture.stat().st_size // 1000} kB")


def taken(address: str, width: int, height: int, *, is_dark: bool = False) -> Image.Image:
    """The page at this address in a window of this size, in 256 colours. Raises playwright's Error."""
    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if is_dark else "light")
        tab.goto(address)
        tab.wait_for_timeout(2000)
        data = tab.screenshot()
        browser.close()
    return Image.open(io.BytesIO(data)).convert("RGB").quantize(256)


if __name__ == "__main__":
    main()

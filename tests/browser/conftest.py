"""Pages of studies, and a Chromium to look at them: Debian's, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portbench.page import write as pages
from portbench.page.overview import Overview
from portbench.study.merge import merge
from portbench.study.store import connect, create_views
from portbench.study.summary import analyse, runs_of, summarise
from tests.browser import studies

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
_OVERVIEW = Overview(
    tuple(f"Sentence {number}" for number in range(10)),
    [Path(name) for name in ("report.md", "figures/statuses.svg", "figures/statuses.png")],
)
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in this hook, too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs a browser. Those that look at the same page are in one group, so that one process
    makes it."""
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker("browser")
            for page in {"small", "nothing", "predicted", "hostile", "large"}.intersection(item.fixturenames):
                item.add_marker(pytest.mark.xdist_group(f"page {page}"))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium here: apt-get install chromium"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A container's root cannot have the sandbox; the pages are our own.
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def _page_of(documents: list[studies.Document], folder: Path) -> Path:
    study = merge([str(studies.write_runs(documents, folder / "runs"))], folder / "study").study
    with connect() as connection:
        create_views(connection, study.tables)
        analyse(connection)
        summary = summarise(connection, runs_of(study.summary), study.tables.name)
        pages.write(connection, summary, folder / "index.html", overview=_OVERVIEW)
    return folder / "index.html"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a study with every outcome and category."""
    return _page_of(studies.every_outcome(), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a study of which nothing ran."""
    return _page_of(studies.nothing_ran(), tmp_path_factory.mktemp("nothing"))


@pytest.fixture(scope="session")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a study with a target that was measured and two that were only predicted."""
    return _page_of(studies.predicted(), tmp_path_factory.mktemp("predicted"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a study whose texts try to break out."""
    return _page_of(studies.hostile(), tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 6,000 functions on 20 targets."""
    folder = tmp_path_factory.mktemp("large")
    studies.large(folder, functions=6000, targets=20)
    with connect() as connection:
        create_views(connection, folder)
        analyse(connection)
        pages.write(connection, {"strict_placement": False, "classification": None}, folder / "index.html")
    return folder / "index.html"


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page and waits until it is shown. At the end nothing may have gone wrong on it, nor asked for anything,
    unless the test attacked it."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def open_page(
        path: Path, address: str = "", width: int = 1400, height: int = 850, is_attacked: bool = False, **options: Any
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        if not is_attacked:
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda message: message.type in ("error", "warning") and wrong.append(message.text))
            page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or wrong.append(request.url))
        page.goto(f"{path.as_uri()}{address}")
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def screenshot() -> Callable[[Any, str], None]:
    """Keeps what a page looks like in build/screenshots."""

    def keep(page: Any, name: str) -> None:
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.screenshot(path=SCREENSHOTS / f"{name}.png")

    return keep

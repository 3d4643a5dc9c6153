"""A published site in a browser: from disk, search and filters, ages, phone, and what it must withstand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from portbench.site.write import publish
from portbench.study.merge import merge
from portbench.study.store import connect, create_views
from portbench.study.summary import analyse
from tests.browser import studies

Look = Callable[..., Any]
Keep = Callable[[Any, str], None]


def _site_of(documents: list[studies.Document], folder: Path) -> Path:
    study = merge([str(studies.write_runs(documents, folder / "runs"))], folder / "study").study
    with connect() as connection:
        create_views(connection, study.tables)
        analyse(connection)
        publish([connection], folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a study with every outcome, measured and predicted."""
    documents = [*studies.every_outcome(), *studies.predicted()[1:]]
    return _site_of(documents, tmp_path_factory.mktemp("site"))


def names(page: Any) -> list[str]:
    return page.locator("#grid tbody th").all_inner_texts()


def test_the_index_filters_and_keeps_the_view_in_its_address(site: Path, look: Look, screenshot: Keep) -> None:
    page = look(site / "index.html")
    screenshot(page, "site-index")
    page.fill("#text", "fails mem")
    expect(page.locator("#count")).to_have_text("1 of 44 functions on 3 targets")
    assert names(page) == ["torch.fails.memory"]
    page.fill("#text", "")
    page.select_option("#filter-status", "all_fail")
    page.select_option("#filter-category", "timeout")
    expect(page.locator("#count")).to_contain_text("1 of 44 functions")
    assert names(page) == ["torch.hangs"]
    assert page.locator("#grid td.hit").count() == 1
    address = page.evaluate("location.hash")
    assert names(look(site / "index.html", address)) == names(page)
    page.click("button[type=reset]")
    expect(page.locator("#count")).to_contain_text("44 of 44 functions")


def test_a_row_leads_to_the_page_of_its_function_and_back(site: Path, look: Look) -> None:
    page = look(site / "index.html")
    page.fill("#text", "torch.partly")
    page.click("#grid tbody th a")
    page.wait_for_selector("body[data-ready]")
    assert page.locator("h1").inner_text() == "torch.partly"
    assert page.locator("td.age").first.inner_text().startswith("2026-11-21")
    page.locator(".cause .command button").first.click()
    expect(page.locator(".cause .command button").first).to_have_text("Copied")
    page.click("text=PyTorch >> nth=0")
    assert page.locator("h1").inner_text() == "PyTorch"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["index.html", "torch/index.html", "torch/torch.partly/index.html", "torch/torch.sort/index.html"]
)
def test_no_page_is_wider_than_a_phone(site: Path, look: Look, screenshot: Keep, name: str, scheme: str) -> None:
    page = look(site / name, width=390, height=844, color_scheme=scheme)
    screenshot(page, f"site-phone-{scheme}-{name.replace('/', '-').removesuffix('.html')}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_hostile_text_does_nothing(look: Look, tmp_path: Path) -> None:
    site = _site_of(studies.hostile(), tmp_path)
    for path in site.rglob("*.html"):
        page = look(path, is_attacked=True)
        if path.parent == site:
            page.fill("#text", "torch")
            expect(page.locator("#count")).to_contain_text("4 of 5")
        assert page.title() != "broken"
        assert page.locator("img[src=x]").count() == 0

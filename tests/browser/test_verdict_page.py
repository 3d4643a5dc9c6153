"""The page of a verdict in a browser: it fits, leads to each target, and asks for nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portbench.record.verdict import judge
from portbench.record.write import write_verdict
from portbench.util.repository import find_checkout
from tests.unit.host.record.recordings import (
    failed,
    recorded_manifest,
    recorded_test,
    replayed,
    run_of,
    write_recording,
    write_run,
)

NAME = "torch.nn.functional.a_function_with_a_rather_long_name"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdict")
    site = "transformers/models/bert/modeling_bert_with_a_long_name.py:1123 from src/train.py:77"
    functions = {NAME: [recorded_test("t", 3, 1.0, site)], "torch.cat": [recorded_test("t", 9, 2.0)]}
    recording = write_recording(folder / "rec", recorded_manifest(functions))
    message = "it_is_not_implemented_" * 20
    write_run(recording, run_of(recording, [replayed("torch.cat", "t"), failed(NAME, "t", message)]), "xla.json")
    good = run_of(recording, [replayed(name, "t") for name in functions], "torch-2.9.0-gpu")
    write_run(recording, good, "gpu.json")
    return write_verdict(judge(recording, [recording / "results"], find_checkout()), folder / "out")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_fits_and_asks_for_nothing(
    browser: Any, page: Path, screenshot: Callable[[Any, str], None], width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme)
    try:
        opened = context.new_page()
        wrong: list[str] = []
        opened.on("console", lambda message: wrong.append(message.text))
        opened.on("request", lambda request: request.url.startswith("file:") or wrong.append(request.url))
        opened.goto(page.as_uri())
        assert opened.evaluate("document.documentElement.scrollWidth") == width
        assert opened.locator(".card b").all_inner_texts() == ["torch-2.9.0-gpu", "torch-2.9.0-xla"]
        opened.click(".card >> nth=1")
        section = opened.locator(opened.url[opened.url.index("#") :])
        assert section.locator("tbody .function").all_inner_texts() == [NAME]
        assert section.locator("tbody .chip").inner_text() == "refused"
        screenshot(opened, f"verdict-{width}-{scheme}")
        assert wrong == []
    finally:
        context.close()

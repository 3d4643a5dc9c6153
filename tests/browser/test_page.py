"""The page of a study in a browser: filter, sort, detail, compare, download, keyboard; and what it must withstand."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from portbench.cli import cli
from portbench.compare.comparison import compare
from tests.browser.studies import HOSTILE, HOSTILE_NAMES, write_counts, write_runs
from tests.unit.host.conftest import Document, result_document, run_document

Look = Callable[..., Any]
Keep = Callable[[Any, str], None]

TPU = "torch-2.9.0-tpu"
FAILS = [f"torch.fails.{name}" for name in ("memory", "not_implemented", "other", "precision", "type")]


def names(page: Any, grid: str = "matrix") -> list[str]:
    """The functions that are shown, from the top."""
    return page.locator(f"#{grid} .tabulator-row .name").all_inner_texts()


def cell(page: Any, function: str, target: str = TPU) -> Any:
    return page.locator(f'#matrix [aria-label^="{function} on {target}:"]')


def page_key(page: Any, name: str) -> str:
    """The key of the only target of this name in the address."""
    options = page.locator("#first option").evaluate_all("options => options.map((option) => option.value)")
    (key,) = (option for option in options if option.startswith(f"{name}@"))
    return str(key)


def tick(page: Any, kind: str, *values: str) -> None:
    page.click(f'[data-kind="{kind}"] > summary')
    for value in values:
        page.click(f'[data-kind="{kind}"] input[value="{value}"]')
    page.keyboard.press("Escape")


def downloaded(page: Any, path: Path) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(path)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_page_opens_on_a_summary(small: Path, look: Look) -> None:
    page = look(small, width=1440, height=900)
    sentences = page.locator("#findings li").all_text_contents()
    assert sentences == [f"Sentence {number}" for number in range(8)]
    assert page.locator("#findings li:visible").count() == 5
    assert page.locator("#cards h2").all_inner_texts() == ["PyTorch", "JAX"]
    tpu = page.locator("#cards .card", has_text="TPU")
    assert [line for line in tpu.inner_text().splitlines() if "pass" in line] == ["27 of 37 pass"]
    assert tpu.get_attribute("title").startswith("Measured, PyTorch 2.9.0, TPU")
    assert page.locator("#files a").first.get_attribute("href") == "report.md"
    page.click("#files summary")
    assert page.locator("#files li a:visible").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    ) == [
        "figures/statuses.svg",
        "figures/statuses.png",
    ]


def test_a_card_leads_to_its_target(small: Path, look: Look) -> None:
    page = look(small)
    page.locator("#cards .card", has_text="TPU").click()
    assert page.locator("#matrix .tabulator-col:visible .sort b").all_inner_texts() == [
        "Function",
        "Uses",
        "TPU AMD EPYC 7B13",
    ]
    expect(page.locator("#toolbar")).to_be_in_viewport()
    assert page.locator("body.docked").count() == 1


def test_the_grid_uses_the_width_of_the_screen_and_a_mark_has_a_tooltip(small: Path, look: Look) -> None:
    page = look(small, width=1440)
    widths = page.locator("#matrix .tabulator-headers > .tabulator-col").evaluate_all(
        "columns => columns.map((column) => column.getBoundingClientRect().right)"
    )
    assert max(widths) == pytest.approx(1440, abs=20)
    mark = cell(page, "torch.on_host").locator(".mark")
    assert mark.get_attribute("title") == "on the host: a test passed, but its work was done on the host"
    page.hover('#matrix [aria-label^="torch.mixed_up on torch-2.9.0-tpu:"]')
    assert "partly on the host" in cell(page, "torch.mixed_up").get_attribute("title")


def test_each_status_and_mark_has_its_sign(small: Path, look: Look, screenshot: Keep) -> None:
    page = look(small)
    screenshot(page, "matrix-light")
    said = {
        "torch.fails.type": "all tests fail, 0 of 1 test passed (type)",
        "torch.fails.not_implemented": "all tests fail, 0 of 1 test passed (not implemented)",
        "torch.fails.memory": "all tests fail, 0 of 1 test passed (memory)",
        "torch.fails.precision": "all tests fail, 0 of 1 test passed (precision)",
        "torch.fails.other": "all tests fail, 0 of 1 test passed (other)",
        "torch.dies": "all tests fail, 0 of 1 test passed (crash)",
        "torch.hangs": "all tests fail, 0 of 1 test passed (timeout)",
        "torch.gone": "not testable (removed)",
        "torch.flaky": "some fail, 0 of 1 test passed (crash, flaky)",
        "torch.partly": "some fail, 1 of 2 tests passed (memory)",
        "torch.mixed_up": "all tests pass, 1 of 1 test passed (partly on the host)",
        "torch.on_host": "all tests pass, 1 of 1 test passed (on the host)",
        "torch.again": "all tests pass, 1 of 1 test passed (failed after others)",
        "torch.dot": "not run",
    }
    for function, words in said.items():
        assert cell(page, function).get_attribute("aria-label") == f"{function} on {TPU}: {words}"
    page.fill("#text", "wrong")
    assert cell(page, "torch.wrong").get_attribute("aria-label").endswith("(other, wrong values)")
    assert cell(page, "torch.wrong").inner_text() == "◐other≠"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_predicted_targets_have_a_look_of_their_own(predicted: Path, look: Look, screenshot: Keep, scheme: str) -> None:
    page = look(predicted, color_scheme=scheme)
    screenshot(page, f"predicted-{scheme}")
    on_v3 = cell(page, "torch.dot", "torch-2.9.0-tpu-v3 (predicted)")
    assert on_v3.get_attribute("aria-label").endswith("(predicted): all tests pass, 1 of 1 test accepted")
    pattern = "element => getComputedStyle(element).backgroundImage"
    assert "gradient" in on_v3.evaluate(pattern)
    assert cell(page, "torch.dot", "torch-2.9.0-tpu").evaluate(pattern) == "none"
    assert on_v3.locator(".chip.predicted").count() == 1
    headers = page.locator("#matrix .sort").all_inner_texts()
    assert [text.upper().count("PREDICTED") for text in headers if "PyTorch" in text] == [0, 1, 1]
    expect(page.locator("#legend")).to_contain_text("predicted, nothing ran")


def test_predicted_targets_can_be_filtered_and_are_shown_in_full(predicted: Path, look: Look, tmp_path: Path) -> None:
    page = look(predicted)
    assert names(page) == ["torch.dot", "torch.sort", "torch.unique"]
    tick(page, "evidence", "measured")
    assert page.locator("#matrix .tabulator-col:visible .sort.predicted").count() == 0
    tick(page, "evidence", "measured", "predicted")
    assert {row["evidence"] for row in downloaded(page, tmp_path / "shown.csv")} == {"predicted"}
    cell(page, "torch.dot", "torch-2.9.0-tpu-v3 (predicted)").click()
    detail = page.locator("#detail")
    for text in (
        "Predicted: no such device was there, and nothing ran",
        "52.0 ms to compile on this host, 4,096 FLOPs, 32.0 KiB moved, 64.0 KiB of memory",
        "1.25 µs (roofline: a lower bound, not measured)",
        "predicted: passed in run 1",
    ):
        expect(detail).to_contain_text(text)
    cell(page, "torch.sort", "torch-2.9.0-tpu-v3 (predicted)").click()
    expect(detail).to_contain_text("refused: UNIMPLEMENTED: X64")


def test_a_comparison_with_a_prediction_says_so(predicted: Path, look: Look) -> None:
    measured = page_key(look(predicted), "torch-2.9.0-tpu")
    page = look(predicted, f"#view=compare&first={measured}&second=torch-2.9.0-tpu-v3 (predicted)@box")
    expect(page.locator("#compare-summary")).to_contain_text(
        "torch-2.9.0-tpu-v3 (predicted) on box: nothing ran there."
    )


def test_a_study_without_predictions_does_not_mention_them(small: Path, look: Look) -> None:
    page = look(small)
    assert page.locator('[data-kind="evidence"]').count() == 0
    assert "predicted" not in page.inner_text("#legend")
    assert "predicted" not in page.inner_text("#matrix").lower()


def test_filters_are_kept_in_the_address(small: Path, look: Look) -> None:
    page = look(small)
    assert len(names(page)) > 10
    page.fill("#text", "FAILS torch")
    assert names(page) == [
        f"torch.fails.{name}" for name in ("memory", "not_implemented", "other", "precision", "type")
    ]
    tick(page, "category", "type", "memory")
    assert names(page) == ["torch.fails.memory", "torch.fails.type"]
    again = look(small, page.evaluate("location.hash"))
    assert names(again) == ["torch.fails.memory", "torch.fails.type"]
    assert again.input_value("#text") == "FAILS torch"
    again.click("#reset")
    assert len(names(again)) > 10
    assert again.evaluate("location.hash") == ""


def test_filters_of_targets_hide_columns_and_rows(small: Path, look: Look) -> None:
    page = look(small)
    tick(page, "framework", "jax")
    assert names(page) == ["jax.numpy.sort"]
    assert page.locator("#matrix .tabulator-col:visible .sort b").all_inner_texts() == ["Function", "Uses", "CPU"]
    tick(page, "framework", "jax", "torch")
    tick(page, "device", "gpu")
    tick(page, "status", "all_fail")
    # Fails on the TPU too, but that is not shown.
    assert names(page) == ["torch.dies"]


def test_marks_filter(small: Path, look: Look) -> None:
    page = look(small)
    tick(page, "marks", "host", "mixed")
    assert names(page) == ["torch.mixed_up", "torch.on_host"]
    page.fill("#text", "nothing of this name")
    assert names(page) == []
    assert "No function fits" in page.inner_text("#matrix")


def test_strata_are_shown_sorted_and_filtered(small: Path, look: Look) -> None:
    page = look(small)
    page.locator("#matrix .sort", has_text="Uses").click()
    page.locator("#matrix .sort", has_text="Uses").click()
    assert names(page)[0] == "torch.never"
    page.locator("#matrix .tabulator-row .uses").first.click()
    page.wait_for_selector("#detail h2")
    expect(page.locator("#detail")).to_contain_text("1,234 uses in the corpus, decile 10")
    expect(page.locator("#detail")).to_contain_text("nothing of it was run on this target")
    page.keyboard.press("Escape")
    tick(page, "decile", "top20")
    assert names(page) == ["torch.dies", "torch.again"]


def test_sorting_by_a_target(small: Path, look: Look) -> None:
    page = look(small)
    tpu = page.locator("#matrix .sort", has_text="tpu")
    tpu.click()
    worst = names(page)[:7]
    assert set(worst) == {
        f"torch.{name}"
        for name in (
            "dies",
            "hangs",
            *(f"fails.{c}" for c in ("memory", "not_implemented", "other", "precision", "type")),
        )
    }
    page.select_option("#show", "cold")
    tpu.click()
    assert names(page)[0] == "torch.works_23"
    again = look(small, page.evaluate("location.hash"))
    assert names(again)[0] == "torch.works_23"
    assert again.locator("#matrix .tabulator-col[aria-sort=descending]").count() == 1


def test_one_click_leads_to_the_cause(small: Path, look: Look, screenshot: Keep) -> None:
    page = look(small)
    cell(page, "torch.fails.memory").click()
    detail = page.locator("#detail")
    detail.locator(".evidence").wait_for()
    screenshot(page, "detail-light")
    said = detail.inner_text()
    for part in (
        "failed in runs 1, 2, 3",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "runners/torch/failure_rules.json, rule 4: ",
        "fingerprint\n",
        "on the CPU\npassed",
        "portbench run torch-2.9.0-tpu --manifest",
    ):
        assert part in said
    detail.locator("summary", has_text="3 lines").click()
    assert 'File "call.py", line 8' in detail.inner_text()
    detail.locator("summary", has_text="Environment").click()
    assert "AMD EPYC 7B13" in detail.inner_text()
    page.keyboard.press("Escape")
    assert detail.is_hidden()
    expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile(f"^torch.fails.memory on {TPU}"))


def test_the_detail_of_a_flaky_test_and_of_one_that_ran_again(small: Path, look: Look) -> None:
    page = look(small)
    cell(page, "torch.flaky").click()
    page.wait_for_selector(".evidence")
    said = page.inner_text("#detail")
    assert "crashed in run 3" in said and "passed in runs 1, 2" in said
    page.keyboard.press("Escape")
    cell(page, "torch.again").click()
    page.wait_for_selector(".evidence")
    assert "after others\ncrashed: ended by SIGSEGV" in page.inner_text("#detail")


def test_samples_are_plotted(small: Path, look: Look, screenshot: Keep) -> None:
    page = look(small, f"#function=torch.works_3&target={TPU}@tpu-vm", color_scheme="dark")
    page.wait_for_selector(".samples canvas")
    assert "3 first calls, 36 steady-state samples" in page.inner_text("#detail")
    screenshot(page, "samples-dark")
    # Something is drawn in the colours of both kinds.
    drawn = page.evaluate(
        """() => {
          const canvas = document.querySelector(".samples canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const near = (...wanted) => {
            let found = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i + 3] > 200 && wanted.every((value, at) => Math.abs(data[i + at] - value) < 5)) found += 1;
            return found;
          };
          return [near(0x56, 0xb4, 0xe9), near(0xe6, 0x9f, 0x00)];
        }"""
    )
    assert all(pixels > 20 for pixels in drawn)


def test_choices_that_come_while_a_view_is_made_are_shown_in_order(small: Path, look: Look) -> None:
    page = look(small)
    page.evaluate(
        """([first, second]) => {
            document.querySelector('nav [data-view="compare"]').click();
            for (const [id, value] of [["first", first], ["second", second]]) {
                const choice = document.getElementById(id);
                choice.value = value;
                choice.dispatchEvent(new Event("change"));
            }
        }""",
        [page_key(page, "torch-2.9.0-gpu"), page_key(page, "torch-2.9.0-tpu")],
    )
    expect(page.locator("#comparison .tabulator-row")).not_to_have_count(0)
    expect(page.locator("#compare-summary")).to_contain_text("24 functions timed on both")
    expect(page.locator("#problem")).to_be_hidden()


def test_comparison_of_two_targets(small: Path, look: Look, screenshot: Keep, tmp_path: Path) -> None:
    page = look(small)
    page.click('nav [data-view="compare"]')
    page.select_option("#first", label="torch-2.9.0-gpu on gpu-box")
    page.select_option("#second", label="torch-2.9.0-tpu on tpu-vm")
    page.wait_for_selector("#comparison .tabulator-row")
    page.wait_for_selector("#scatter canvas")
    screenshot(page, "compare-light")
    assert "24 functions timed on both" in page.inner_text("#compare-summary")
    page.click('[data-change="newly failing"]')
    expect(page.locator("#comparison .tabulator-row")).to_have_count(5)
    assert names(page, "comparison") == [
        f"torch.fails.{name}" for name in ("memory", "not_implemented", "other", "precision", "type")
    ]
    page.click('[data-change="newly failing"]')
    page.click('[data-change="intolerably slower"]')
    expect(page.locator("#comparison .tabulator-row")).to_have_count(10)
    rows = downloaded(page, tmp_path / "comparison.csv")
    assert len(rows) == 10
    # Means of first calls over three runs: 0.5 * 1.4^23 against 1 + 23 / 4, of 9 ms each and 0.2 ms of wait.
    runs = [1 + run / 10 for run in (1, 2, 3)]
    first, second = (sum(int(ms * 9e6 * run) + 200_000 for run in runs) / 3 for ms in (1 + 23 / 4, 0.5 * 1.4**23))
    slowest = max(rows, key=lambda row: float(row["ratio"]))
    assert slowest["function"] == "torch.works_23"
    assert float(slowest["first_ns"]) == pytest.approx(first, rel=1e-6)
    assert float(slowest["ratio"]) == pytest.approx(second / first, rel=1e-6)
    page.select_option("#method", "robust")
    expect(page.locator("#compare-summary")).to_contain_text("robust: median")
    robust = max(downloaded(page, tmp_path / "robust.csv"), key=lambda row: float(row["ratio"]))
    assert float(robust["ratio"]) == pytest.approx(0.5 * 1.4**23 / (1 + 23 / 4), rel=1e-4)


def test_compare_opens_on_a_comparable_pair_with_changes_first_and_the_verdicts_of_compare(
    small: Path, look: Look
) -> None:
    page = look(small, "#view=compare")
    page.wait_for_selector("#comparison .tabulator-row")
    assert [page.input_value(f"#{side}") for side in ("first", "second")] == [
        "torch-2.9.0-gpu@gpu-box",
        f"{TPU}@tpu-vm",
    ]
    found = compare(f"{TPU.removesuffix('tpu')}gpu", TPU, str(small.parent / "study")).pairs[0]
    said = page.inner_text("#verdicts")
    assert len(found.outcomes.not_run) == 6
    assert f"Outcomes of {found.outcomes.compared} tests: 6 not run now." in said
    for times in (found.cold, found.steady):
        verdicts = ("slower", "faster", "unclear", "similar")
        counts = [f"{len(times.found(name))} {name}" for name in verdicts if times.found(name)]
        assert f"over {len(times.tests)} tests: {', '.join(counts)}." in said
    changes = page.locator('#comparison .tabulator-row [tabulator-field="changes"]').all_inner_texts()
    assert changes[0].startswith("newly failing")
    page.click("#swap")
    expect(page.locator("#verdicts")).to_contain_text("No verdicts of portbench compare.")


def test_a_point_of_the_scatter_shows_its_function(small: Path, look: Look) -> None:
    page = look(small, f"#view=compare&first=torch-2.9.0-gpu@gpu-box&second={TPU}@tpu-vm&text=works_23")
    over = page.locator("#scatter .u-over").bounding_box()
    # One point alone, somewhere: walk over the plot until it is met.
    for x in range(4, int(over["width"]), 12):
        for y in range(4, int(over["height"]), 12):
            page.mouse.move(over["x"] + x, over["y"] + y)
            if "torch.works_23" in page.inner_text("#scatter-caption"):
                page.mouse.click(over["x"] + x, over["y"] + y)
                page.wait_for_selector(".evidence")
                assert "torch.works_23" in page.inner_text("#detail-title")
                return
    raise AssertionError("no place of the plot shows the function")


def test_targets_of_two_frameworks_have_nothing_in_common(small: Path, look: Look) -> None:
    page = look(small, f"#view=compare&first=jax-0.4.13-cpu@box&second={TPU}@tpu-vm")
    assert "different frameworks" in page.inner_text("#compare-summary")
    assert page.locator("#scatter-figure").is_hidden()


def test_download_of_what_is_shown(small: Path, look: Look, tmp_path: Path) -> None:
    page = look(small)
    page.fill("#text", "torch.partly")
    tick(page, "device", "tpu")
    (row,) = downloaded(page, tmp_path / "functions.csv")
    expected = {
        "function": "torch.partly",
        "device": "tpu",
        "machine": "tpu-vm",
        "status": "some_fail",
        "tests_passed": "1",
        "tests_ran": "2",
    }
    assert {name: row[name] for name in expected} == expected
    assert (row["categories"], row["marks"]) == ("memory", "")
    assert float(row["cold_mean_ns"]) == 1_500_000


def test_the_keyboard_does_it_all(small: Path, look: Look, screenshot: Keep) -> None:
    page = look(small)
    focused = page.locator(":focus")
    page.focus("#download")
    for _ in range(12):
        page.keyboard.press("Tab")
        if focused.evaluate("(element) => element.classList.contains('tabulator-cell')"):
            break
    expect(focused).to_have_attribute("aria-label", "torch.again")
    for key in ("ArrowDown", "End"):
        page.keyboard.press(key)
    expect(focused).to_have_attribute("aria-label", re.compile("^torch.dies on torch-2.9.0-cpu"))
    page.keyboard.press("ArrowLeft")
    expect(focused).to_have_attribute("aria-label", re.compile(f"^torch.dies on {TPU}"))
    page.keyboard.press("Control+End")
    expect(focused).to_have_attribute("aria-label", re.compile("^jax.numpy.sort on jax-0.4.13-cpu"))
    expect(focused).to_be_in_viewport()
    expect(focused).to_have_css("outline-style", "solid")
    screenshot(page, "keyboard")
    page.keyboard.press("Enter")
    page.wait_for_selector(".evidence")
    expect(focused).to_have_text("jax.numpy.sort")
    page.keyboard.press("Escape")
    expect(focused).to_have_attribute("aria-label", re.compile("^jax.numpy.sort on jax-0.4.13-cpu"))
    page.locator("#matrix .sort", has_text="tpu").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#matrix .tabulator-col[aria-sort=ascending]")).to_contain_text("TPU")


def test_back_leads_out_of_the_detail(small: Path, look: Look) -> None:
    page = look(small)
    cell(page, "torch.dies").click()
    page.wait_for_selector(".evidence")
    page.go_back()
    page.wait_for_selector("#detail", state="hidden")
    page.go_forward()
    page.wait_for_selector(".evidence")
    assert "torch.dies" in page.inner_text("#detail-title")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_no_more_than_its_width(small: Path, look: Look, screenshot: Keep, scheme: str) -> None:
    page = look(small, width=390, height=844, color_scheme=scheme, has_touch=True, is_mobile=True)
    screenshot(page, f"phone-{scheme}")
    for view in ("matrix", "compare", "about"):
        page.click(f'nav [data-view="{view}"]')
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click('nav [data-view="matrix"]')
    page.locator("#matrix .tabulator-row .name", has_text="torch.dies").tap()
    page.wait_for_selector(".evidence")
    box = page.locator("#detail").bounding_box()
    assert (box["x"], box["width"]) == (0, 390)
    screenshot(page, f"phone-detail-{scheme}")
    page.click("#detail .close")
    assert page.locator("#detail").is_hidden()
    page.click("#more")
    assert page.locator("#filters").is_visible()


def test_dark_mode(small: Path, look: Look, screenshot: Keep) -> None:
    page = look(small, color_scheme="dark")
    screenshot(page, "matrix-dark")
    page.click('nav [data-view="compare"]')
    page.wait_for_selector("#scatter canvas")
    screenshot(page, "compare-dark")
    channels = page.evaluate("getComputedStyle(document.querySelector('#comparison .tabulator-row')).backgroundColor")
    assert all(int(number) < 64 for number in channels.removeprefix("rgb(").removesuffix(")").split(","))


def test_where_nothing_ran_the_page_says_so(nothing: Path, look: Look, screenshot: Keep) -> None:
    page = look(nothing)
    screenshot(page, "nothing-ran")
    assert names(page) == ["torch.cat", "torch.dot"]
    assert "nothing ran" in page.inner_text("#matrix .tabulator-header")
    page.locator("#matrix .tabulator-row .cell").first.click()
    page.wait_for_selector(".evidence")
    assert "torch.cat is not in this version" in page.inner_text("#detail")


def test_hostile_text_stays_text(hostile: Path, look: Look, screenshot: Keep, tmp_path: Path) -> None:
    page = look(hostile)
    screenshot(page, "hostile")
    first = page.locator("#matrix .tabulator-row .name", has_text="torch.</script>")
    assert first.inner_text() == HOSTILE_NAMES[0]
    for row in range(5):
        page.locator("#matrix .tabulator-row .name").nth(row).click()
        page.wait_for_selector(".evidence")
        page.evaluate("document.querySelectorAll('#detail details').forEach((one) => { one.open = true; })")
        page.keyboard.press("Escape")
    page.click('nav [data-view="about"]')
    assert page.title() == "portbench: portability of functions"
    assert page.locator("img").count() == 0
    assert page.locator("script:not([id])").count() == 3
    assert "\x1b" not in page.inner_text("body") and "\u202e" not in page.inner_text("body")
    page.click('nav [data-view="matrix"]')
    rows = downloaded(page, tmp_path / "hostile.csv")
    assert {row["function"] for row in rows} == {f"'{name}" if name[0] == "=" else name for name in HOSTILE_NAMES}


def test_the_command_is_one_for_a_shell(hostile: Path, look: Look) -> None:
    page = look(hostile)
    page.locator("#matrix .tabulator-row .name", has_text="torch.</script>").click()
    page.wait_for_selector(".evidence")
    words = shlex.split(page.inner_text("#detail .command"))
    assert words[words.index("--function") + 1] == HOSTILE_NAMES[0]
    assert words[words.index("--test") + 1] == "rows[dtype=complex64]"


def test_the_policy_forbids_every_connection_and_foreign_script(small: Path, look: Look) -> None:
    page = look(small, is_attacked=True)
    refused = page.evaluate(
        """async () => {
          const refused = [];
          addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
          const image = new Image();
          image.src = "https://example.invalid/x.png";
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(image, script);
          await fetch("https://example.invalid/").catch(() => {});
          while (refused.length < 3) await new Promise((done) => requestAnimationFrame(done));
          return refused.sort();
        }"""
    )
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert page.evaluate("window.ran") is None


def test_an_address_that_nobody_made_does_no_harm(small: Path, look: Look) -> None:
    page = look(
        small, "#view=nowhere&show=what&sort=x:asc&status=no&first=a&second=b&function=none&target=none&decile=99"
    )
    assert names(page) == []
    page.click("#reset")
    assert len(names(page)) > 10


@pytest.mark.slow(minutes=1)
def test_six_thousand_functions_on_twenty_targets(
    large: Path, look: Look, screenshot: Keep, capfd: pytest.CaptureFixture[str]
) -> None:
    page = look(large)
    screenshot(page, "large")
    marks = page.evaluate(
        "['first-contentful-paint', 'portbench-shown'].map((name) => performance.getEntriesByName(name)[0].startTime)"
    )
    assert page.inner_text("#count") == "6,000 of 6,000 functions, 20 of 20 targets"
    figures = {"first paint": marks[0], "all shown": marks[1]}
    clock = page.context.new_cdp_session(page)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_ms() -> float:
        metrics = clock.send("Performance.getMetrics")["metrics"]
        return 1000 * next(float(metric["value"]) for metric in metrics if metric["name"] == "ThreadTime")

    # To the end of the layout, which is when it can be painted.
    timed = "(() => {{ const t = performance.now(); {}; document.body.offsetHeight; return performance.now() - t }})()"
    text = "const box = document.getElementById('text'); box.value = '{}'; box.dispatchEvent(new Event('input'))"
    box = "document.querySelector('[data-kind={}] input[value={}]').click()"
    steps = {
        "text": text.format("function_12"),
        "text taken back": text.format(""),
        "status": box.format("status", "all_fail"),
        "status and category": box.format("category", "memory"),
        "text too": text.format("part7"),
    }
    work = {}
    for name, step in steps.items():
        before = cpu_ms()
        figures[f"filter: {name}"] = page.evaluate(timed.format(step))
        work[name] = cpu_ms() - before
    shown = names(page)
    assert 0 < len(shown) < 162
    assert all("part7." in name for name in shown)
    page.click("#reset")
    page.click("nav [data-view=compare]")
    page.wait_for_selector("#comparison .tabulator-row")
    screenshot(page, "large-compare")
    assert page.inner_text("#count") == "6,000 functions of 6,000"
    page.click("nav [data-view=matrix]")
    page.locator("#matrix .tabulator-row .cell").nth(1).click()
    page.wait_for_selector(".evidence")
    size = large.stat().st_size / 1e6
    said = ", ".join(f"{name} {ms:.0f} ms" for name, ms in figures.items())
    own = ", ".join(f"{name} {ms:.0f} ms" for name, ms in work.items())
    with capfd.disabled():
        print(f"\n6,000 functions x 20 targets, {size:.1f} MB: {said}; work of the main thread for a filter: {own}")
    # Wanted are 2 s and 100 ms. What other processes take away does not count; a slow machine has five times as long.
    assert figures["first paint"] < 5 * 2000
    assert max(work.values()) < 5 * 100


def test_hostile_text_is_in_the_study(hostile: Path) -> None:
    """The file does not have the hostile text in readable form: the other tests look for it in the data."""
    assert HOSTILE not in hostile.read_text("utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_changes_and_the_timeline_can_be_read_on_a_phone(
    look: Look, screenshot: Keep, tmp_path: Path, scheme: str
) -> None:
    def night(day: str, outcome: str) -> Document:
        results = [result_document("torch.cat"), result_document(f"torch.{HOSTILE}", outcome=outcome)]
        return run_document(results, started_at=f"{day}T01:00:00Z", ended_at=f"{day}T02:00:00Z")

    runs = write_runs([night("2026-11-20", "passed"), night("2026-11-21", "failed")], tmp_path / "runs")
    words = ["report", str(runs), "--since", "2026-11-21", "-o", str(tmp_path / "report")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    page = look(tmp_path / "report" / "index.html", width=390, height=844, color_scheme=scheme)
    page.click("#timeline > summary")
    screenshot(page, f"page-phone-{scheme}-since")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#since").get_by_text("broke", exact=True).count() == 2
    lines = page.locator("#since thead th").evaluate_all(
        "cells => cells.map((cell) => cell.getClientRects()[0].height)"
    )
    assert max(lines) < 60
    assert page.locator("#timeline svg circle").count() == 2


def test_a_cause_leads_to_its_functions_and_to_an_example(tmp_path: Path, look: Look, screenshot: Keep) -> None:
    names_of = [f"torch.linalg.f{number}" for number in range(5)]
    results = [result_document(name, "opinfo-float32") for name in [*names_of, "torch.cat"]]
    results += [
        result_document(
            name,
            "opinfo-complex128",
            outcome="failed",
            category="type",
            error={"type": "RuntimeError", "message": f"{name} does not take it", "traceback": "", "causes": []},
        )
        for name in names_of
    ]
    runs = write_runs([run_document(results, target=TPU)], tmp_path / "runs")
    counts = write_counts(tmp_path / "counts.json", {"torch.cat": 30, "torch.linalg.f0": 10})
    made = CliRunner().invoke(cli, ["report", str(runs), "--counts", str(counts), "-o", str(tmp_path / "report")])
    assert made.exit_code == 0, made.output
    page = look(tmp_path / "report" / "index.html")
    assert "75.0 % by use" in page.locator(".card").inner_text()
    page.click("#causes summary")
    screenshot(page, "causes")
    row = page.locator("#causes tbody tr").first
    assert row.inner_text().split("\t") == ["all complex128", "type", "5", "5", "25.0", "torch.linalg.f0"]
    row.get_by_text("all complex128").click()
    assert sorted(names(page)) == names_of
    assert "cause=0%3A0" in page.url
    expect(page.locator("#cause")).to_contain_text("Cause: all complex128")
    page.click("#cause")
    assert len(names(page)) == 6
    row.get_by_text("torch.linalg.f0").click()
    expect(page.locator("#detail")).to_contain_text("torch.linalg.f0 does not take it")

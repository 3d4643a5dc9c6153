"""A published site: addresses, content, escaping, JSON, feed, badges; what is written again; what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from portbench.cli import cli
from portbench.errors import NothingRan
from portbench.formats.documents import read_document
from portbench.site.write import publish as publish_site
from portbench.study.store import connect, create_views
from portbench.study.summary import analyse
from tests.browser.studies import HOSTILE, HOSTILE_NAMES, hostile, large, nothing_ran, predicted, write_runs
from tests.unit.host.conftest import result_document, run_document, timed_call

Document = dict[str, Any]
Publish = Callable[..., Path]

ATOM = "{http://www.w3.org/2005/Atom}"
CPU_280 = "torch-2.8.0-cpu@box"
CPU_290 = "torch-2.9.0-cpu@box"


class Page(HTMLParser):
    """The elements of a page with their attributes, its text, and the headings."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.headings: list[int] = []
        self.feed(path.read_text("utf-8"))
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == tag]


def two_versions() -> list[Document]:
    """torch.cat gets slower from 2.8 to 2.9, torch.dot breaks; torch.cat also on a GPU."""
    error = {"type": "RuntimeError", "message": "out of luck <b>", "traceback": "", "causes": []}
    old = [
        result_document("torch.cat", calls=[timed_call(block_ns=(1_000_000,) * 3)]),
        result_document("torch.dot", "b"),
    ]
    new = [
        result_document("torch.cat", calls=[timed_call(block_ns=(3_000_000,) * 3)]),
        result_document("torch.dot", "b", outcome="failed", error=error, category="type"),
    ]
    return [
        run_document(old, target="torch-2.8.0-cpu", ended_at="2027-01-02T03:04:05Z"),
        run_document(new, target="torch-2.9.0-cpu", ended_at="2027-02-03T04:05:06Z"),
        run_document([result_document("torch.cat")], target="torch-2.9.0-gpu", machine="gpu-box"),
    ]


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["publish", *words], catch_exceptions=True)


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """Publishes run files to the folder ``site``; returns it."""

    def make(documents: list[Document], *words: str) -> Path:
        runs = write_runs(documents, tmp_path / f"runs-{len(list(tmp_path.iterdir()))}")
        result = run(str(runs), "-o", str(tmp_path / "site"), *words)
        assert result.exit_code == 0, result.output
        return tmp_path / "site"

    return make


def files(site: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of change of every file, without the list of them."""
    return {
        str(path.relative_to(site)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(site.rglob("*"))
        if path.is_file() and path.name != ".portbench.json"
    }


def document(site: Path, name: str) -> Any:
    return json.loads((site / "api" / "v1" / name).read_text("utf-8"))


def test_a_function_has_a_page_with_its_versions_times_causes_and_a_command(publish: Publish) -> None:
    site = publish(two_versions())
    page = Page(site / "torch" / "torch.cat" / "index.html")
    assert "All tests pass on 3 of 3 measured targets" in page.text
    versions = page.text[page.text.index("Status by device and version") : page.text.index("Trend")]
    assert versions.index("2.9.0") < versions.index("2.8.0")
    for fact in ("10 µs", "30 µs", "1.50 ms", "2027-01-02", "2027-02-03", "device"):
        assert fact in page.text
    assert len([each for each in page.all("svg") if each.get("class") == "chart"]) == 2
    failing = Page(site / "torch" / "torch.dot" / "index.html")
    assert "all tests fail: type" in failing.text
    assert "RuntimeError: out of luck <b>" in failing.text
    assert "portbench run torch-2.9.0-cpu" in failing.text
    assert "--function torch.dot --test b" in failing.text


def test_measured_and_predicted_results_are_in_tables_of_their_own(publish: Publish) -> None:
    site = publish(predicted())
    page = Page(site / "torch" / "torch.dot" / "index.html")
    measured, other = page.text.split("Predicted: versions by targets")
    assert "All tests pass on 1 of 1 measured targets. Predicted: all tests are accepted on 2 of 2" in measured
    assert "1.25 µs" in other
    assert "First call" not in other
    cells = {cell["id"]: cell for cell in document(site, "torch/torch.dot.json")["targets"]}
    assert cells["torch-2.9.0-tpu@box"]["prediction"] is None
    assert cells["torch-2.9.0-tpu-v3@box"]["evidence"] == "predicted"
    assert cells["torch-2.9.0-tpu-v3@box"]["prediction"]["roofline_ns"] == 1250


def test_the_json_fits_its_schema_and_says_what_the_pages_say(publish: Publish) -> None:
    site = publish([*two_versions(), *predicted()])
    found = sorted((site / "api").rglob("*.json"))
    assert len(found) == 1 + 1 + 4 + 6
    for path in found:
        assert read_document(path).kind == "site"
    index = document(site, "index.json")
    for target in index["targets"]:
        assert (site / target["page"]).is_file()
        assert (site / target["document"]).is_file()
    about = document(site, f"targets/{CPU_290}.json")
    assert about["former"] == CPU_280
    assert about["changes"] == [{"function": "torch.dot", "before": "all tests pass", "after": "all tests fail"}]
    assert about["about"]["all_pass_percent"] == 50
    listed = document(site, "torch/functions.json")
    places = {name: place for place, name in enumerate(listed["targets"])}
    (dot,) = (each for each in listed["functions"] if each["function"] == "torch.dot")
    assert (dot["statuses"][places[CPU_280]], dot["statuses"][places[CPU_290]]) == ("all_pass", "all_fail")
    assert dot["statuses"][places["torch-2.9.0-gpu@gpu-box"]] is None


def test_the_feed_has_what_atom_requires_and_what_changed(publish: Publish) -> None:
    site = publish(two_versions(), "--url", "https://example.org/bench", "--title", "A & B")
    root = ElementTree.parse(site / "feed.atom").getroot()
    assert root.tag == f"{ATOM}feed"
    moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    entries = root.findall(f"{ATOM}entry")
    for each in (root, *entries):
        (identity,), (title,), (updated,) = (each.findall(f"{ATOM}{name}") for name in ("id", "title", "updated"))
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", identity.text or "")
        assert title.text
        assert moment.fullmatch(updated.text or "")
        assert each.findall(f"{ATOM}link")
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    assert root.findtext(f"{ATOM}title") == "A & B"
    assert len({each.findtext(f"{ATOM}id") for each in entries}) == 3
    assert [each.findtext(f"{ATOM}updated") for each in entries] == sorted(
        (each.findtext(f"{ATOM}updated") or "" for each in entries), reverse=True
    )
    (changed,) = (each for each in entries if "2.9.0 on CPU" in (each.findtext(f"{ATOM}title") or ""))
    assert "torch.dot: all tests pass, now all tests fail" in (changed.findtext(f"{ATOM}summary") or "")
    link = changed.find(f"{ATOM}link")
    assert link is not None
    assert link.get("href") == f"https://example.org/bench/targets/{CPU_290}/index.html"


def test_badges_say_how_much_runs(publish: Publish) -> None:
    site = publish([*two_versions(), *predicted()])
    said = {
        f"badges/{CPU_290}.svg": "PyTorch runs on CPU: 50 %",
        "badges/torch-cpu.svg": "PyTorch runs on CPU: 50 %",
        "badges/torch-tpu-v5e.svg": "PyTorch predicted on TPU v5e: 50 %",
        "torch/torch.cat/badge.svg": "torch.cat: runs on 3 of 3 targets",
        "torch/torch.sort/badge.svg": "torch.sort: predicted on 0 of 2 targets",
    }
    for name, text in said.items():
        badge = ElementTree.parse(site / name).getroot()
        assert badge.findtext("{http://www.w3.org/2000/svg}title") == text


def test_every_link_leads_to_a_file_and_none_out_of_the_site(publish: Publish) -> None:
    site = publish([*two_versions(), *predicted(), *hostile()])
    pages = list(site.rglob("*.html"))
    assert len(pages) == 1 + 1 + 7 + 9
    for path in pages:
        page = Page(path)
        links = [
            (each.get("href") or each.get("src") or "") for _, each in page.elements if "href" in each or "src" in each
        ]
        for link in links:
            assert not re.match(r"[a-z]+:|/", link), link
            place = link.partition("#")[0]
            assert not place or (path.parent / place).is_file(), f"{path}: {link}"


def test_pages_are_accessible(publish: Publish) -> None:
    for path in publish([*two_versions(), *predicted()]).rglob("*.html"):
        page = Page(path)
        assert page.all("html")[0]["lang"] == "en"
        assert page.headings[0] == 1
        assert page.headings.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
        assert all("alt" in each for each in page.all("img"))
        assert all("scope" in each for each in page.all("th"))
        assert len(page.all("caption")) == len(page.all("table"))
        assert all({"aria-hidden", "aria-label"} & set(each) for each in page.all("svg"))


def test_hostile_text_stays_text(publish: Publish) -> None:
    site = publish(hostile(), "--title", HOSTILE)
    for path in site.rglob("*.html"):
        page = Page(path)
        assert all(each.get("src") or each.get("type") == "application/json" for each in page.all("script"))
        assert not [each for each in page.all("img") if each["src"] == "x"]
        assert not any(name.startswith("on") for _, each in page.elements for name in each)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", path.read_text("utf-8"))
    for path in [*site.rglob("*.svg"), site / "feed.atom"]:
        ElementTree.parse(path)
    names = {document(site, f"torch/{path.name}").get("function") for path in (site / "api/v1/torch").glob("*.json")}
    assert set(HOSTILE_NAMES) <= names


def test_a_new_run_file_rewrites_only_what_it_touches(publish: Publish) -> None:
    before = files(publish(two_versions()))
    assert files(publish(two_versions())) == before
    more = run_document([result_document("torch.dot", "b")], target="torch-2.9.0-gpu", machine="gpu-box")
    after = files(publish([*two_versions(), more]))
    changed = {name for name in after if after[name] != before.get(name)}
    assert "torch/torch.dot/index.html" in changed
    assert not [name for name in changed if "torch.cat" in name or name.startswith(("assets/", "targets/torch-2.8"))]
    assert files(publish(two_versions())).keys() == before.keys()


def test_what_is_no_longer_in_the_study_is_removed_and_other_files_stay(publish: Publish) -> None:
    site = publish(two_versions())
    (site / "CNAME").write_text("example.org")
    (site / "torch" / "torch.cat" / "mine.txt").write_text("mine")
    publish([run_document([result_document("torch.dot", "b")])])
    assert not (site / "torch" / "torch.cat" / "index.html").exists()
    assert (site / "torch" / "torch.cat" / "mine.txt").read_text() == "mine"
    assert (site / "CNAME").read_text() == "example.org"
    publish([run_document([result_document("jax.numpy.sin")], target="jax-0.4.13-cpu")])
    assert not (site / "torch" / "torch.dot").exists()
    assert (site / "jax" / "jax.numpy.sin" / "index.html").exists()


def test_a_folder_of_somebody_else_is_refused_and_stays(tmp_path: Path) -> None:
    runs = write_runs(two_versions(), tmp_path / "runs")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "index.html").write_text("mine")
    result = run(str(runs), "-o", str(foreign))
    assert result.exit_code == 1
    assert "is neither a site that portbench wrote nor empty" in str(result.exception)
    assert {path.name for path in foreign.iterdir()} == {"index.html"}
    assert (foreign / "index.html").read_text() == "mine"


def test_a_link_in_the_folder_is_not_followed(publish: Publish, tmp_path: Path) -> None:
    site = publish([run_document([result_document("jax.numpy.sin")], target="jax-0.4.13-cpu")])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (site / "torch").symlink_to(elsewhere)
    before = files(site)
    result = run(str(write_runs(two_versions(), tmp_path / "more")), "-o", str(site))
    assert "is a link" in str(result.exception)
    assert not list(elsewhere.iterdir())
    assert files(site) == before


def test_no_study_is_one_sentence_and_writes_nothing(tmp_path: Path) -> None:
    result = run(str(tmp_path / "none"), "-o", str(tmp_path / "site"))
    assert result.exit_code != 0
    assert "none" in str(result.exception)
    assert not (tmp_path / "site").exists()


def test_a_study_without_functions_is_one_sentence_and_writes_nothing(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    large(tables, functions=0, targets=1)
    with connect() as connection:
        create_views(connection, tables)
        analyse(connection)
        with pytest.raises(NothingRan, match="this study has no function"):
            publish_site([connection], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_damaged_study_is_named(tmp_path: Path) -> None:
    runs = write_runs(two_versions(), tmp_path / "runs")
    assert CliRunner().invoke(cli, ["merge", str(runs), "-o", str(tmp_path / "study")]).exit_code == 0
    (table,) = (tmp_path / "study").glob("tables-*/results/*.parquet")
    table.write_bytes(table.read_bytes()[:100])
    result = run(str(tmp_path / "study"), "-o", str(tmp_path / "site"))
    assert result.exit_code != 0
    assert "study" in str(result.exception)
    assert not (tmp_path / "site").exists()


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    result = run(str(tmp_path), "-o", str(tmp_path / "site"), "--url", "example.org")
    assert result.exit_code == 2
    assert "is not an address" in result.output


def test_tests_that_did_not_run_are_shown_as_such(publish: Publish) -> None:
    site = publish(nothing_ran())
    assert "No test of it ran" in Page(site / "torch" / "torch.dot" / "index.html").text
    assert document(site, f"targets/{CPU_290}.json")["about"]["all_pass_percent"] is None


def test_a_target_that_ran_on_several_days_has_a_trend_over_dates(publish: Publish) -> None:
    def day(number: int, outcome: str) -> Document:
        moments = {"started_at": f"2027-01-0{number}T01:00:00Z", "ended_at": f"2027-01-0{number}T02:00:00Z"}
        return run_document([result_document("torch.cat"), result_document("torch.dot", outcome=outcome)], **moments)

    site = publish([day(1, "passed"), day(3, "failed")])
    for page in (Page(site / "torch" / "index.html"), Page(site / "targets" / CPU_290 / "index.html")):
        assert "Trend over dates torch: percent of functions whose tests all pass, by date (UTC)" in page.text
        assert {"2027-01-01", "2027-01-03"} <= set(page.text.split())
        assert len([each for each in page.all("svg") if each.get("class") == "chart"]) == 1


def both_kinds(tmp_path: Path) -> tuple[str, str]:
    """The run files of a study, and those of collected tests: of torch.cat, which both have, and torch.only."""
    collected = [
        result_document("torch.cat", "sample-1"),
        result_document("torch.cat", "sample-2", outcome="failed"),
        result_document("torch.only", "sample-1"),
    ]
    study = write_runs([*two_versions(), *predicted()], tmp_path / "study")
    sweep = write_runs([run_document(collected, manifest="collected-torch")], tmp_path / "sweep")
    return str(study), str(sweep)


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A site of collected tests and others."""
    result = run(*both_kinds(tmp_path), "-o", str(tmp_path / "site"))
    assert result.exit_code == 0, result.output
    return tmp_path / "site"


def test_collected_tests_and_others_are_in_tables_of_their_own(both: Path) -> None:
    page = Page(both / "torch" / "torch.cat" / "index.html")
    assert "All tests pass on 3 of 3 measured targets. Measured, collected tests: all pass on 0 of 1" in page.text
    others, collected = page.text.split("Measured, collected tests: versions by targets")
    assert "Collected tests: the inputs are the framework's own" in collected
    assert "some fail" not in others.replace("◐ some fail", "")
    assert "1 of 2" in collected
    assert "other measured, collected tests RuntimeError: it does not work" in page.text
    alone = Page(both / "torch" / "torch.only" / "index.html")
    assert "measured targets" not in alone.text
    assert "Measured, collected tests: all pass on 1 of 1 targets." in alone.text


def test_no_count_has_collected_tests_and_others(both: Path) -> None:
    targets = {each["id"]: each for each in document(both, "index.json")["targets"]}
    assert targets[CPU_290]["all_pass_percent"] == 50
    assert not targets[CPU_290]["collected"]
    assert targets[f"{CPU_290}@collected"]["functions_by_status"] == {
        "all_pass": 1,
        "some_fail": 1,
        "all_fail": 0,
        "not_testable": 0,
    }
    assert targets[f"{CPU_290}@collected"]["collected"]
    cells = {each["id"]: each["status"] for each in document(both, "torch/torch.cat.json")["targets"]}
    assert (cells[CPU_290], cells[f"{CPU_290}@collected"]) == ("all_pass", "some_fail")
    assert document(both, f"targets/{CPU_290}@collected.json")["former"] is None
    for path in (both / "api").rglob("*.json"):
        assert read_document(path).kind == "site"
    titles = {
        "badges/torch-cpu.svg": "PyTorch runs on CPU: 50 %",
        "badges/torch-cpu-collected.svg": "PyTorch runs on CPU, collected tests: 50 %",
        "torch/torch.cat/badge.svg": "torch.cat: runs on 3 of 3 targets",
        "torch/torch.only/badge.svg": "torch.only: runs on 1 of 1 targets (collected tests)",
    }
    for name, text in titles.items():
        assert ElementTree.parse(both / name).getroot().findtext("{http://www.w3.org/2000/svg}title") == text


def test_the_list_and_the_feed_name_the_kind_of_tests(both: Path) -> None:
    index = Page(both / "index.html")
    others, collected = index.text.split("PyTorch, collected tests", 1)
    assert "measured 2.9.0, box 1 of 2 pass 2027" in others
    assert "CPU measured 2.9.0, box 1 of 2 pass" in collected
    assert "PyTorch 2.9.0, collected" in index.text
    assert "Measured, collected tests" in Page(both / "torch" / "index.html").text
    titles = [each.text or "" for each in ElementTree.parse(both / "feed.atom").getroot().iter(f"{ATOM}title")]
    assert [title for title in titles if "(measured, collected tests): 50.0 % of 2 functions" in title]


def test_a_site_of_both_is_made_of_studies_or_run_files_and_is_the_same(both: Path, tmp_path: Path) -> None:
    before = files(both)
    runs = [tmp_path / "study", tmp_path / "sweep"]
    for folder in runs:
        merged = CliRunner().invoke(cli, ["merge", str(folder), "-o", str(tmp_path / f"merged-{folder.name}")])
        assert merged.exit_code == 0, merged.output
    result = run(str(tmp_path / "merged-sweep"), str(tmp_path / "study"), "-o", str(both))
    assert result.exit_code == 0, result.output
    assert files(both) == before
    assert "0 of them changed" in result.output


def test_one_folder_with_both_kinds_is_refused(tmp_path: Path) -> None:
    both_kinds(tmp_path)
    result = run(str(tmp_path), "-o", str(tmp_path / "site"))
    assert result.exit_code == 1
    assert "has collected tests (collected-torch)" in str(result.exception)
    assert not (tmp_path / "site").exists()

"""The figures of a study: which are drawn, what marks they hold, and that the same study gives the same bytes."""

from __future__ import annotations

import json
import pickle
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from markdown_it import MarkdownIt
from matplotlib.image import imread

from portbench.analysis.results import compute_results
from portbench.errors import StorageFailed
from portbench.figures import style
from portbench.figures import write as figures
from portbench.study.merge import merge
from portbench.study.store import connect, create_views
from portbench.study.summary import analyse
from portbench.util.parallel import map_processes

# Most tests look at the same figures, which are drawn once.
pytestmark = pytest.mark.xdist_group("figures")

Document = dict[str, Any]
Make = Callable[..., Document]

SVG = "{http://www.w3.org/2000/svg}"
STRATA = {"a": (1, False), "b": (5, False), "c": (10, False), "d": (None, True), "e": (5, False)}
"""Decile and top 20 of each function."""


def draw(documents: Iterable[Document], folder: Path, **changes: Any) -> list[str]:
    """Merges run files, draws what they hold into ``folder / "figures"``, and returns the names of what was written."""
    written = write(documents, folder, **changes).files
    assert all(path.is_file() for path in written)
    return [path.name for path in written]


def write(documents: Iterable[Document], folder: Path, **changes: Any) -> figures.Written:
    runs = folder / "runs"
    runs.mkdir(parents=True)
    for number, document in enumerate(documents):
        (runs / f"{number}.json").write_text(json.dumps(document), "utf-8")
    study = merge([str(runs)], folder / "study").study
    with connect() as connection:
        create_views(connection, study.tables)
        analyse(connection)
        results = compute_results(connection)
        with figures.drawing(connection, results, folder / "figures", **changes) as written:
            pass
    return written


@pytest.fixture(scope="module")
def side(make_run: Make) -> Make:
    """A run file of jax 0.4.8 on a device whose facts are given, in which STRATA's functions are listed."""

    def make(results: list[Document], device: str, machine: str, facts: Document, version: str = "0.4.8") -> Document:
        document = make_run(results, target=f"jax-{version}-{device}", machine=machine)
        document["environment"]["device"] = facts
        strata = {result["function"]: (None, None) for result in results} | STRATA
        document["manifest"]["functions"] = [
            {"name": name, "tests": 2, "decile": decile, "uses": None, "top20": top20, "listed_as": None}
            for name, (decile, top20) in strata.items()
        ]
        return document

    return make


@pytest.fixture(scope="module")
def timed(make_result: Make, make_call: Make) -> Make:
    """A passing test with a first call of so many ms, and a steady one of as many µs."""

    def make(function: str, test: str, time: float) -> Document:
        blocks = tuple(int(time * 1e5 * part) for part in (1, 1, 1.05))
        return make_result(function, test, calls=[make_call(int(time * 1e6), 0, blocks, 100)])

    return make


@pytest.fixture(scope="module")
def documents(side: Make, timed: Make, make_result: Make) -> list[Document]:
    """A T4, a TPU on which a function fails and another does in part, and an A100."""
    gpu = [timed(name, test, 1) for name in STRATA for test in ("x", "y")]
    tpu = [
        *(timed("a", test, 20) for test in ("x", "y")),
        *(timed("b", test, time) for test, time in (("x", 2), ("y", 0.5))),
        *(timed("c", test, 0.5) for test in ("x", "y")),
        *(make_result("d", test, outcome="failed", category="type") for test in ("x", "y")),
        timed("e", "x", 0.05),
        make_result("e", "y", outcome="timed_out"),
    ]
    newer = [timed(name, "x", time) for name, time in (("a", 0.5), ("b", 1), ("c", 0.8), ("d", 3), ("e", 1.2))]
    return [
        side(gpu, "gpu", "old", {"model": "Tesla T4", "compute_capability": "7.5"}),
        side(tpu, "tpu", "pod", {"accelerator_type": "v3-8"}),
        side(newer, "gpu", "new", {"model": "NVIDIA A100-SXM4-40GB", "compute_capability": "8.0"}),
    ]


@pytest.fixture(scope="module")
def drawn(documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the figures of ``documents``."""
    folder = tmp_path_factory.mktemp("drawn")
    draw(documents, folder)
    return folder / "figures"


def group(svg: Path, name: str) -> ET.Element | None:
    """The group of an SVG with an id."""
    return ET.parse(svg).find(f".//{SVG}g[@id='{name}']")


def shapes(found: ET.Element) -> list[tuple[float, float]]:
    """Where the middle of each shape of a group is, whether it refers to another or is drawn in place."""
    defined = {path for definitions in found.iter(f"{SVG}defs") for path in definitions.iter(f"{SVG}path")}
    points = []
    for element in found.iter():
        if element.tag == f"{SVG}use":
            points.append((float(element.attrib["x"]), float(element.attrib["y"])))
        elif element.tag == f"{SVG}path" and element not in defined:
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", element.attrib["d"])]
            points.append(tuple((min(ends) + max(ends)) / 2 for ends in (numbers[::2], numbers[1::2])))
    return points


def marks(svg: Path, prefix: str) -> dict[str, int]:
    """How many shapes there are in the groups whose id begins with ``prefix``, by the rest of the id."""
    groups = [found for found in ET.parse(svg).iter(f"{SVG}g") if found.get("id", "").startswith(prefix)]
    return {found.attrib["id"].removeprefix(prefix): len(shapes(found)) for found in groups}


def places(svg: Path, name: str) -> list[tuple[float, float]]:
    """The places of the shapes of a group."""
    found = group(svg, name)
    assert found is not None
    return shapes(found)


def width(svg: Path, name: str) -> float:
    """The width of the shape in a group."""
    found = group(svg, name)
    assert found is not None
    numbers = [float(x) for x in re.findall(r"[ML] ([\d.]+)", next(found.iter(f"{SVG}path")).attrib["d"])]
    return max(numbers) - min(numbers)


def section(folder: Path, title: str) -> str:
    """What README.md says of a figure."""
    return (folder / "README.md").read_text("utf-8").partition(f"## {title}")[2].partition("\n## ")[0]


def test_every_figure_is_an_svg_and_a_png_of_one_or_two_columns(drawn: Path) -> None:
    text = (drawn / "README.md").read_text("utf-8")
    shown = re.findall(r"\]\(([a-z0-9-]+)\.svg\)", text)
    assert shown == [
        "statuses",
        "failures-by-decile",
        "top20-against-all",
        "failure-categories",
        "latency-densities",
        "times",
        *(
            f"{name}-{method}"
            for method in ("paper-method", "robust")
            for name in ("latency-scatter", "faster-shares", "latency-ratios", "newer-hardware")
        ),
    ]
    assert {path.name for path in drawn.iterdir()} == {
        "README.md",
        *(f"{name}.{suffix}" for name in shown for suffix in ("svg", "png")),
    }
    for name in shown:
        root = ET.parse(drawn / f"{name}.svg").getroot()
        assert root.tag == f"{SVG}svg"
        inches = float(root.attrib["width"].removesuffix("pt")) / 72
        assert inches in (pytest.approx(3.5), pytest.approx(7.16, rel=0.31))
        pixels = imread(drawn / f"{name}.png")
        assert pixels.shape[1] == pytest.approx(200 * inches, abs=1)
        assert pixels[..., :3].min() < 0.5 < pixels[..., :3].max()


def test_statuses_are_shares_with_the_papers_figures_next_to_them(drawn: Path) -> None:
    svg = drawn / "statuses.svg"
    whole = width(svg, "bar-0-all_pass")
    # The rows: A100 and T4, where all passes, and the TPU with 3 of 5, 1 and 1.
    assert [width(svg, f"bar-2-{status}") / whole for status in ("all_pass", "some_fail", "all_fail")] == pytest.approx(
        [0.6, 0.2, 0.2], abs=0.001
    )
    assert group(svg, "bar-0-some_fail") is None
    assert all(group(svg, f"published-{row}") is not None for row in range(3))
    assert "tpu (TPU v3-8): all tests pass 60.0 % (3 of 5), some fail 20.0 % (1 of 5)" in section(drawn, "Functions by")


def test_failures_by_decile(drawn: Path) -> None:
    (_, first), (_, fifth), (_, tenth) = places(drawn / "failures-by-decile.svg", "deciles-0-2")
    (_, none), *_ = places(drawn / "failures-by-decile.svg", "deciles-0-0")
    assert first == tenth == none
    # Of b and e the latter fails: half the way to 100, of which the axis shows 106.
    axis = float(ET.parse(drawn / "failures-by-decile.svg").getroot().attrib["height"].removesuffix("pt"))
    assert 0 < first - fifth < axis / 2
    assert "jax 0.4.8 tpu (TPU v3-8): 4 functions." in section(drawn, "Functions that fail, by decile")


def test_the_top_20_against_all(drawn: Path) -> None:
    ((top, _),) = places(drawn / "top20-against-all.svg", "top20-2")
    ((others, _),) = places(drawn / "top20-against-all.svg", "others-2")
    ((zero, _),) = places(drawn / "top20-against-all.svg", "top20-0")
    assert (others - zero) / (top - zero) == pytest.approx(0.25, abs=0.001)
    ((published, _),) = places(drawn / "top20-against-all.svg", "published-others-2")
    assert 100 * (published - zero) / (top - zero) == pytest.approx(4, abs=0.1)  # Table 4: jax on tpu


def test_categories(drawn: Path) -> None:
    svg = drawn / "failure-categories.svg"
    assert width(svg, "bar-0-type") / width(svg, "bar-0-timeout") == pytest.approx(2, abs=0.01)
    assert "tpu (TPU v3-8): type 2, timeout 1." in section(drawn, "Why tests fail")


def test_each_function_that_was_timed_on_both_is_a_point_of_its_class(drawn: Path) -> None:
    svg = drawn / "latency-scatter-paper-method.svg"
    # The second pair is the TPU against the T4: b is timed 1.25 ms in the mean of both tests, d not at all.
    assert marks(svg, "points-1-") == {"slower": 1, "much-slower": 1, "faster": 1, "much-faster": 1}
    assert marks(drawn / "latency-scatter-robust.svg", "points-1-") == {
        "unclear": 1,
        "much-slower": 1,
        "faster": 1,
        "much-faster": 1,
    }
    assert sum(marks(drawn / "latency-ratios-paper-method.svg", "dots-1-").values()) == 4
    said = section(drawn, "Functions that are faster or slower on one device than on another (robust)")
    assert "tpu (TPU v3-8) against gpu (Tesla T4): more than 10 times faster 25.0 % (1 of 4), faster 25.0 %" in said
    assert "Left out: " in said


def test_a_point_is_at_its_latencies(drawn: Path) -> None:
    svg = drawn / "latency-scatter-paper-method.svg"
    ((fast_x, fast_y),) = places(svg, "points-1-much-faster")
    ((slow_x, slow_y),) = places(svg, "points-1-much-slower")
    ((some_x, some_y),) = places(svg, "points-1-faster")
    assert fast_x == pytest.approx(slow_x) == pytest.approx(some_x)  # 1 ms on the T4
    # 0.05, 0.5 and 20 ms on a logarithmic axis, upwards.
    assert (fast_y - slow_y) / (fast_y - some_y) == pytest.approx(2.602, abs=0.01)


def test_newer_hardware(drawn: Path) -> None:
    svg = drawn / "newer-hardware-paper-method.svg"
    classes = ("much-faster", "faster", "unclear", "slower", "much-slower")
    assert len({round(width(svg, f"bar-0-{cls}"), 1) for cls in classes}) == 1
    said = section(drawn, "Functions that are faster or slower on newer hardware (paper's method)")
    assert "gpu (A100-SXM4-40GB) against gpu (Tesla T4): more than 1.5 times faster 20.0 % (1 of 5)" in said


def test_densities_and_times(drawn: Path) -> None:
    svg = drawn / "latency-densities.svg"
    assert [len(places(svg, f"ticks-{row}")) for row in range(3)] == [5, 5, 4]
    assert group(svg, "density-2") is not None
    assert group(svg, "density-1") is None  # all functions take as long: no density
    boxes = drawn / "times.svg"
    assert all(group(boxes, f"box-{row}-{kind}") is not None for row in range(3) for kind in ("cold", "steady"))
    assert "tpu (TPU v3-8): first call median 0.500 ms over 7 tests" in section(drawn, "Times of tests")


def test_the_threshold_is_the_readers(documents: list[Document], tmp_path: Path) -> None:
    draw(documents[:2], tmp_path, intolerable=30)
    assert marks(tmp_path / "figures/latency-scatter-paper-method.svg", "points-0-") == {"slower": 2, "faster": 2}
    assert "more than 30" not in (tmp_path / "figures/README.md").read_text("utf-8")


def test_the_same_study_gives_the_same_bytes(
    documents: list[Document], drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 20.0)
    monkeypatch.setitem(matplotlib.rcParams, "svg.hashsalt", "another")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    draw(reversed(documents), tmp_path)
    assert matplotlib.rcParams["font.size"] == 20
    again = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert again == {path.name: path.read_bytes() for path in drawn.iterdir()}


def test_figures_of_many_pairs_are_drawn_in_other_processes_with_the_same_bytes(
    side: Make, timed: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them are drawn, once in this process and once in others; all of them must get there."""
    documents = [
        side([timed("a", "x", time), timed("b", "x", 2 * time)], device, "m", {})
        for time, device in enumerate(("cpu", "gpu", "tpu", "xla"), start=1)
    ]
    content: list[dict[str, bytes]] = []

    @contextmanager
    def both(
        function: Callable[..., list[str]], calls: Sequence[tuple[Any, ...]], _most: int, *, is_shared: bool
    ) -> Iterator[Callable[[], list[list[str]]]]:
        assert is_shared
        # As text: arrays have no equality that is true or false.
        there = [repr(planned.items) for planned, _ in pickle.loads(pickle.dumps(calls))]
        assert there == [repr(planned.items) for planned, _ in calls]
        captions = []
        for run in (lambda chosen: [function(*call) for call in chosen], partial(map_processes, function)):
            captions.append(run(calls[-3:-1]))
            written = list((tmp_path / "figures").iterdir())
            content.append({path.name: path.read_bytes() for path in written})
            for path in written:
                path.unlink()
        assert captions[0] == captions[1]
        yield lambda: captions[0]

    monkeypatch.setattr(figures, "processes", both)
    write(documents, tmp_path)
    assert len(content[0]) == 4
    assert content[0] == content[1]


def test_where_nothing_ran_each_figure_is_named_with_the_reason(
    make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    assert draw([make_run([make_result(outcome="skipped")])], tmp_path) == ["README.md"]
    missing = section(tmp_path / "figures", "Not drawn")
    assert missing.count("\n- ") == 16
    assert "- statuses: nothing ran on any target" in missing
    assert "- failures-by-decile: no function that ran is known to be of a decile of use" in missing


def test_failures_that_are_all_zero_are_not_drawn(side: Make, timed: Make, tmp_path: Path) -> None:
    gpu = [timed(name, "x", 1) for name in STRATA]
    names = draw([side(gpu, "gpu", "old", {"model": "Tesla T4"})], tmp_path)
    assert "statuses.svg" in names
    assert not {"failures-by-decile.svg", "top20-against-all.svg"}.intersection(names)
    missing = section(tmp_path / "figures", "Not drawn")
    assert "failures-by-decile: no function fails: all values are 0" in missing.replace("\\", "")


def test_a_study_with_failures_only(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    failed = [make_result("a", run=run, outcome="failed") for run in (1, 2)]
    crashed = [make_result("b", outcome="crashed"), make_result("c", outcome="timed_out")]
    written = draw([make_run(failed + crashed), make_run(failed, target="torch-2.9.0-xla")], tmp_path)
    assert written == [
        "statuses.svg", "statuses.png", "failure-categories.svg", "failure-categories.png", "README.md",
    ]  # fmt: skip
    assert group(tmp_path / "figures/statuses.svg", "bar-0-all_pass") is None
    assert "torch 2.9.0 cpu: timeout 1, crash 1, other 1." in section(tmp_path / "figures", "Why tests fail")


HOSTILE = "$\\frac{1}$ \x1b[2J\u202e<script>alert(1)</script>![a](https://evil.example)日本" + "x" * 300


def test_hostile_names_are_text_and_nothing_else(side: Make, timed: Make, tmp_path: Path) -> None:
    results = [timed(HOSTILE + name, "x", 1) for name in "abc"]
    found = [side(results, "gpu", machine, {"model": HOSTILE}) for machine in (HOSTILE[:255], HOSTILE[:255][::-1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.showwarning", lambda *warning: pytest.fail(str(warning[0])))
        draw([*found, side(results, "cpu", HOSTILE[:255], {})], tmp_path)
    for path in (tmp_path / "figures").glob("*.svg"):
        assert not {"script", "a", "image"} & {element.tag.removeprefix(SVG) for element in ET.parse(path).iter()}
    text = (tmp_path / "figures/README.md").read_text("utf-8")
    assert all(line.isprintable() for line in text.splitlines())
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    assert set(re.findall(r"<(\w+)", page)) == {"h1", "h2", "p", "img", "ul", "li"}
    assert set(re.findall(r'src="(.*?)"', page)) == {path.name for path in (tmp_path / "figures").glob("*.svg")}


def test_targets_that_differ_only_in_the_machine_have_different_labels(
    side: Make, make_result: Make, tmp_path: Path
) -> None:
    results = [make_result("a", outcome="failed")]
    twins = [side(results, "gpu", machine, {"model": "Tesla T4"}) for machine in ("left", "right")]
    draw([*twins, side(results, "cpu", "left", {})], tmp_path)
    said = section(tmp_path / "figures", "Functions by status")
    assert re.findall(r"^- (.*?):", said, re.MULTILINE) == [
        "jax 0.4.8 cpu",
        "jax 0.4.8 gpu (Tesla T4) on left",
        "jax 0.4.8 gpu (Tesla T4) on right",
    ]


def test_what_does_not_fit_goes_into_another_figure(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    failed = [make_result(outcome="failed")]
    written = draw([make_run(failed, target=f"torch-1.{minor}.0-cpu") for minor in range(31)], tmp_path)
    assert {"statuses.svg", "statuses-2.svg", "statuses-2.png", "failure-categories-2.svg"} < set(written)
    assert "statuses-3.svg" not in written
    assert group(tmp_path / "figures/statuses.svg", "bar-29-all_fail") is not None
    assert group(tmp_path / "figures/statuses-2.svg", "bar-1-all_fail") is None


def test_thousands_of_points_are_a_picture_in_the_svg(side: Make, timed: Make, tmp_path: Path) -> None:
    results = [timed(f"f{number}", "x", 1 + number) for number in range(1001)]
    draw([side(results, device, "box", {}) for device in ("cpu", "xla")], tmp_path)
    svg = tmp_path / "figures/latency-scatter-paper-method.svg"
    assert list(ET.parse(svg).iter(f"{SVG}image"))
    assert svg.stat().st_size < 200_000


def test_a_folder_that_cannot_be_written_is_an_error(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("")
    with pytest.raises(StorageFailed, match="cannot be written"):
        draw([make_run([make_result(outcome="failed")])], tmp_path)


def test_a_label_is_never_cut_where_it_differs_from_another() -> None:
    first, second = ("torch 1.12.0: tpu (TPU v3-8) against gpu (a long model's name) on " + name for name in "ab")
    with style.style():
        alone = style.fitted(first, 1.5)
        both = [style.fitted(first, 1.5, others=[first, second]), style.fitted(second, 1.5, others=[first, second])]
        assert all(style.width(label, style.SMALL) <= 1.5 for label in (alone, *both))
    assert alone.endswith("…")
    assert (both[0][-1], both[1][-1]) == ("a", "b")
    assert all("…" in label for label in both)

"""The paper's tables of latencies: 2 (largest and least ratios) and 5-7 (all functions of TensorFlow, PyTorch, JAX),
for every two devices of a framework and version; and those of older and newer hardware.

By the paper's method, its printed figures are next to ours where both devices are the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from portbench.analysis.configurations import SYNCHRONIZATION
from portbench.analysis.latency import FunctionLatency, Latencies
from portbench.analysis.published import Difference, differences, disagreeing
from portbench.analysis.results import Pair, Results
from portbench.analysis.terms import EXTREMES, PAPER_METHOD, ROBUST
from portbench.published import paper
from portbench.tables.model import (
    Cell,
    Column,
    Group,
    Table,
    exclusion_notes,
    fixed,
    interval_of,
    published_columns,
    signed,
    whole,
    without_empty_columns,
)
from portbench.util.format import NOTHING, significant
from portbench.util.text import pluralize

_NUMBERS = {"tensorflow": "table-5", "torch": "table-6", "jax": "table-7"}
_NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}

_HOW = {
    PAPER_METHOD: "Latency of a function: mean over the tests that passed and were timed in every run on both, of each "
    "test's mean over its first calls (waiting included) and runs. ratio: of the means.",
    ROBUST: "Latency of a test: median of a call after the warm-up, over all blocks and runs. Latency of a function: "
    "geometric mean over the tests that passed and were timed on both. ratio: geometric mean of the tests' "
    "ratios, with a bootstrap interval over tests, 95 %; none where only one test was timed.",
}
_DIFFERENCE = (
    "paper: its figures, as printed; difference: ours, rounded in the same way, less the printed. The "
    "paper's ratios are of its printed milliseconds; for the difference ours are computed in the same way."
)

# As the paper prints its figures, so that they can be compared by eye.
_SHOWN = {PAPER_METHOD: fixed(3), ROBUST: significant}


def speed(ratio: float, intolerable: float) -> str:
    """The class of a latency that is ``ratio`` times the baseline's; above ``intolerable`` it is intolerable."""
    if ratio > intolerable:
        return "intolerable"
    return "slower" if ratio > 1 else "faster" if ratio < 1 else "equal"


def table_2(results: Results, intolerable: float) -> Iterator[Table]:
    """The functions with the largest and the least ratios: the slowest and the fastest on the second device."""
    for devices, pairs in _by(results.by_device, lambda pair: (pair.first.device, pair.second.device)):
        title = (
            f"Table 2: the {EXTREMES} largest and {EXTREMES} least ratios of latency, {devices[1]} over {devices[0]}"
        )
        yield from _latencies(results, pairs, f"table-2-{'-'.join(devices)}", title, devices, intolerable, EXTREMES)


def tables_5_to_7(results: Results, intolerable: float) -> Iterator[Table]:
    """All functions of a framework that were timed on two devices."""
    by = _by(results.by_device, lambda pair: (pair.first.framework, pair.first.device, pair.second.device))
    for (framework, *devices), pairs in sorted(by, key=lambda found: _NUMBERS.get(found[0][0], "table-9")):
        table = _NUMBERS.get(framework)
        name = f"{table or 'latencies'}-{framework}-{'-'.join(devices)}"
        about = f"{table.replace('table-', 'Table ')}: latency" if table else "Latency"
        title = f"{about} of {_NAMES.get(framework, framework)} functions on {' and '.join(devices)}"
        yield from _latencies(results, pairs, name, title, devices, intolerable)


def newer_hardware(results: Results, intolerable: float) -> Iterator[Table]:
    """All functions of a framework that were timed on two models of a device."""
    for (framework, device), pairs in _by(results.by_model, lambda pair: (pair.first.framework, pair.first.device)):
        name = f"newer-hardware-{framework}-{device}"
        title = f"Latency of {_NAMES.get(framework, framework)} functions on older and newer models of {device}"
        yield from _latencies(results, pairs, name, title, ("older", "newer"), intolerable)


def _latencies(
    results: Results,
    pairs: Sequence[Pair],
    name: str,
    title: str,
    called: Sequence[str],
    intolerable: float,
    extremes: int | None = None,
) -> Iterator[Table]:
    """A table for each method, with a group for each pair; ``called`` names the first and the second configuration."""
    for place, method in enumerate((PAPER_METHOD, ROBUST)):
        groups = [_group(results, pair, pair.latencies[place], called, intolerable, extremes) for pair in pairs]
        notes = (
            f"{_HOW[method]} intolerable: more than {intolerable:g} times the latency on {called[0]}.",
            *(("Tables 5-7 have all functions, and what was left out.",) if extremes else ()),
        )
        kept = tuple(group for group in groups if group.rows or group.notes)
        columns = tuple(_columns(method, called))
        yield without_empty_columns(Table(name, title, method, columns, kept, tuple(_keys(called)), notes, _DIFFERENCE))


def _keys(called: Sequence[str]) -> Iterator[Column]:
    yield Column("framework", "")
    yield Column("version", "")
    for name in called:
        yield Column(f"{name}_machine", f"{name} on")
        yield Column(f"{name}_model", "")
    yield Column("synchronization", "synchronization")


def _key(results: Results, pair: Pair) -> tuple[str, ...]:
    machines = [text for side in (pair.first, pair.second) for text in (side.machine, results.models.get(side) or "")]
    synchronization = SYNCHRONIZATION.get(pair.first.sync, pair.first.sync)
    unverified = " and ".join(side.machine for side in results.unverified_sides(pair))
    if unverified:
        synchronization += f", timing unverified on {unverified}"
    return pair.first.framework, pair.first.version, *machines, synchronization


def _columns(method: str, called: Sequence[str]) -> Iterator[Column]:
    shown = _SHOWN[method]
    yield Column("function", "function", is_code=True)
    figures = [*(Column(f"{side}_ms", f"{side} ms", shown) for side in called), Column("ratio", "ratio", shown)]
    yield from figures
    if method == ROBUST:
        yield from interval_of(figures[-1])
    yield Column("tests", "tests", whole)
    yield Column("class", "class")
    if method == PAPER_METHOD:
        for figure in figures:
            yield from published_columns(figure, shown, signed(3))


def _group(
    results: Results,
    pair: Pair,
    measured: Latencies,
    called: Sequence[str],
    intolerable: float,
    extremes: int | None,
) -> Group:
    """The functions of a pair, the largest ratio first; only ``extremes`` of each end where that is given."""
    published = _published(results, pair, measured)
    functions = sorted(measured.functions, key=lambda found: (-found.ratio, found.function))
    if extremes and len(functions) > 2 * extremes:
        functions = [*functions[:extremes], *functions[-extremes:]]
    rows = tuple(_row(found, measured.method, published.get(found.listed_as), intolerable) for found in functions)
    doubts = tuple(f"Timing unverified: {side}; {results.unverified[side]}." for side in results.unverified_sides(pair))
    if extremes:
        return Group(rows, _key(results, pair), doubts if rows else ())
    nothing = () if rows else ("No function was timed on both.",)
    notes = (*doubts, *nothing, *_agreement(pair, published, called), *exclusion_notes(measured.exclusions))
    return Group(rows, _key(results, pair), notes)


def _row(found: FunctionLatency, method: str, published: Difference | None, intolerable: float) -> tuple[Cell, ...]:
    interval = (found.low, found.high) if method == ROBUST else ()
    ours = (found.function, found.first_ns / 1e6, found.second_ns / 1e6, found.ratio, *interval)
    row = (*ours, found.tests, speed(found.ratio, intolerable))
    if method == ROBUST:
        return row
    if not published:
        return (*row, *([None] * 6))
    printed = published.published
    both = (
        (published.gpu_ms, printed.gpu_ms),
        (published.tpu_ms, printed.tpu_ms),
        (published.ratio, printed.ratio),
    )
    return (*row, *(cell for ours, theirs in both for cell in (theirs, _less(ours, theirs))))


def _less(ours: float | None, theirs: float) -> float | None:
    """The difference of printed figures, without the noise of binary fractions."""
    return None if ours is None else round(ours - theirs, 6)


def _published(results: Results, pair: Pair, measured: Latencies) -> dict[str, Difference]:
    """The differences to the published latencies, by published name; only by the paper's method, and of the paper's
    GPU and TPU."""
    sides = (results.primary(pair.first), results.primary(pair.second))
    if measured.method != PAPER_METHOD or [side and side.device for side in sides] != ["gpu", "tpu"]:
        return {}
    return {found.published.function: found for found in differences(measured)}


def _agreement(pair: Pair, published: Mapping[str, Difference], called: Sequence[str]) -> Iterator[str]:
    """How many published figures are repeated, which differ and by how much, and which were not measured."""
    if not published:
        return
    others = disagreeing(published.values())
    agreeing = len(published) - len(others)
    yield f"{agreeing} of {len(published)} functions have the published figures to the last printed digit."
    if others:
        each = (
            f"{found.published.function}: {called[0]} {found.gpu_ms:.3f} ms (paper: {found.published.gpu_ms:.3f}), "
            f"{called[1]} {found.tpu_ms:.3f} ms (paper: {found.published.tpu_ms:.3f}), "
            f"ratio {_printed(found.ratio)} (paper: {_printed(found.published.ratio)})"
            for found in others
        )
        yield f"Differing: {'; '.join(each)}."
    missing = [name for name in paper.latencies(pair.first.framework) if name not in published]
    if missing:
        of = pluralize(len(missing), "function")
        yield f"Published, but not timed on both here: {of}: {', '.join(missing)}."


def _printed(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.3f}"


def _by(pairs: Iterable[Pair], key: Callable[[Pair], tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[Pair]]]:
    """The pairs by key, in the order in which the keys occur first."""
    found: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair)
    return list(found.items())

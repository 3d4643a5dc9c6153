"""The study's tables of latencies: 2 (largest and least ratios), 5-7 (all functions of TensorFlow, PyTorch, JAX), for
every two devices of a framework and version; and those of older and newer hardware.

Published figures stand beside ours, as published, where both sides are the study's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from portbench.analysis.latency import AS_PUBLISHED, ROBUST, FunctionLatency, Latencies
from portbench.analysis.results import Pair, Results
from portbench.published import paper as published
from portbench.published.paper import Difference
from portbench.tables.model import (
    Cell,
    Column,
    Group,
    Table,
    fixed,
    interval_of,
    notes_of,
    published_beside,
    signed,
    told,
    whole,
)
from portbench.util.format import NOTHING, significant
from portbench.util.text import pluralize

EXTREMES = 5
"""How many functions Table 2 has of each end."""

_NUMBERS = {"tensorflow": "table-5", "torch": "table-6", "jax": "table-7"}
_NAMES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}

_HOW = {
    AS_PUBLISHED: "Latency of a function: mean of all first calls, waiting included, over all runs of the tests that "
    "passed and were timed on both sides. ratio: of the means.",
    ROBUST: "Latency of a test: median of a call after the warm-up, over all blocks and runs. Latency of a function: "
    "geometric mean over the tests that passed and were timed on both sides. ratio: geometric mean of the tests' "
    "ratios, with a bootstrap interval over tests, 95 %; none where one test alone was timed.",
}
_DIFFERENCE = (
    "published: the study's figures, as printed; difference: ours, rounded alike, less the published. The study's "
    "ratios are of its printed milliseconds, and so are those of ours that the difference is of."
)

# As the study prints its figures, so that they can be compared by eye.
_SHOWN = {AS_PUBLISHED: fixed(3), ROBUST: significant}


def speed(ratio: float, intolerable: float) -> str:
    """The class of a latency that is ``ratio`` times the baseline's: intolerable above the reader's threshold."""
    if ratio > intolerable:
        return "intolerable"
    return "slower" if ratio > 1 else "faster" if ratio < 1 else "equal"


def table_2(answers: Results, intolerable: float) -> Iterator[Table]:
    """The functions of the largest and of the least ratio: the slowest and the fastest on the second device."""
    for devices, pairs in _by(answers.by_device, lambda pair: (pair.first.device, pair.second.device)):
        title = (
            f"Table 2: the {EXTREMES} largest and {EXTREMES} least ratios of latency, {devices[1]} over {devices[0]}"
        )
        yield from _latencies(answers, pairs, f"table-2-{'-'.join(devices)}", title, devices, intolerable, EXTREMES)


def tables_5_to_7(answers: Results, intolerable: float) -> Iterator[Table]:
    """All functions of a framework that were timed on two devices."""
    by = _by(answers.by_device, lambda pair: (pair.first.framework, pair.first.device, pair.second.device))
    for (framework, *devices), pairs in sorted(by, key=lambda found: _NUMBERS.get(found[0][0], "table-9")):
        table = _NUMBERS.get(framework)
        name = f"{table or 'latencies'}-{framework}-{'-'.join(devices)}"
        about = f"{table.replace('table-', 'Table ')}: latency" if table else "Latency"
        title = f"{about} of {_NAMES.get(framework, framework)} functions on {' and '.join(devices)}"
        yield from _latencies(answers, pairs, name, title, devices, intolerable)


def newer_hardware(answers: Results, intolerable: float) -> Iterator[Table]:
    """All functions of a framework that were timed on two models of a device."""
    for (framework, device), pairs in _by(answers.by_model, lambda pair: (pair.first.framework, pair.first.device)):
        name = f"newer-hardware-{framework}-{device}"
        title = f"Latency of {_NAMES.get(framework, framework)} functions on older and newer models of {device}"
        yield from _latencies(answers, pairs, name, title, ("older", "newer"), intolerable)


def _latencies(
    answers: Results,
    pairs: Sequence[Pair],
    name: str,
    title: str,
    called: Sequence[str],
    intolerable: float,
    extremes: int | None = None,
) -> Iterator[Table]:
    """A table for each method, with a group for each pair; ``called`` is what the first and the second side go by."""
    for place, method in enumerate((AS_PUBLISHED, ROBUST)):
        groups = [_group(answers, pair, pair.latencies[place], called, intolerable, extremes) for pair in pairs]
        notes = (
            f"{_HOW[method]} intolerable: more than {intolerable:g} times the latency on {called[0]}.",
            *(("Tables 5-7 have all functions, and what was left out.",) if extremes else ()),
        )
        kept = tuple(group for group in groups if group.rows or group.notes)
        columns = tuple(_columns(method, called))
        yield told(Table(name, title, method, columns, kept, tuple(_keys(called)), notes, _DIFFERENCE))


def _keys(called: Sequence[str]) -> Iterator[Column]:
    yield Column("framework", "")
    yield Column("version", "")
    for side in called:
        yield Column(f"{side}_machine", f"{side} on")
        yield Column(f"{side}_model", "")
    yield Column("synchronisation", "synchronisation")


def _key(answers: Results, pair: Pair) -> tuple[str, ...]:
    machines = [text for side in (pair.first, pair.second) for text in (side.machine, answers.models.get(side) or "")]
    return pair.first.framework, pair.first.version, *machines, pair.first.sync


def _columns(method: str, called: Sequence[str]) -> Iterator[Column]:
    shown = _SHOWN[method]
    yield Column("function", "function", is_code=True)
    figures = [*(Column(f"{side}_ms", f"{side} ms", shown) for side in called), Column("ratio", "ratio", shown)]
    yield from figures
    if method == ROBUST:
        yield from interval_of(figures[-1])
    yield Column("tests", "tests", whole)
    yield Column("class", "class")
    if method == AS_PUBLISHED:
        for figure in figures:
            yield from published_beside(figure, shown, signed(3))


def _group(
    answers: Results,
    pair: Pair,
    measured: Latencies,
    called: Sequence[str],
    intolerable: float,
    extremes: int | None,
) -> Group:
    """The functions of a pair, the largest ratio first; only so many of either end where ``extremes`` is given."""
    beside = _published(answers, pair, measured)
    functions = sorted(measured.functions, key=lambda found: (-found.ratio, found.function))
    if extremes and len(functions) > 2 * extremes:
        functions = [*functions[:extremes], *functions[-extremes:]]
    rows = tuple(_row(found, measured.method, beside.get(found.listed_as), intolerable) for found in functions)
    if extremes:
        return Group(rows, _key(answers, pair))
    nothing = () if rows else ("No function was timed on both.",)
    notes = (*nothing, *_agreement(pair, beside, called), *notes_of(measured.left_out))
    return Group(rows, _key(answers, pair), notes)


def _row(found: FunctionLatency, method: str, beside: Difference | None, intolerable: float) -> tuple[Cell, ...]:
    interval = (found.low, found.high) if method == ROBUST else ()
    ours = (found.function, found.first_ns / 1e6, found.second_ns / 1e6, found.ratio, *interval)
    row = (*ours, found.tests, speed(found.ratio, intolerable))
    if method == ROBUST:
        return row
    if not beside:
        return (*row, *([None] * 6))
    of = beside.published
    both = ((beside.gpu_ms, of.gpu_ms), (beside.tpu_ms, of.tpu_ms), (beside.ratio, of.ratio))
    return (*row, *(cell for ours, theirs in both for cell in (theirs, _less(ours, theirs))))


def _less(ours: float | None, theirs: float) -> float | None:
    """A difference of printed figures, without the noise of binary fractions."""
    return None if ours is None else round(ours - theirs, 6)


def _published(answers: Results, pair: Pair, measured: Latencies) -> dict[str, Difference]:
    """Published latencies beside ours, by published name; only as published, and of the study's GPU and TPU."""
    sides = (answers.primary(pair.first), answers.primary(pair.second))
    if measured.method != AS_PUBLISHED or [side and side.device for side in sides] != ["gpu", "tpu"]:
        return {}
    return {found.published.function: found for found in published.differences(measured)}


def _agreement(pair: Pair, beside: Mapping[str, Difference], called: Sequence[str]) -> Iterator[str]:
    """How many published figures are repeated, which are not and by how much, and which there is nothing to hold
    against."""
    if not beside:
        return
    others = published.disagreeing(beside.values())
    agreeing = len(beside) - len(others)
    yield f"{agreeing} of {len(beside)} functions have the published figures to the last printed digit."
    if others:
        each = (
            f"{found.published.function}: {called[0]} {found.gpu_ms:.3f} ms (published {found.published.gpu_ms:.3f}), "
            f"{called[1]} {found.tpu_ms:.3f} ms (published {found.published.tpu_ms:.3f}), "
            f"ratio {_printed(found.ratio)} (published {_printed(found.published.ratio)})"
            for found in others
        )
        yield f"Differing: {'; '.join(each)}."
    if by_test := [found.published.function for found in others if found.agrees_by_test]:
        names = ", ".join(by_test)
        yield f"Of these with the published milliseconds where each test counts alike, with all its calls: {names}."
    missing = [name for name in published.latencies(pair.first.framework) if name not in beside]
    if missing:
        of = pluralize(len(missing), "function")
        yield f"Published, but not timed on both sides here: {of}: {', '.join(missing)}."


def _printed(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.3f}"


def _by(pairs: Iterable[Pair], key: Callable[[Pair], tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[Pair]]]:
    """Pairs with the same key together, in the order in which the keys come first."""
    found: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair)
    return list(found.items())

"""The tables of time against size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from portbench.scaling.crossover import CLEARLY, Comparison, Pair
from portbench.scaling.model import Point, Scaling, Side
from portbench.tables.model import Cell, Column, Group, Table, fixed, names, numbers, texts
from portbench.util.format import significant
from portbench.util.text import pluralize

_HOW_FASTER = (
    f"A target is faster at a size where its median over the runs is better by more than {CLEARLY - 1:.0%} and each of "
    "its runs is faster than each run of the other. Times are those of one call in the steady state."
)
_HOW_BYTES = "The size of a call in bytes: the tensors that it takes as arguments and returns, without a module's own."

_BEYOND_CACHES = 100_000_000
"""Bytes that no cache of a processor holds, with few exceptions."""

Peaks = tuple[float | None, float | None]
"""Bytes and floating-point operations per second."""


def all_tables(scaling: Scaling, pairs: Sequence[Pair]) -> Iterator[Table]:
    """The tables of a report: by size, crossovers, rates at the largest size, what failed."""
    for pair in pairs:
        yield by_size(scaling, pair)
    for pair in pairs:
        yield crossovers(scaling, pair)
    yield from rates(scaling)
    yield from bounds(scaling)
    yield from failures(scaling)


def by_size(scaling: Scaling, pair: Pair) -> Table:
    """How many functions are faster on each of two targets, by the size of the call in bytes."""
    first, second = scaling.label(pair.first), scaling.label(pair.second)
    counts: dict[int, list[int]] = {}
    for comparison in pair.comparisons:
        # Of two sizes in one class the larger counts.
        of_class = {_decade(each.bytes): each.faster for each in comparison.ratios if each.bytes}
        for decade, faster in of_class.items():
            counts.setdefault(decade, [0, 0, 0])[faster] += 1
    rows = [
        (_bytes_class(decade), sum(of_class), of_class[1], of_class[2], of_class[0])
        for decade, of_class in sorted(counts.items())
    ]
    columns = (
        *texts("size of a call"),
        *numbers("functions", f"faster on {first}", f"faster on {second}", "no clear difference"),
    )
    return Table.of_rows(f"Functions by size: {first} against {second}", columns, rows, _HOW_FASTER, _HOW_BYTES)


def crossovers(scaling: Scaling, pair: Pair) -> Table:
    """From which size on one of two targets is faster, for each function."""
    first, second = scaling.label(pair.first), scaling.label(pair.second)
    rows = [
        (
            one.family.function,
            _sentence(one, (first, second)),
            one.family.of,
            one.ratios[0].first.n,
            one.ratios[0].ratio,
            one.ratios[-1].first.n,
            one.ratios[-1].ratio,
        )
        for one in sorted(pair.comparisons, key=_crossover_order)
    ]
    columns = (
        *names("function"),
        *texts("faster", "size counts"),
        *numbers("smallest"),
        Column("smallest_ratio", "ratio", significant),
        *numbers("largest"),
        Column("largest_ratio", "ratio", significant),
    )
    note = (
        f"ratio: how many times as long a call takes on {first} as on {second}. The size from which on one is faster "
        "is where the ratio is 1, by linear interpolation of the logarithms of size and ratio."
    )
    return Table.of_rows(f"Crossovers: {first} against {second}", columns, rows, note, _HOW_FASTER)


def rates(scaling: Scaling) -> Iterator[Table]:
    """What each measured target achieves at the largest size of each function that passed."""
    rows: list[tuple[Cell, ...]] = []
    for side in scaling.measured:
        peaks = peaks_of(side)
        for family, points in side.points.items():
            point = next((each for each in reversed(points) if each.runs_ns), None)
            if point:
                rows.append((family.function, scaling.label(side), family.of, point.n, *_rates(point, peaks)))
    columns = (
        *names("function", "target"),
        *texts("size counts"),
        *numbers("largest"),
        Column("median_ns", "median ms", lambda ns: significant(ns / 1e6)),
        Column("bytes_per_s", "GB/s", lambda rate: significant(rate / 1e9)),
        Column("flops_per_s", "GFLOP/s", lambda rate: significant(rate / 1e9)),
        Column("peak_percent", "% of peak", fixed(1)),
    )
    note = (
        "% of peak: the rate of bytes or of operations, whichever is the larger share of the device's peak. The peak "
        "is that of its data sheet, for operations that of products in half precision. Where no data sheet is known, "
        "it is the highest rate of operations measured there, and of bytes by calls of 100 MB and more: a call whose "
        "tensors fit into a cache may be above 100 %. scaling.csv marks such rows by peak_is_measured."
    )
    if rows:
        yield Table.of_rows("At the largest size", columns, sorted(rows, key=_by_name), note, _HOW_BYTES)


def _rates(point: Point, peaks: Peaks) -> tuple[Cell, ...]:
    """The time, the rates of bytes and operations, and the larger of their shares of the peaks in percent."""
    found = point.rate(point.bytes), point.rate(point.flops)
    shares = [100 * rate / peak for rate, peak in zip(found, peaks, strict=True) if rate and peak]
    return point.median_ns, *found, max(shares, default=None)


def peaks_of(side: Side) -> Peaks:
    """The peak rates of a target: those of its data sheet, else the highest that were measured."""
    points = [point for family in side.points.values() for point in family]
    moved = (point.rate(point.bytes) for point in points if (point.bytes or 0) >= _BEYOND_CACHES)
    computed = (point.rate(point.flops) for point in points)
    return (
        side.peak_bytes_per_s or max(filter(None, moved), default=None),
        side.peak_flops_per_s or max(filter(None, computed), default=None),
    )


def _by_name(row: Sequence[Cell]) -> tuple[str, str]:
    return str(row[0]), str(row[1])


def bounds(scaling: Scaling) -> Iterator[Table]:
    """The least time of each function at its largest size on each predicted target."""
    rows = [
        (family.function, scaling.label(side), family.of, point.n, point.roofline_ns, point.bytes, point.flops)
        for side in scaling.sides
        if side.is_predicted
        for family, points in side.points.items()
        if (point := next((each for each in reversed(points) if each.roofline_ns), None))
    ]
    columns = (
        *names("function", "target"),
        *texts("size counts"),
        *numbers("largest"),
        Column("roofline_ns", "at least ms", lambda ns: significant(ns / 1e6)),
        Column("bytes", "MB", lambda count: significant(count / 1e6)),
        Column("flops", "GFLOP", lambda count: significant(count / 1e9)),
    )
    note = "at least: the roofline, a lower bound by the compiler's figures and the device's data sheet; not measured."
    if rows:
        yield Table.of_rows("Predicted: at the largest size", columns, sorted(rows, key=_by_name), note)


def failures(scaling: Scaling) -> Iterator[Table]:
    """The sizes that did not pass."""
    rows = [
        (family.function, scaling.label(side), point.n, family.of, point.outcome.replace("_", " "), point.message)
        for side in scaling.sides
        for family, points in side.points.items()
        for point in points
        if point.outcome != "passed"
    ]
    if rows:
        columns = (*names("function", "target"), *numbers("size"), *texts("size counts", "outcome", "why"))
        note = (
            "A device may compute products in a coarser precision than their dtype, such as TensorFloat-32 or "
            "bfloat16: values that are only imprecise have a time in the other tables."
        )
        yield Table.of_rows("Did not pass", columns, rows, note)


def points_table(scaling: Scaling) -> Table:
    """Every point, for other programs."""
    columns = (
        *names("framework", "version", "device", "machine", "sync", "function", "test"),
        *texts("of"),
        *numbers("n", "median_ns", "least_ns", "greatest_ns", "runs", "bytes", "flops", "bytes_per_s", "flops_per_s"),
        *numbers("peak_percent"),
        *texts("peak_is_measured", "is_stable"),
        *numbers("roofline_ns"),
        *texts("outcome"),
    )
    rows = [row for side in scaling.sides for row in _rows(side)]
    return Table("points", "Time against size", "steady state", columns, (Group(tuple(rows)),))


def _rows(side: Side) -> Iterator[tuple[Cell, ...]]:
    peaks = peaks_of(side)
    for family, points in side.points.items():
        for point in points:
            median_ns, *per_second = _rates(point, peaks)
            ends = (min(point.runs_ns), max(point.runs_ns)) if point.runs_ns else (None, None)
            facts = (median_ns, *ends, len(point.runs_ns), point.bytes, point.flops)
            is_measured = _said(side.peak_bytes_per_s is None and bool(point.runs_ns))
            is_stable = _said(point.is_stable) if point.runs_ns else None
            more = (is_measured, is_stable, point.roofline_ns, point.outcome)
            yield *side.key, family.function, family.test, family.of, point.n, *facts, *per_second, *more


def _said(found: bool) -> str:
    return "yes" if found else "no"


def sentences(scaling: Scaling, pairs: Iterable[Pair]) -> Iterator[str]:
    """What the results say, a sentence for each pair: the sizes come first, since they decide."""
    for pair in pairs:
        first, second = scaling.label(pair.first), scaling.label(pair.second)
        crossing = [one for one in pair.comparisons if one.winner and not one.is_always]
        always = [sum(one.is_always and one.winner == which for one in pair.comparisons) for which in (1, 2)]
        count = pluralize(len(pair.comparisons), "function")
        yield (
            f"{count}: {first} is faster at every size in {always[0]}, {second} in {always[1]}, and one of them only "
            f"from some size on in {len(crossing)}."
        )


def _sentence(one: Comparison, labels: tuple[str, str]) -> str:
    if not one.winner:
        return "no clear difference at the largest"
    label = labels[one.winner - 1]
    if one.is_always:
        return f"{label}, at every size"
    assert one.faster_from is not None  # it has a winner
    return f"{label}, from {size_text(one.faster_from)} on"


def size_text(n: float) -> str:
    """A size with two digits: 32,000."""
    digits = max(0, math.floor(math.log10(n)) - 1)
    return f"{round(n, -digits):,.0f}"


def _crossover_order(one: Comparison) -> tuple[bool, int, float, str]:
    return not one.winner, -one.winner, -one.ratios[-1].ratio, one.family.function


def _decade(count: int | None) -> int:
    return math.floor(math.log10(count)) if count else 0


def _bytes_class(decade: int) -> str:
    return f"{_short(decade)} to {_short(decade + 1)}"


def _short(decade: int) -> str:
    unit, place = ("GB", 9) if decade >= 9 else ("MB", 6) if decade >= 6 else ("kB", 3) if decade >= 3 else ("B", 0)
    return f"{10 ** (decade - place)} {unit}"

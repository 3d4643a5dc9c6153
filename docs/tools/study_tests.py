"""Writes the tests of the manifest ``study`` that follow from the properties of each function.

    .venv/bin/python docs/tools/study_tests.py            # rewrites manifests/study/*.json
    .venv/bin/python docs/tools/study_tests.py --check    # exit status 1 if a manifest is not as it would be written

manifests/study/properties/FRAMEWORK.json says for each function how it is called (``$x`` and ``$y`` are tensors,
``$axis`` is each of ``axes``), what its reference is, which dtypes it takes, and which its outputs have if another.
Each kind of function has families of tests, the functions below. The tests are plain data in the manifests, one a
line, with ids that begin with ``generated-``; all other tests there are written by hand and stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "manifests" / "study"
MARK = '{"id": "generated-'

Entry = Mapping[str, Any]
Tests = Iterator[dict[str, Any]]

ODD = [[7, 257], [129, 33], [17, 9, 15]]
"""Around 8, 16, 32, 128 and 256, and no multiple of a tile of any axis."""

LONG = [3, 5003]
"""Rows longer than any usual tile, which they do not fill at the end."""

SPECIAL_ROWS = [
    [1, "nan", 2, -1, 0.5],
    ["nan", "inf", "-inf", 0, 1],
    ["inf", 1, 2, 0.25, -3],
    [-1, 2, "-inf", 3, 0],
    ["inf", 1, "-inf", 2, 3],
    ["-inf", "-inf", "-inf", "-inf", "-inf"],
    [-0.0, -0.0, -0.0, -0.0, -0.0],
    [0.0, -0.0, 0.0, -0.0, -0.0],
    [-5, -4, -5, -7, -4],
    [3, 3, 1, 3, 3],
    [1000, -1000, 0.001, -0.001, 1],
]
"""Rows of a reduction: NaN and infinities, zeros of both signs, ties, only negative numbers."""

DTYPES = json.loads((ROOT / "schema" / "floating-dtypes.json").read_text("utf-8"))["dtypes"]
LARGEST = {dtype: facts["largest"] for dtype, facts in DTYPES.items() if "largest" in facts}
EXACT = {"rtol": 0, "atol": 0, "reason": "values are moved, not computed"}
SMALL = "tiny outputs have their own digits"
SMALLEST = {"float32": 1.5e-45, "float64": 5e-324}
RELATIVE = {dtype: facts["rtol"] for dtype, facts in DTYPES.items()}


class UnknownFunctions(Exception):
    """The names of functions that are not in the manifest."""


def random_tensor(e: Entry, shape: Any, dtype: str, seed: int = 1, **more: Any) -> dict[str, Any]:
    """A random tensor within the function's domain."""
    low, high = e.get("domain", (None, None))
    limits = {} if low is None else {"low": low, "high": high}
    return {"tensor": {"shape": shape, "dtype": dtype, "seed": seed, **limits, **more}}


def edge_tensor(dtype: str, edges: str, **more: Any) -> dict[str, Any]:
    """The edge values of a dtype."""
    layout = {key: more.pop(key) for key in ("layout",) if key in more}
    return {"tensor": {"dtype": dtype, "values": {"edges": edges, **more}, **layout}}


def floats(e: Entry) -> list[str]:
    return list(e.get("floats", ()))


def integers(e: Entry) -> list[str]:
    return list(e.get("integers", ()))


def result(e: Entry, dtype: str) -> dict[str, Any]:
    """The dtype of the output, as ``expect`` gives it. ``results`` of an entry names those that are not the input's."""
    results = e.get("results", {})
    return {"dtype": results.get(dtype, results.get("any", dtype))}


def test(
    e: Entry,
    name: str,
    x: Any,
    y: Any = None,
    grid: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    **more: Any,
) -> dict[str, Any]:
    """One template: the call of the entry with its tensors ``$x`` and ``$y``."""
    tensors = {"$x": x, "$y": x if y is None else y}
    expect = {**filled(e["expect"], tensors), **result(e, dtype), **more.pop("expect", {})}
    made: dict[str, Any] = {"id": f"generated-{name}", "case": "call", "timed": False}
    if grid:
        made["grid"] = dict(grid)
    made["args"] = filled(e.get("args", ["$x"]), tensors)
    if e.get("kwargs"):
        made["kwargs"] = filled(e["kwargs"], tensors)
    return {**made, "expect": expect, **more}


def filled(value: Any, tensors: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value in tensors:
        return tensors[value]
    if isinstance(value, list):
        return [filled(item, tensors) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, tensors) for key, item in value.items()}
    return value


def second(e: Entry, shape: Any, dtype: str, **more: Any) -> Any:
    """The second tensor, of a function that takes two."""
    return random_tensor(e, shape, dtype, seed=2, **more) if e.get("tensors") == 2 else None


def by_result(e: Entry, dtypes: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Groups of dtypes whose outputs have a dtype in common: that of the input (``$dtype``), or a named one."""
    groups: dict[str, list[str]] = {}
    for dtype in dtypes:
        results = e.get("results", {})
        groups.setdefault(results.get(dtype, results.get("any", "$dtype")), []).append(dtype)
    yield from groups.items()


def grouped(e: Entry, name: str, dtypes: Sequence[str], x: Any, y: Any = None, **more: Any) -> Tests:
    """One template for each group of dtypes."""
    for number, (output, group) in enumerate(by_result(e, dtypes)):
        expect = {**more.get("expect", {}), "dtype": output}
        grid = {"dtype": group, **more.get("grid", {})}
        rest = {key: value for key, value in more.items() if key not in ("expect", "grid")}
        yield test(e, name if not number else f"{name}-{number + 1}", x, y, grid, expect=expect, **rest)


def sizes(e: Entry) -> Tests:
    """Shapes around the sizes of tiles, of 1 to 3 axes as the function takes them."""
    shapes = e.get("shapes", ODD)
    dtype = e.get("size_dtype", "float32")
    yield test(
        e,
        "sizes",
        random_tensor(e, "$shape", dtype),
        second(e, "$shape", dtype),
        {"shape": shapes, **axis_grid(e)},
        dtype,
    )


def long(e: Entry) -> Tests:
    """A long axis that ends within a tile, also of negative numbers alone: what fills up the tile must not count."""
    shape = e.get("long_shape", LONG)
    dtype = e.get("size_dtype", "float32")
    axes = e.get("axes", [])
    grid = {"grid": {"axis": [-1 if -1 in axes else axes[-1]]}} if axes else {}
    if shape:
        yield test(e, "long", random_tensor(e, shape, dtype), second(e, shape, dtype), dtype=dtype, **grid)
        if e["kind"] in ("order", "reduction") and e.get("domain", [-1])[0] < 0:
            x = {"tensor": {"shape": shape, "dtype": dtype, "seed": 5, "low": -2, "high": -1}}
            yield test(e, "long-negative", x, dtype=dtype, **grid)


def axis_grid(e: Entry) -> dict[str, Any]:
    return {"axis": e["axes"]} if "axes" in e else {}


def layouts(e: Entry) -> Tests:
    """Views that are not contiguous, with a length that is no multiple of a tile."""
    shape = e.get("layout_shape", [3, 17, 9])
    grid = {"layout": ["transposed", "strided"], **axis_grid(e)}
    yield test(
        e,
        "layouts",
        random_tensor(e, shape, "float32", layout="$layout"),
        second(e, shape, "float32", layout="$layout"),
        grid,
    )


def empty(e: Entry) -> Tests:
    """No elements, by each axis."""
    shapes = e.get("empty_shapes", [[0, 3], [3, 0], [2, 0, 3]])
    if shapes:
        grid = {"shape": shapes, **axis_grid(e)}
        yield test(e, "empty", random_tensor(e, "$shape", "float32"), second(e, "$shape", "float32"), grid)


def ones(e: Entry) -> Tests:
    """Axes of length one."""
    shapes = e.get("ones_shapes", [[1, 1], [1, 5], [5, 1], [3, 1, 4]])
    grid = {"shape": shapes, **axis_grid(e)}
    yield test(e, "ones", random_tensor(e, "$shape", "float32"), second(e, "$shape", "float32"), grid)


def edges(e: Entry) -> Tests:
    """Every edge value of functions that only move values, with the sign of zeros, exactly."""
    shape = e.get("edges", "square")
    for dtypes in (floats(e), integers(e), list(e.get("complex", ()))):
        more = {} if dtypes == integers(e) else {"zeros": "signed"}
        x = edge_tensor("$dtype", shape, **({"subnormal": True} if dtypes == floats(e) else {}))
        if dtypes:
            name = f"edges-{'of-integers' if dtypes == integers(e) else 'complex' if 'c' in dtypes[0] else 'all'}"
            exact = {"tolerance": {**EXACT, "dtypes": exact_dtypes(e, dtypes)}} if more else {}
            yield from grouped(e, name, dtypes, x, expect=more, **exact, **one_axis(e))


def edge_layouts(e: Entry) -> Tests:
    """The edge values in views that are not contiguous."""
    if e.get("edges", "square") == "square":
        x = edge_tensor("float32", "square", subnormal=True, layout="$layout")
        grid = {"layout": ["transposed", "strided"], **one_axis(e).get("grid", {})}
        yield test(e, "edges-layouts", x, grid=grid, expect={"zeros": "signed"}, tolerance=EXACT)


def exact_dtypes(e: Entry, dtypes: Sequence[str]) -> list[str]:
    """The dtypes of the outputs, for a tolerance of 0."""
    return list(dict.fromkeys(result(e, dtype)["dtype"] for dtype in dtypes))


def one_axis(e: Entry) -> dict[str, Any]:
    return {"grid": {"axis": [e["axes"][-1]]}} if "axes" in e else {}


def relative_edges(e: Entry) -> Tests:
    """Every edge value of an elementwise function. The error is relative, also of tiny outputs; zeros have signs."""
    more: dict[str, Any] = {"expect": {"zeros": "signed"}} if e.get("signed_zeros", True) else {}
    for dtype in floats(e):
        is_wide = dtype in SMALLEST and e.get("subnormal", True)
        rtol = e.get("rtol", {}).get(dtype, RELATIVE[dtype])
        atol = e.get("atol", {}).get(dtype, SMALLEST.get(dtype, 6e-8 if dtype == "float16" else 1e-40))
        yield test(
            e,
            f"edges-{dtype}",
            edge_tensor(dtype, "row", **({"subnormal": True} if is_wide else {})),
            edge_tensor(dtype, "column") if e.get("tensors") == 2 else None,
            dtype=dtype,
            tolerance={"rtol": rtol, "atol": atol, "reason": e.get("why", SMALL)},
            **more,
        )


def integer_edges(e: Entry) -> Tests:
    """The ends of the range of each integer dtype."""
    y = edge_tensor("$dtype", "column") if e.get("tensors") == 2 else None
    if integers(e):
        yield from grouped(e, "integers", integers(e), edge_tensor("$dtype", "row"), y)


def ranges(e: Entry) -> Tests:
    """Random values at several scales, among them negative, small and large ones."""
    for number, (low, high) in enumerate(e.get("ranges", ()), 1):
        for dtype in [each for each in floats(e) if each in ("float32", "float64")]:
            tensors = [
                {"tensor": {"shape": [641], "dtype": dtype, "seed": seed, "low": low, "high": high}} for seed in (1, 2)
            ]
            more: dict[str, Any] = {}
            if "range_atol" in e:
                rtol = e.get("rtol", {}).get(dtype, RELATIVE[dtype])
                atol = e["range_atol"][number - 1] * (1 if dtype == "float32" else 1e-7)
                more["tolerance"] = {"rtol": rtol, "atol": atol, "reason": e.get("why", SMALL)}
            yield test(e, f"range-{number}-{dtype}", tensors[0], tensors[1], dtype=dtype, **more)


def broadcasts(e: Entry) -> Tests:
    """Arguments of different shapes, also empty ones and ones without axes."""
    for number, (one, other) in enumerate((([33, 1], [1, 17]), ([129], [3, 5, 129]), ([], [4, 7]), ([1], [5, 0])), 1):
        yield test(e, f"broadcast-{number}", random_tensor(e, one, "float32"), second(e, other, "float32"))


def special_rows(e: Entry) -> Tests:
    """Rows with NaN, infinities, zeros of both signs and ties, reduced along the last axis."""
    more: dict[str, Any] = {"expect": {"zeros": "signed"}} if e.get("signed_zeros") else {}
    for axis, rows in ((-1, SPECIAL_ROWS), (0, [list(column) for column in zip(*SPECIAL_ROWS, strict=True)])):
        if axis in e["axes"]:
            x = {"tensor": {"values": rows, "dtype": "$dtype"}}
            more["grid"] = {"axis": [axis]}
            yield from grouped(e, f"special-{'rows' if axis else 'columns'}", floats(e), x, **more)


def overflows(e: Entry) -> Tests:
    """Sums that are too large for the dtype, and sums that are not although parts of them are close to its end."""
    for dtype in [each for each in floats(e) if each in LARGEST]:
        top = LARGEST[dtype]
        rows = [[top, top / 2, 0], [-top, -top, -top], [top, 0, -top / 2], [top / 4, top / 4, -top / 4]]
        x = {"tensor": {"values": rows, "dtype": dtype}}
        yield test(e, f"overflow-{dtype}", x, grid={"axis": [-1]}, dtype=dtype)


def integer_rows(e: Entry) -> Tests:
    """Integers over the whole range of their dtype, reduced along an axis; sums wrap around."""
    for dtype in integers(e):
        bits = int(dtype.lstrip("uint"))
        low, high = (0, 2**bits) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if bits == 64 and dtype[0] == "u":
            continue
        x = {"tensor": {"shape": [5, 33], "dtype": dtype, "seed": 3, "low": low, "high": high}}
        made = test(e, f"integers-{dtype}", x, grid={"axis": [-1]}, dtype=dtype)
        if e.get("wraps"):
            # NumPy sums in 64 bits unless it gets a dtype.
            made["expect"]["kwargs"] = {**made["expect"]["kwargs"], "dtype": {"dtype": result(e, dtype)["dtype"]}}
        yield made


def ties(e: Entry) -> Tests:
    """Few different values: many ties."""
    x = {"tensor": {"shape": [9, 129], "dtype": "$dtype", "seed": 4, "low": 0, "high": 4}}
    if integers(e):
        yield from grouped(e, "ties", integers(e), x, **one_axis(e))


FAMILIES: Mapping[str, Sequence[Callable[[Entry], Tests]]] = {
    "movement": (sizes, long, layouts, empty, ones, edges, edge_layouts),
    "elementwise": (sizes, long, layouts, empty, relative_edges, integer_edges, ranges),
    "binary": (sizes, long, layouts, empty, relative_edges, integer_edges, ranges, broadcasts),
    "comparison": (sizes, long, layouts, empty, integer_edges, ranges, broadcasts),
    "reduction": (sizes, long, layouts, empty, ones, special_rows, overflows, integer_rows),
    "order": (sizes, long, layouts, empty, ones, special_rows, integer_rows, ties),
    "bits": (sizes, long, layouts, empty, integer_edges),
}


def generated(entry: Entry, name: str) -> list[dict[str, Any]]:
    """The tests of a function, by its properties."""
    without = set(entry.get("without", ()))
    if not name.startswith("torch."):
        without |= {"layouts", "edge_layouts"}
    return [made for family in FAMILIES[entry["kind"]] if family.__name__ not in without for made in family(entry)]


def rewritten(manifest: str, properties: Mapping[str, Entry]) -> str:
    """The text of a manifest with the generated tests in place of those that it has. Raises UnknownFunctions for
    those that the manifest lacks."""
    lines = [line for line in manifest.splitlines() if not line.lstrip().startswith(MARK)]
    missing = dict(properties)
    written: list[str] = []
    name = ""
    for line in lines:
        if line.startswith('      "function": '):
            name = json.loads(line.split(": ", 1)[1].rstrip(","))
        if line == "      ]":
            last = written[-1].rstrip(",")
            made = generated(missing.pop(name), name) if name in missing else []
            # json.dumps writes a number as Python does: -0.0 keeps its sign.
            texts = [f"        {json.dumps(each, ensure_ascii=False)}" for each in made]
            written[-1:] = ",\n".join([last, *texts]).splitlines()
        written.append(line)
    if missing:
        raise UnknownFunctions(", ".join(missing))
    return "\n".join(written) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something would change")
    options = parser.parse_args(arguments)
    stale = []
    for table in sorted((STUDY / "properties").glob("*.json")):
        path = STUDY / table.name
        before = path.read_text("utf-8")
        try:
            after = rewritten(before, json.loads(table.read_text("utf-8")))
        except UnknownFunctions as error:
            sys.exit(f"manifests/study/{path.name} has no {error}, which its properties name")
        if before != after:
            stale.append(path.name)
            if not options.check:
                path.write_text(after, "utf-8")
    for name in stale:
        print(f"manifests/study/{name}: {'differs from its properties' if options.check else 'written'}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())

"""The findings of a study for a newcomer: at most five plain sentences, measured and predicted apart.

Each is over the functions of which a test could run. Text out of run files is in them: printers escape it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from portbench.analysis.configurations import Configuration
from portbench.analysis.results import Results
from portbench.analysis.terms import INTOLERABLE, PAPER_METHOD
from portbench.devices import VENDOR_DEVICES
from portbench.published import paper
from portbench.study.document import FunctionEntry, TargetEntry
from portbench.study.model import TargetKey
from portbench.study.open import Analysed
from portbench.study.parquet import literal
from portbench.util.text import pluralize

FINDINGS = 5
"""How many sentences there are at most."""

_KINDS = ("gpu", "tpu", *VENDOR_DEVICES.values(), "xla", "rocm", "cpu")
"""Kinds of devices in the order of their sentences."""
_NAMES = {
    "gpu": "GPU",
    "tpu": "TPU",
    "xla": "XLA",
    "pjrt": "plugin",
    "privateuse1": "vendor's backend",
    "pluggable": "pluggable device",
    "rocm": "AMD GPU",
    "cpu": "CPU",
}
_FRAMEWORKS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
_YEAR = "2023"
_WRONG = "wrong"
_WHY = {
    _WRONG: "wrong values",
    "type": "a data type that the device does not take",
    "not_implemented": "an operation that is not implemented there",
    "memory": "too little memory",
    "timeout": "the time limit",
    "crash": "a crash",
    "other": "something that no category names",
    "precision": "results that are not accurate enough",
    "unstable": "right only at the first call, or an argument that the call overwrites",
}
_FAILING = ("some_fail", "all_fail")

_Weighted = tuple[float, str]
"""A number and a sentence: of several, the findings have the sentence with the greatest number."""
_Failing = dict[str, list[tuple[bool, bool]]]
"""Of each failing function and target: whether there are wrong values, and whether it was measured."""


@dataclass(frozen=True)
class Findings:
    """The ``sentences``: what passes on which device, then how much slower devices are, then why functions fail.

    ``interesting`` is a failing function that is worth a look: with wrong values before any other, measured here before
    predicted, on many targets before few. None where nothing fails."""

    sentences: tuple[str, ...]
    interesting: str | None


def build_findings(study: Analysed, results: Results) -> Findings:
    """The findings of a study whose ``results`` are computed."""
    imported = _imported(study)
    pass_rates = [
        sentence
        for kind in _KINDS
        for is_predicted in (False, True)
        for sentence in _passing(results, imported, kind, is_predicted)
    ]
    causes: list[_Weighted] = []
    first_calls: list[_Weighted] = []
    failing: _Failing = {}
    # In one pass: the entries of a large study are long.
    for entry in study.read_targets():
        side = Configuration(*TargetKey.of_entry(entry))
        # Why functions fail is said of targets that are not the paper's.
        if side not in imported:
            causes += _causes(side, entry)
        first_calls += _first_calls(side, entry)
        _add_failing(failing, side, entry)
    found = (
        *(sentence for kind, sentence in pass_rates if kind != "cpu"),
        *_slower(results, imported),
        *_most(causes),
        *(sentence for kind, sentence in pass_rates if kind == "cpu"),
        *_most(first_calls),
    )
    return Findings(found[:FINDINGS], _interesting(failing))


def next_commands(function: str | None, paths: Sequence[str], pair: Sequence[Configuration]) -> Iterator[str]:
    """What to type next. ``function`` is one to explain, if there is one; ``paths`` were given to the report; ``pair``:
    two configurations to compare, or none."""
    if len(paths) != 1:
        return
    if function:
        yield shlex.join(["portbench", "explain", paths[0], function])
    if pair:
        names = [f"{side.target}@{side.machine}" for side in pair]
        yield shlex.join(["portbench", "compare", *names, "--study", paths[0]])


def _imported(study: Analysed) -> set[Configuration]:
    """The configurations of the paper's own measurements."""
    query = (
        "SELECT DISTINCT framework, version, device, machine, sync FROM runs "
        f"WHERE imported.source LIKE {literal(paper.source())} || '%'"
    )
    return {Configuration(*key) for key in study.connection.sql(query).fetchall()}


def _kind(side: Configuration) -> str:
    """``tpu`` of ``tpu-v5e`` and ``tpu7x``, ``gpu`` of ``gpu-predicted``."""
    return "tpu" if side.device.startswith("tpu") else side.device.partition("-")[0]


def _passing(
    results: Results, imported: set[Configuration], kind: str, is_predicted: bool
) -> Iterator[tuple[str, str]]:
    """The share of functions whose tests all pass on a kind of device, by framework; a sentence for each model."""
    groups: dict[str, list[Configuration]] = {}
    every = [
        side
        for side, rates in results.rates.items()
        if _kind(side) == kind and side.is_predicted == is_predicted and rates.by_function.rated
    ]
    # Of the paper's four devices, the two of most of its tables.
    primary = {results.models.get(side) for side in every if side in imported and results.primary(side)}
    for side in every:
        if side not in imported or results.models.get(side) in primary:
            groups.setdefault(_where(results, side, imported), []).append(side)
    for where, sides in groups.items():
        shares = _listed([_passed(results, side, side in imported) for side in sides])
        if is_predicted:
            yield kind, f"Predicted for {where}, nothing ran there: all tests are accepted for {shares}."
        else:
            yield kind, f"Measured on {where}: all tests pass for {shares}."


def _where(results: Results, side: Configuration, imported: set[Configuration]) -> str:
    """A device in a sentence: ``a Tesla T4 in 2023``."""
    kind = _kind(side)
    name = _NAMES.get(kind, side.device)
    if side.is_predicted:
        generation = side.device.removeprefix("tpu").removeprefix("-") if kind == "tpu" else ""
        return f"{_article(name)} {name} {generation}".rstrip()
    model = results.models.get(side) if kind in ("gpu", "tpu") else None
    if not model:
        return f"the {name} of {side.machine}"
    return f"{_article(model)} {model} " + (f"in {_YEAR}" if side in imported else f"({side.machine})")


def _article(name: str) -> str:
    return "an" if name.startswith(("A", "NV", "X")) else "a"


def _passed(results: Results, side: Configuration, is_papers: bool) -> str:
    """``49 of 65 TensorFlow 2.11.0 functions (75 %)``; with what the paper prints beside its own data where that
    differs, and with the share weighted by use where that is known."""
    rates = results.rates[side].by_function
    passed = rates.counts["all_pass"]
    share = 100 * passed / rates.rated
    # A share that is rounded to 100 % hides what fails.
    percent = "over 99" if passed < rates.rated and share >= 99.5 else f"{share:.0f}"
    printed = paper.table1(side.framework, side.device) if is_papers and results.primary(side) else None
    published = f"; the paper prints {printed['all_pass']} %" if printed and printed["all_pass"] != round(share) else ""
    used = results.rates[side].by_use
    by_use = f"; weighted by use {used.percent:.1f} %" if used else ""
    name = f"{_FRAMEWORKS.get(side.framework, side.framework)} {side.version}"
    return f"{passed} of {rates.rated} {name} functions ({percent} %{by_use}{published})"


def _slower(results: Results, imported: set[Configuration]) -> Iterator[str]:
    """How many functions are intolerably slow on the second of two devices: the pair with the greatest share."""
    found = []
    for pair in results.by_device:
        for measured in pair.latencies:
            is_other = any(side in imported and not results.primary(side) for side in (pair.first, pair.second))
            if measured.method != PAPER_METHOD or not measured.functions or results.unverified_sides(pair) or is_other:
                continue
            slow = sum(function.ratio > INTOLERABLE for function in measured.functions)
            found.append((slow / len(measured.functions), slow, len(measured.functions), pair))
    if found and (most := max(found, key=lambda one: one[0]))[1]:
        _, slow, functions, pair = most
        framework = _FRAMEWORKS.get(pair.first.framework, pair.first.framework)
        is_papers = {pair.first, pair.second} <= imported
        # The year stands once.
        where = (_where(results, side, imported) for side in (pair.first, pair.second))
        first, second = (name.removesuffix(f" in {_YEAR}") for name in where)
        yield (
            f"Measured{f' in {_YEAR}' if is_papers else ''}: the first call of {slow} of {functions} {framework} "
            f"functions takes more than {INTOLERABLE:g} times as long on {second} as on {first}."
        )


def _most(found: Sequence[_Weighted]) -> list[str]:
    """The sentence with the greatest number, the first of several; none of none."""
    return [max(found, key=lambda one: one[0])[1]] if found else []


def _add_failing(failing: _Failing, side: Configuration, entry: TargetEntry) -> None:
    for function in _own(entry):
        if function["status"] in _FAILING:
            facts = bool(function["wrong_values"]), not side.is_predicted
            failing.setdefault(function["name"], []).append(facts)


def _interesting(failing: _Failing) -> str | None:
    if not failing:
        return None
    return min(failing, key=lambda name: (tuple(-sum(column) for column in zip(*failing[name], strict=True)), name))


def _causes(side: Configuration, entry: TargetEntry) -> Iterator[_Weighted]:
    """The number of failing functions, and a sentence on why they fail."""
    failing = [function for function in _own(entry) if function["status"] in _FAILING]
    categories: dict[str, int] = {}
    for function in failing:
        for category in function["tests_by_category"]:
            why = _WRONG if category == "other" and function["wrong_values"] else category
            categories[why] = categories.get(why, 0) + 1
    if categories:
        name, functions = max(categories.items(), key=lambda one: one[1])
        word = "refused" if side.is_predicted else "failing"
        sentence = (
            f"{'Predicted for' if side.is_predicted else 'Measured on'} {side.target}: "
            f"{pluralize(len(failing), 'function')} with {word} tests, most often because of {_WHY.get(name, name)} "
            f"({functions})."
        )
        yield len(failing), sentence


def _first_calls(side: Configuration, entry: TargetEntry) -> Iterator[_Weighted]:
    """How many times as long as a later call a first call takes, and a sentence on it."""
    times = [(one["cold_mean_ns"], one["steady_median_ns"]) for one in _own(entry)]
    ratios = [first / later for first, later in times if first and later]
    if ratios:
        middle = median(ratios)
        sentence = (
            f"Measured on {side.target}: a first call takes {middle:,.0f} times as long as a later one (median of "
            f"{pluralize(len(ratios), 'function')})."
        )
        yield middle, sentence


def _own(entry: TargetEntry) -> Iterable[FunctionEntry]:
    return [function for function in entry["functions"] if function["successor_of"] is None]


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))

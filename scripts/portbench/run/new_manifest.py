"""Makes a manifest with one test of a function: from the paper's manifest, or by trying simple inputs.

For a function outside the paper's sample, the candidates are a few simple inputs with the functions of NumPy and SciPy
that have the same name. They run in the environment of the framework's default version on the CPU, if that exists.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from portbench.errors import BadInput, NothingRan
from portbench.run.execute import run_targets
from portbench.run.model import RunnerOptions, RunOptions
from portbench.run.plan import create_out, plan_run
from portbench.run.progress import Reporter
from portbench.targets.catalog import find_targets
from portbench.targets.environments import environment_exists
from portbench.util.processes import run_captured
from portbench.util.repository import Checkout
from portbench.util.strict_json import read_json
from portbench.util.text import did_you_mean

Data = dict[str, Any]

NAMESPACES = {"torch": "torch", "tensorflow": "tf", "jax": "jax", "fake": "fake"}
"""The first part of the names of each framework's functions."""

_LIMIT_S = 60.0
_FIND = """
import json, sys
from runners.core.testing import references
found = []
for position, ((library, name),) in enumerate(map(dict.items, json.loads(sys.argv[1]))):
    try:
        references.find(library, name)
        found.append(position)
    except LookupError:
        pass
print(json.dumps(found))
"""
"""Prints which references the runner has."""
_PLACEHOLDER = {"value": 0}
_MODULES = ("linalg", "fft", "special", "signal")
# NumPy's names of functions that the frameworks call otherwise.
_ALIASES = {
    **{name: f"arc{name[1:]}" for name in ("acos", "asin", "atan", "acosh", "asinh", "atanh")},
    **{f"reduce_{name}": name for name in ("all", "any", "max", "mean", "min", "prod", "std", "sum")},
    "cat": "concatenate",
    "concat": "concatenate",
    "atan2": "arctan2",
    "pow": "power",
    "mul": "multiply",
    "sub": "subtract",
    "div": "divide",
    "neg": "negative",
    "mod": "remainder",
    "matmul": "dot",
}


@dataclass(frozen=True)
class NewManifest:
    """``how``: where the test is from, in a sentence. ``is_complete``: False if somebody has to fill in a value."""

    document: Data
    how: str
    is_complete: bool = True


def new_manifest(framework: str, function: str, name: str, checkout: Checkout) -> NewManifest:
    """A manifest ``name`` with one test of a function. Raises BadInput where the framework has no such function."""
    namespace = NAMESPACES[framework]
    entries = _entries_of_the_paper(framework, checkout)
    if not function.startswith(f"{namespace}."):
        known = [f"{namespace}.{function}", *entries]
        raise BadInput(f"{function} does not begin with '{namespace}.'{did_you_mean(function, known)}")
    head: Data = {"schema": "portbench/manifest", "schema_version": 3, "name": name, "framework": framework}
    if function in entries:
        written_for, entry = entries[function]
        test = _one_test(entry["tests"])
        kept = {key: entry[key] for key in ("function", "successors") if key in entry}
        document = {**head, "written_for": written_for, "functions": [{**kept, "tests": [test]}]}
        return NewManifest(
            document, f"its test {test['id']!r} of the paper's manifest, manifests/study/{framework}.json"
        )
    candidates = list(_candidates(_usable(_references(function), checkout)))
    tried = _try(head, function, candidates, checkout, entries)
    if tried is None:
        template = {**candidates[0], "expect": _PLACEHOLDER}
        found = NewManifest({}, f"a template: the environment of {framework}-cpu does not exist yet", False)
    else:
        template, found = _best(candidates, tried)
    test = {**template, "id": "simple"}
    document = {**head, "functions": [{"function": function, "tests": [test]}]}
    return NewManifest(document, found.how, found.is_complete)


def _entries_of_the_paper(framework: str, checkout: Checkout) -> dict[str, tuple[str, Data]]:
    """The functions of the paper's manifest, each with the version that the manifest is written for."""
    path = checkout.manifests / "study" / f"{framework}.json"
    document = read_json(path).data if path.is_file() else {}
    return {
        each["function"]: (document["written_for"], each) for each in document.get("functions", ()) if each["tests"]
    }


def _one_test(tests: list[Data]) -> Data:
    """The first test that is data, or else the first, with one value for each variable of its grid."""
    chosen = next((test for test in tests if test["case"] == "call"), tests[0])
    if "grid" not in chosen:
        return chosen
    return {**chosen, "grid": {key: values[:1] for key, values in chosen["grid"].items()}}


def _inputs() -> list[Data]:
    """Arguments that many functions accept. The values are in the domain of most of them."""
    first, second = (
        {"tensor": {"shape": [4, 4], "dtype": "float32", "seed": n, "low": 0.1, "high": 0.9}} for n in (1, 2)
    )
    return [
        {"args": args}
        for args in ([first], [first, second], [first, 0], [[first, second]], [[first, second], 0], [3], [[3, 4]])
    ]


def _references(function: str) -> Iterator[Data]:
    *path, last = function.split(".")
    for name in dict.fromkeys((last, _ALIASES.get(last, last))):
        module = path[-1] if path[-1] in _MODULES else ""
        if module:
            yield {"scipy" if module in ("special", "signal") else "numpy": f"{module}.{name}"}
        else:
            yield {"numpy": name}
            yield {"scipy": f"special.{name}"}


def _usable(references: Iterable[Data], checkout: Checkout) -> list[Data]:
    """The references that the runner allows, which only the runner knows."""
    wanted = list(references)
    done = run_captured([sys.executable, "-c", _FIND, json.dumps(wanted)], cwd=checkout.root)
    return [wanted[position] for position in json.loads(done.stdout)] if done.returncode == 0 else []


def _candidates(references: Iterable[Data]) -> Iterator[Data]:
    """Tests to try, the best first. Without references they have a placeholder."""
    for expect in list(references) or [_PLACEHOLDER]:
        for inputs in _inputs():
            yield {"id": "", "case": "call", **inputs, "expect": expect}


def _try(
    head: Mapping[str, Any], function: str, candidates: list[Data], checkout: Checkout, known: Iterable[str]
) -> list[Data] | None:
    """The result of each candidate, or None if no environment is there to run them. Raises BadInput where the framework
    has no such function."""
    (target,) = find_targets([f"{head['framework']}-cpu"], checkout)
    if not environment_exists(target):
        return None
    tests = [{**test, "id": f"t{number}"} for number, test in enumerate(candidates)]
    with tempfile.TemporaryDirectory(prefix="portbench-init-") as folder:
        path = Path(folder, "candidates.json")
        path.write_text(json.dumps({**head, "functions": [{"function": function, "tests": tests}]}), "utf-8")
        options = RunnerOptions(runs=1, protocol="cold", timeout_s=_LIMIT_S)
        plan = plan_run(RunOptions((target.name,), str(path), "venv", str(Path(folder, "out")), options), checkout)
        create_out(plan)
        silent = Console(quiet=True)
        (result,) = run_targets(plan, Reporter(silent, silent, verbosity=-1))
        if result.exit_status == NothingRan.exit_status:
            raise BadInput(f"{target.name} has no {function}{did_you_mean(function, known)}", "Give a public name.")
        if result.run_file is None:
            raise result.error or BadInput(f"{function}: the candidates wrote no run file")
        found = {row["test"]: row for row in read_json(result.run_file).data["results"]}
    return [found[test["id"]] for test in tests]


def _best(candidates: list[Data], results: list[Data]) -> tuple[Data, NewManifest]:
    """The first candidate that passes, else the first input that the function accepts."""
    pairs = list(zip(candidates, results, strict=True))
    for test, result in pairs:
        if result["outcome"] == "passed" and test["expect"] != _PLACEHOLDER:
            ((library, name),) = test["expect"].items()
            return test, NewManifest({}, f"compared with {library}.{name}; it passes on the CPU")
    for test, result in pairs:
        if result["phase"] in (None, "compare"):
            return {**test, "expect": _PLACEHOLDER}, NewManifest(
                {}, "no NumPy or SciPy function has its results: fill in 'expect'", False
            )
    template = {**candidates[0], "expect": _PLACEHOLDER}
    return template, NewManifest({}, "a template: it accepts none of the simple inputs", False)

"""The names that a manifest may use, as far as they are known without a framework.

Cases and properties are Python functions in ``runners/``. Their files are parsed and never imported: they import the
framework. Without the folder ``runners/``, the names in it are not known, and nothing is said about them.
``references.json`` lists what NumPy and SciPy have in any version that an environment may hold: importing SciPy takes
longer than all other checks together.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portbench.errors import BadInput
from portbench.util.repository import find_checkout
from portbench.util.strict_json import quoted, shown
from portbench.util.text import did_you_mean, shortened

INPUT_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("key<fry>", "key<rbg>", "key<urbg>"),
)
"""The dtypes that an argument can have: NumPy's, bfloat16, which the runner rounds to, and JAX's keys."""

OUTPUT_DTYPES = (
    *INPUT_DTYPES,
    *("string", "resource", "variant", "half", "qint8", "quint8", "qint16", "quint16", "qint32", "int2", "uint2"),
    *("int4", "uint4", "complex32", "quint4x2", "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3fn"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
"""The dtypes that an output can have in one of the frameworks."""


@dataclass(frozen=True)
class Signature:
    """The parameters that a manifest may give to a case or property. ``takes_any``: more are not known to be wrong."""

    parameters: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    takes_any: bool = True

    def mistakes(self, given: Collection[str]) -> Iterable[tuple[str, str]]:
        """The wrong key ('' for a missing one) and what is wrong with it."""
        for name in given:
            if name not in self.parameters and not self.takes_any:
                known = ", ".join(self.parameters) or "none"
                yield name, f"is no parameter of it{did_you_mean(name, self.parameters)}; known: {known}"
        for name in self.required:
            if name not in given:
                yield "", f"the parameter {quoted(name)} is missing"


def private_part(framework: str, function: str) -> str | None:
    """The part of a function's name for which it is surely not public: it begins with an underscore. None for the names
    in ``runners/<framework>/private_names.json``, which manifests may use."""
    private = next((part for part in function.split(".") if part.startswith("_")), None)
    if private is None or private.startswith("__"):
        return None
    runners = _runners()
    path = runners / framework / "private_names.json" if runners else None
    known = json.loads(path.read_text("utf-8")) if path is not None and path.is_file() else {}
    return None if function in known else private


def find_case(framework: str, case: str) -> Signature | str:
    """The parameters of a case such as ``torch.sorting:stable_argsort``, or what is wrong with its name."""
    runners = _runners()
    if runners is None or not (runners / framework / "cases").is_dir():
        return Signature()
    home = runners / framework / "cases"
    module, _, name = case.removeprefix(f"{framework}.").partition(":")
    found = _functions(home / f"{module}.py", leading=1).get(name)
    if found is not None:
        return found
    known = [
        f"{framework}.{path.stem}:{other}"
        for path in sorted(home.glob("*.py"))
        for other in _functions(path, leading=1)
    ]
    where = f"runners/{framework}/cases/{module}.py"
    missing = f"defines no case {quoted(name)}" if (home / f"{module}.py").is_file() else "does not exist"
    return f"found {quoted(shortened(case, 80))}, but {where} {missing}{did_you_mean(case, known)}"


def properties() -> Mapping[str, Signature] | None:
    """The properties of ``runners/core/testing/properties.py``; None where that file is not there."""
    runners = _runners()
    return _properties(runners) if runners else None


def reference_mistake(library: str, name: str) -> str:
    """What is wrong with the name of a reference in NumPy or SciPy; empty if one of their versions has it."""
    known = _references(library)
    if not known or name in known:
        return ""
    return f"{library} has no reference {quoted(shortened(name, 80))}{did_you_mean(name, known)}"


def _runners() -> Path | None:
    try:
        folder = find_checkout().runners
    except BadInput:
        return None
    return folder if (folder / "core" / "testing").is_dir() else None


@cache
def _references(library: str) -> frozenset[str]:
    """The references of a library, without its name: ``cumsum``, ``linalg.svd``. Empty without ``runners/``."""
    runners = _runners()
    if runners is None:
        return frozenset()
    listed: dict[str, list[str]] = json.loads(Path(__file__).with_name("references.json").read_text("utf-8"))
    modules = {
        home.removeprefix(library).lstrip("."): found for home, found in listed.items() if home.startswith(library)
    }
    names = [f"{module}.{name}".lstrip(".") for module, found in modules.items() for name in found]
    return frozenset([*names, *_numpy_functions(runners)] if library == "numpy" else names)


@cache
def _properties(runners: Path) -> Mapping[str, Signature]:
    found = _functions(runners / "core" / "testing" / "properties.py", leading=3)
    return {name: signature for name, signature in found.items() if name != "find"}


def _numpy_functions(runners: Path) -> list[str]:
    """The constant _NUMPY of references.py: the names of the functions of NumPy's top level that may be references."""
    for node in ast.parse((runners / "core" / "testing" / "references.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_NUMPY":
            texts = [found.value for found in ast.walk(node.value) if isinstance(found, ast.Constant)]
            return [name for text in texts for name in str(text).split()]
    return []


@cache
def _functions(path: Path, leading: int) -> Mapping[str, Signature]:
    """The public functions of a file, none without it. Their first ``leading`` parameters come from the runner."""
    found: dict[str, Signature] = {}
    if not path.is_file():
        return found
    for node in _parsed(path).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = Signature() if node.decorator_list else _signature(node.args, leading)
        elif isinstance(node, ast.Assign):
            # A function that another one made: its parameters are not known here.
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found.update((name, Signature()) for name in names if name.islower() and not name.startswith("_"))
    return found


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text("utf-8"))
    except SyntaxError as error:
        raise BadInput(f"{shown(path)}: line {error.lineno}: {error.msg}", "Fix the code of the cases.") from None


def _signature(arguments: ast.arguments, leading: int) -> Signature:
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    without_default = positional[leading : len(positional) - len(arguments.defaults)]
    named = [argument.arg for argument in arguments.kwonlyargs]
    required = [name for name, default in zip(named, arguments.kw_defaults, strict=True) if default is None]
    return Signature(
        parameters=(*positional[leading:], *named),
        required=(*without_default, *required),
        takes_any=arguments.kwarg is not None,
    )

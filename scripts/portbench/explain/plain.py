"""Writes one test as a short program of plain Python, which needs the framework and NumPy only.

A test that is data (the case ``call``) becomes its inputs, the call, and the comparison with what was expected. A test
that is a case written in Python is quoted.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from portbench.devices import PREDICTED_GPUS
from portbench.explain.plain_check import check_of
from portbench.formats.edge_values import edge_values

Data = Mapping[str, Any]

_IMPORTS = {"torch": "import torch", "tensorflow": "import tensorflow as tf", "jax": "import jax.numpy"}
_GPUS = ("gpu", "gpu-predicted", "rocm-predicted", *PREDICTED_GPUS)
_DEVICES = {
    "torch": {"cpu": "cpu", "mps-predicted": "mps", **dict.fromkeys(_GPUS, "cuda")},
    "tensorflow": {"cpu": "/CPU:0", **dict.fromkeys(_GPUS, "/GPU:0")},
}
_TENSOR = {
    "torch": "torch.tensor({array}).to(torch.{dtype}).to(device)",
    "tensorflow": "tf.constant({array}, dtype={dtype!r})",
    "jax": "jax.numpy.asarray({array}, dtype={dtype!r})",
}
_DTYPE = {"torch": "torch.{}", "tensorflow": "tf.{}", "jax": "jax.numpy.{}"}
_CARRIERS = {"bfloat16": "float32"}
_WIDE = ("float16", "float32", "complex64")

_FAR = 80
"""The exponential of this is close to the end of float32."""


class NotPlain(Exception):
    """A test cannot be written as a plain call; the message says why."""


def plain_program(manifest: Data, device: str) -> str:
    """The program of the only test of a manifest. Raises NotPlain."""
    (entry,) = manifest["functions"]
    (template,) = entry["tests"]
    framework = manifest["framework"]
    if template["case"] != "call":
        raise NotPlain(f"its case is written in Python: {template['case']}")
    if framework not in _IMPORTS:
        raise NotPlain(f"there are no plain programs for {framework}")
    grid = {f"${key}": value for key, (value,) in template.get("grid", {}).items()}
    return _Program(framework, entry["function"], _filled(template, grid), device).text()


def quoted_case(runners: Path, case: str) -> str | None:
    """The source of a case written in Python, with a note on how to read it; None if it is not found."""
    module, name = case.split(":")
    framework, topic = module.split(".")
    path = runners / framework / "cases" / f"{topic}.py"
    if not path.is_file():
        return None
    source = path.read_text("utf-8")
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name]
    quoted = found and ast.get_source_segment(source, found[0])
    if not quoted:
        return None
    return (
        f"# The case of this test, quoted from runners/{framework}/cases/{topic}.py. It does not run by itself:\n"
        "# reproduce.sh runs it. trial.tensor makes a tensor on the device; trial.call, call_method and call_inside\n"
        "# call the function under test; trial.close, equal and check compare. Its parameters are in manifest.json.\n\n"
        f"{quoted}\n"
    )


def _filled(data: Any, grid: Data) -> Any:
    if isinstance(data, str):
        return grid.get(data, data)
    if isinstance(data, list):
        return [_filled(each, grid) for each in data]
    return {key: _filled(each, grid) for key, each in data.items()} if isinstance(data, dict) else data


def _with_numbers(value: Any) -> Any:
    """A value with numbers for the words that stand for them in lists."""
    if isinstance(value, list):
        return [{"number": each} if each in ("nan", "inf", "-inf") else _with_numbers(each) for each in value]
    return value


class _Program:
    """Collects the lines; each argument is an expression for the device and one for the host."""

    def __init__(self, framework: str, function: str, test: Data, device: str) -> None:
        self._framework = framework
        self._function = function
        self._called, self._own_import = _reached(function)
        self._test = test
        self._device = device
        self._dtypes: list[str] = []
        self._lines: list[str] = []
        self._may_overflow = False

    def text(self) -> str:
        test, expect = self._test, self._test["expect"]
        built = [self._one(each) for each in test.get("args", [])]
        named = {key: self._one(each)[0] for key, each in test.get("kwargs", {}).items()}
        call = ", ".join([device for device, _ in built] + [f"{key}={value}" for key, value in named.items()])
        if "raises" in expect:
            after = _refused(f"{self._called}({call})", expect["raises"])
            return "\n".join([*self._head(None), *self._lines, *after]) + "\n"
        steps = "".join(f"[{step!r}]" for step in expect.get("output", []))
        after = [f"output = {self._called}({call}){steps}", "print(output)"]
        expected = self._expected(expect, [host for _, host in built])
        if expected is None:
            after.append(f"# Expected: {expect['property']} {json.dumps(expect.get('params', {}))}")
        else:
            after += [
                *check_of(self._framework, test, self._dtypes, self._may_overflow),
                f"check(output, {expected})",
                'print("as expected")',
            ]
        return "\n".join([*self._head(expected), *self._lines, *after]) + "\n"

    def _head(self, expected: str | None) -> list[str]:
        module = ".".join(part for part in self._function.split(".")[:-1] if part != "tf")
        head = [f"# {self._test['id']} of {self._function}, with the framework and NumPy alone.", "import numpy as np"]
        if expected and "scipy." in expected:
            head.append(f"import {expected[expected.index('scipy.') :].split('(')[0].rpartition('.')[0]}")
        head += [_IMPORTS[self._framework], *self._own_import]
        if self._framework == "jax":
            head += [f"import {module}"] * (module not in ("jax", "jax.numpy"))
            if any(dtype.endswith(("64", "128")) and dtype != "complex64" for dtype in self._dtypes):
                head.append('jax.config.update("jax_enable_x64", True)')
        device = _DEVICES.get(self._framework, {}).get(self._device)
        if self._framework != "jax" and device is None:
            raise NotPlain(f"{self._device} needs more than a name to be opened")
        if self._framework == "torch":
            head.append(f"device = {device!r}")
        if self._framework == "tensorflow":
            head.append(f"tf.device({device!r}).__enter__()")
        return [*head, ""]

    def _expected(self, expect: Data, hosts: Sequence[str]) -> str | None:
        if "property" in expect:
            return None
        if "value" in expect:
            return self._one(_with_numbers(expect["value"]))[1]
        library = "np" if "numpy" in expect else "scipy"
        name = expect["numpy" if library == "np" else "scipy"]
        arguments = list(hosts)
        if "args" in expect:
            arguments = [
                hosts[each["arg"]] if isinstance(each, dict) and "arg" in each else self._one(each)[1]
                for each in expect["args"]
            ]
        named = [f"{key}={self._one(each)[1]}" for key, each in expect.get("kwargs", {}).items()]
        return f"{library}.{name}({', '.join([*arguments, *named])})"

    def _one(self, data: Any) -> tuple[str, str]:
        if isinstance(data, list):
            return self._joined(data, "[", "]")
        if not isinstance(data, dict):
            return repr(data), repr(data)
        (kind, value), *_ = data.items()
        if kind == "tensor":
            return self._tensor(value)
        if kind == "tuple":
            return self._joined(value, "(", ",)" if value else ")")
        if kind == "dtype":
            name = "bool_" if (self._framework, value) == ("jax", "bool") else value
            return _DTYPE[self._framework].format(name), f"np.dtype({_CARRIERS.get(value, value)!r})"
        if kind == "attribute":
            return value, "None"
        if kind in ("complex", "number"):
            made = f"complex(*{value!r})" if kind == "complex" else f"float({value!r})"
            return made, made
        if kind == "device" and self._framework == "torch":
            return "device", "None"
        raise NotPlain(f"an argument of the kind {kind} has no plain form")

    def _joined(self, data: Sequence[Any], before: str, after: str) -> tuple[str, str]:
        made = [self._one(each) for each in data]
        return tuple(before + ", ".join(each[side] for each in made) + after for side in (0, 1))  # type: ignore[return-value]

    def _tensor(self, value: Data) -> tuple[str, str]:
        dtype, number = value["dtype"], len(self._dtypes)
        if value.get("layout", "contiguous") != "contiguous":
            raise NotPlain(f"a tensor of the layout {value['layout']} has no plain form")
        self._dtypes.append(dtype)
        carrier = _CARRIERS.get(dtype, dtype)
        far = max(abs(value.get(end, 0)) for end in ("low", "high"))
        self._may_overflow = self._may_overflow or "values" in value or far > _FAR
        if isinstance(value.get("values"), dict):
            array = _edges(dtype, **value["values"])
        else:
            array = f"np.array({value['values']!r})" if "values" in value else _random(value, str(carrier))
        self._lines.append(f'array{number} = {array}.astype("{carrier}")')
        made = _TENSOR[self._framework].format(array=f"array{number}", dtype=dtype)
        self._lines.append(f"tensor{number} = {made}")
        if dtype in _CARRIERS:
            # What the framework made of the values, which it rounds.
            return f"tensor{number}", f'to_numpy(tensor{number}).astype("float64")'
        wide = "complex128" if dtype.startswith("complex") else "float64"
        return f"tensor{number}", f'array{number}.astype("{wide}")' if dtype in _WIDE else f"array{number}"


def _reached(function: str) -> tuple[str, list[str]]:
    """How a program names a function, and the lines that import it: ``tf`` has no attribute ``python``."""
    if not function.startswith("tf.python."):
        return function, []
    home, _, module = function.rpartition(".")[0].rpartition(".")
    return f"{module}.{function.rpartition('.')[2]}", [f"from {home.replace('tf', 'tensorflow', 1)} import {module}"]


def _refused(call: str, expected: Data) -> list[str]:
    """A call that must raise one of some errors, with a word in its message."""
    given = expected["class"]
    kinds = [given] if isinstance(given, str) else list(given)
    return [
        "try:",
        f"    print({call})",
        "except Exception as error:",
        '    print(f"{type(error).__name__}: {error}")',
        f"    assert not {{kind.__name__ for kind in type(error).__mro__}}.isdisjoint({kinds!r})",
        f"    assert {expected['message'].lower()!r} in str(error).lower()",
        '    print("as expected")',
        "else:",
        f"    raise AssertionError({'expected ' + ' or '.join(kinds) + ', got no error'!r})",
    ]


def _edges(dtype: str, edges: str, subnormal: bool = False) -> str:
    """The edge values of a dtype, each written out."""
    known = edge_values()[dtype]
    numbers = [*known["values"], *(known.get("subnormal", ()) if subnormal else ())]
    row = f'np.array([{", ".join(map(_number, numbers))}], "{_CARRIERS.get(dtype, dtype)}")'
    if edges == "square":
        return f"np.stack([np.roll({row}, step) for step in range({len(numbers)})])"
    return f"{row}[:, None]" if edges == "column" else row


def _number(value: Any) -> str:
    if isinstance(value, str):
        return f'float("{value}")'
    return f"complex(*{value})" if isinstance(value, list) else repr(value)


def _random(value: Data, dtype: str) -> str:
    """The runner's random arrays, from a generator whose stream never changes."""
    low, high, shape = value.get("low"), value.get("high"), tuple(value["shape"])
    state = f"np.random.RandomState({value.get('seed', 0)})"
    if dtype == "bool":
        return f"{state}.randint(0, 2, {shape})"
    if dtype.startswith(("int", "uint")):
        return f"{state}.randint({0 if low is None else int(low)}, {10 if high is None else int(high)}, {shape})"
    if dtype.startswith("complex"):
        raise NotPlain("random complex numbers have no plain form of one line")
    return (
        f"{state}.standard_normal({shape})"
        if low is None or high is None
        else f"{state}.uniform({low}, {high}, {shape})"
    )

"""What functions make of each kind of number, and what they refuse. Types are seen in traces, which compile nothing."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing import references
from runners.core.testing.trial import Trial
from runners.jax.double import x64
from runners.jax.output_types import traced


def elementwise(trial: Trial, real: bool = False) -> None:
    """Of arrays of each type, in each number of axes and without elements, of NumPy's scalars and of plain numbers, the
    output has their shape: in their type, or float32 of integers; that of plain numbers, and of arrays made of them, is
    weak. With ``real`` no complex numbers are given."""
    dtypes = ["float32", "float16", "bfloat16", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"]
    shapes: list[Any] = [(), (0,), (2, 0, 3), (1,), (2, 3), (1, 1, 2, 1)]
    calls: list[Any] = []
    for number, dtype in enumerate(dtypes + ([] if real else ["complex64"])):
        for shape in shapes[number % 3 :: 3]:
            calls.append(((np.zeros(shape, jnp.dtype(dtype)),), {}))
    scalars = [np.float16(1), np.int8(1), np.bool_(True), np.float32(2), np.uint16(3)]
    plain: list[Any] = [1, 2.5, True]
    calls += [((scalar,), {}) for scalar in [*scalars, *plain, jnp.asarray(2.5), jnp.asarray(3)]]
    for output, ((value,), _) in zip(traced(trial, calls), calls):
        name = "float32" if isinstance(value, (bool, int, float)) else np.asarray(value).dtype.name
        wanted = name if name.startswith(("float", "bfloat", "complex")) else "float32"
        weak = isinstance(value, (int, float, jax.Array)) and not isinstance(value, bool)
        trial.equal(output, (np.shape(value), wanted, weak))


def integers(
    trial: Trial,
    reference: str,
    low: int | None = None,
    dtypes: Sequence[str] = ("int8", "uint8", "int16", "uint16", "int32", "uint32"),
) -> None:
    """Integers of each type, with those at both ends of its range, have the outputs of the numbers that they are: more
    than one block of each, all in one program. Those below ``low`` are left out."""
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)
    hosts = []
    for dtype in dtypes:
        ends = np.iinfo(dtype)
        numbers = [
            number for number in (0, 1, 2, -3, ends.min, ends.max, ends.max // 2 + 1, 100, 33) if number >= ends.min
        ]
        hosts.append(np.resize([each for each in numbers if low is None or each >= low], 131).astype(dtype))

    def body(function: Callable[..., Any], *arrays: Any) -> Any:
        return jax.jit(lambda *arrays: [function(array) for array in arrays])(*arrays)

    trial.has_random_inputs = False  # other values would compile the same program again
    for host, output in zip(hosts, trial.call_inside(body, *map(trial.tensor, hosts))):
        with np.errstate(all="ignore"):
            expected = exact(host.astype("float32").astype("float64"))
            expected = expected.astype("float32")  # what is beyond its range is infinite
        trial.close(output, expected, rtol=3e-6, atol=1e-6, dtype="float32")


def bends(trial: Trial, of: str) -> None:
    """jax.numpy.exp, cos and sqrt: the first and second derivatives at zeros of both signs, at the ends of what float32
    holds and between, all in one program. The closed forms are in float64."""
    points = {
        "exp": [0.0, -0.0, 80.0, -80.0, 1e-6, -1.5, np.inf, -np.inf],
        "cos": [0.0, -0.0, 100.5, -100.5, 1e-6, 3.0, 1000.0, -2.5],
        "sqrt": [1e-20, 1e20, 4.0, 2.25, 1e-6, 1e10, 0.3, 7.0],
    }[of]
    host = np.array(points, "float32")
    x = host.astype("float64")
    with np.errstate(all="ignore"):
        closed = {
            "exp": (np.exp(x), np.exp(x)),
            "cos": (-np.sin(x), -np.cos(x)),
            "sqrt": (0.5 / np.sqrt(x), -0.25 * x**-1.5),
        }
    slopes, curves = closed[of]

    def body(function: Callable[..., Any], x: Any) -> Any:
        def summed(x: Any) -> Any:
            return jnp.sum(function(x))

        return jax.jit(lambda x: (jax.grad(summed)(x), jax.grad(lambda x: jnp.sum(jax.grad(summed)(x)))(x)))(x)

    first, second = trial.call_inside(body, trial.tensor(host))
    trial.close(first, slopes, rtol=3e-6, atol=2e-7, dtype="float32")
    trial.close(second, curves, rtol=3e-6, atol=2e-7, dtype="float32")


def under_settings(trial: Trial, reference: str, nan: bool = True) -> None:
    """While ``jax.disable_jit`` is in force the output is the same, and with ``nan`` a NaN is an error while
    ``jax.debug_nans`` is, and none afterwards."""
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)
    host = np.array([0.5, 1.25, 3.0, 2.0], "float32")
    broken = np.array([0.5, np.nan, 3.0, 2.0], "float32")

    def body(function: Callable[..., Any], setting: Callable[[Any], Any], x: Any) -> Any:
        with setting(True):
            return jax.block_until_ready(function(x))

    def uncompiled(function: Callable[..., Any], x: Any) -> Any:
        with jax.disable_jit():
            return function(x)

    wanted = exact(host.astype("float64"))
    dtype = "bool" if np.asarray(wanted).dtype == bool else "float32"
    trial.close(trial.call_inside(uncompiled, trial.tensor(host)), wanted, rtol=3e-6, dtype=dtype)
    trial.has_random_inputs = False
    if nan:
        trial.raises_inside(["FloatingPointError"], "nan", body, jax.debug_nans, trial.tensor(broken))
        trial.close(trial.call(trial.tensor(broken)), exact(broken.astype("float64")), rtol=3e-6, dtype=dtype)


def wide(trial: Trial, types: Mapping[str, str], more: Sequence[Any] = ()) -> None:
    """With 64-bit types enabled, plain numbers and arrays of each type have outputs of these types, and without them of
    the 32-bit ones. ``types``: ``int`` is a plain number, ``int8`` an array. ``more`` follows."""
    plain: dict[str, Any] = {"int": 3, "float": 2.5, "bool": True}

    def body(function: Callable[..., Any], kinds: Any) -> Any:
        found = {}
        for kind in kinds:
            # An array's type needs no array.
            given = plain.get(kind, kind)
            if isinstance(given, str):
                given = jax.ShapeDtypeStruct((2,), jnp.dtype(given))
                found[kind] = str(jax.eval_shape(lambda x: function(x, *more), given).dtype)
            else:
                found[kind] = str(jax.eval_shape(lambda given=given: function(given, *more)).dtype)
        return found

    def enabled(function: Callable[..., Any]) -> Any:
        with x64():
            return body(function, types)

    trial.equal(trial.call_inside(enabled), dict(types))
    names = {kind: str(jax.dtypes.canonicalize_dtype(dtype)) for kind, dtype in types.items() if "64" not in kind}
    trial.equal(trial.call_inside(body, list(names)), names)


def refused(trial: Trial, args: Sequence[Any], kinds: bool = True, second: bool = False, lists: bool = True) -> None:
    """Unknown keywords and arguments beyond the last one are errors, and with ``kinds`` so are arrays of objects, texts
    and dates, dicts, sets and with ``lists`` lists and tuples, as the first argument, or the ``second`` or both. A
    list in ``args`` stands for an array."""
    arrays = [trial.tensor(np.array(arg, "int32")) if isinstance(arg, list) else arg for arg in args]
    trial.raises(["TypeError"], "argument", *arrays, a_name_that_no_function_has=1)
    trial.raises(["TypeError"], "", *arrays, *[None] * 9)
    texts = np.array([["1", "2"], ["3", "4"]])
    values: list[Any] = [np.array([[1, 2.5], [2, None]], object), texts, texts.astype("S1"), texts.astype("M8[Y]")]
    values += [{}, {1}, {1: 2.0}, "1.5"]
    values += [[[1.5, 2.0], [3.0, 4.0]], ((1, 2), (3, 4))] if lists else []
    for value in values if kinds else []:
        for places in ((0,), (1,), (0, 1)) if second else ((0,),):
            given = [value if number in places else each for number, each in enumerate(arrays)]
            trial.raises(["TypeError", "AttributeError", "ValueError"], "", *given)

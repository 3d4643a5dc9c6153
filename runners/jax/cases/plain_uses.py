"""Plain uses of functions that compute little: numbers beside arrays, types by all their names, sizes of what is no
array, arguments of which only the shape counts, and what surrounds the call."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing import references
from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped
from runners.jax.surroundings import watched


def beside_numbers(trial: Trial, reference: str, dtypes: Sequence[str], numbers: Sequence[Any]) -> None:
    """A plain number beside an array takes the array's type, on either side: a whole number that is out of the range of
    integers wraps around. So does a NumPy number and an array without axes, where it is in the range. The output's
    type is not weak, and that of two numbers is, unless they are bools."""
    trial.repeatable = False  # each call is one of a row
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)
    for dtype in dtypes:
        values = np.array([0, 1, 5, 6, 100, 7], dtype)
        moved = trial.tensor(values, dtype)
        for number in numbers:
            bits = 8 * values.dtype.itemsize
            fits = values.dtype.kind == "f" or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
            taken = np.array(number if fits else number % 2**bits, dtype if fits else f"uint{bits}").astype(dtype)
            for given in (number, np.dtype(dtype).type(taken), trial.tensor(taken, dtype)) if fits else (number,):
                for first in (False, True):
                    pair = (moved, given)
                    output = trial.call(*(pair[::-1] if first else pair))
                    hosts = (np.full_like(values, taken), values) if first else (values, np.full_like(values, taken))
                    wanted = exact(*hosts)
                    trial.exact(output, wanted, wanted.dtype.name)
                    trial.equal(bool(output.weak_type), False)


def sizes_of_others(trial: Trial) -> None:
    """NumPy's numbers, plain bools, arrays without axes and an array that has only a shape have a size: a plain int."""
    shaped = jax.ShapeDtypeStruct((2, 0, 3), np.float32), jax.ShapeDtypeStruct((4, 3), np.int8)
    values = [(True, 1), (np.int8(3), 1), (np.array(2.5), 1), (np.zeros((0, 4)), 0), (shaped[0], 0), (shaped[1], 12)]
    for value, expected in values:
        output = trial.call(value)
        trial.equal((type(output), output), (int, expected))
    sized = type("Sized", (), {"size": 7, "shape": (3, 4)})()
    trial.equal((trial.call(sized), trial.call(sized, 0), trial.call(sized, axis=-1)), (7, 3, 4))
    many, huge = np.zeros((1, 2, 1, 3) * 4), jax.ShapeDtypeStruct((2**20, 2**33, 3), np.int8)
    trial.equal([trial.call(many), trial.call(many, 15), trial.call(many, -1), trial.call(many, 8)], [6**4, 3, 3, 1])
    trial.equal([trial.call(trial.tensor(many)), trial.call(trial.tensor(many), axis=9)], [6**4, 2])
    trial.equal([trial.call(huge), trial.call(huge, 1), trial.call(huge, -3)], [3 * 2**53, 2**33, 2**20])
    changed = np.zeros((2, 6))
    for shape in ((2, 6), (3, 4), (12,), (1, 12)):
        changed.shape = shape
        trial.equal((trial.call(changed), trial.call(changed, 0), changed.flags.writeable), (12, shape[0], True))
    host = trial.random(4, 3, 2)
    for axis in (0, 1, 2, -1, -2, -3, np.int32(1), np.int64(-1)):
        for value in (host, trial.tensor(host)):
            trial.equal(trial.call(value, axis), host.shape[axis])
    for axis in (3, -4, 100):
        trial.raises(["IndexError", "ValueError"], "", trial.tensor(host), axis)
    for wrong in (1.0, "0"):
        trial.raises(["TypeError"], "", trial.tensor(host), wrong)


def sizes_of_lists(trial: Trial) -> None:
    """Lists and tuples have the size of their array, and one of uneven lists is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for value, expected in (([1, 2, 3], 3), ([[1, 2], [3, 4], [5, 6]], 6), ((1, 2), 2), ([], 0), ([[]], 0)):
            output = trial.call(value)
            trial.equal((type(output), output), (int, expected))
        trial.equal([trial.call([[1, 2], [3, 4], [5, 6]], axis) for axis in (0, 1, -2)], [3, 2, 3])
        trial.raises(["ValueError"], "", [[1], [1, 2]])
        grown = [[1, 2]]
        for count in (1, 2, 3):
            trial.equal((trial.call(grown), trial.call(grown, 0), len(grown)), (2 * count, count, count))
            grown.append([3, 4])


def types_named(trial: Trial, args: Sequence[Any], expected: Sequence[Any]) -> None:
    """A type may be Python's, NumPy's, JAX's, a dtype or a text; that of the output is the same, of 32 bits for
    Python's own. The values are the expected ones, and the output is not weakly typed."""
    trial.repeatable = False  # each call is one of a row
    kinds = [(int, "int32"), (float, "float32"), (bool, "bool"), (complex, "complex64"), (np.dtype("int8"), "int8")]
    kinds += [(np.float16, "float16"), (jnp.bfloat16, "bfloat16"), (jnp.int32, "int32")]
    kinds += [("uint32", "uint32"), ("bool", "bool"), ("f2", "float16"), ("F", "complex64")]
    given = [tuple(arg) if isinstance(arg, list) else arg for arg in args]
    for kind, name in kinds:
        output = trial.call(*given, dtype=kind)
        trial.equal((str(output.dtype), bool(output.weak_type)), (name, False))
        trial.exact(output, np.array(expected).astype("complex64" if name == "complex64" else "float32"), name)


def types_refused(trial: Trial) -> None:
    """Types that no array has are refused: objects, texts, times and structures, in all their names. Negative sizes and
    fractions are no shape. A type of 64 bits, by its name, is cut to 32 with a warning, unless they are enabled."""
    for kind in (object, str, bytes, "O", "U4", "S3", "V4", "datetime64[s]", "timedelta64[s]", np.dtype("O")):
        trial.raises(["TypeError"], "dtype", (2,), kind)
        trial.raises(["TypeError"], "dtype", 2, dtype=kind)
    for shape in ((2, -1), (-1,), -1, [3, -2], np.array([-1, 2])):
        trial.raises(["TypeError", "ValueError"], "nonnegative", shape)
    for fraction in ((2.0,), 2.5, [1, 2.0], (np.float32(2),)):
        trial.raises(["TypeError"], "", fraction)
    for name in ("float64", "int64", "uint64", "complex128"):
        narrow = name.replace("64", "32").replace("128", "64")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            output = trial.call((2, 3), dtype=name)
        trial.equal((str(output.dtype), output.shape), (narrow, (2, 3)))
        trial.equal([each.category for each in caught if name in str(each.message)], [UserWarning])


def shape_alone_counts(trial: Trial) -> None:
    """jax.numpy.tril_indices_from: only the shape of the array counts, not its type, nor its values: zeros, NaN,
    infinities. A traced array will do."""
    # Few shapes, of different numbers of indices: each is a program, which all types share.
    for dtype, value in (
        *(("bool", False), ("bool", True), ("float32", np.nan), ("float16", np.inf), ("int32", 0), ("complex64", 0)),
        *(("uint8", 255), ("float32", -0.0)),
    ):
        for shape, offset in (((3, 5), 1), ((5, 3), -1)):
            host = np.full(shape, value, dtype)
            rows, columns = np.tril_indices(shape[0], offset, shape[1])
            for given in (host, trial.tensor(host, dtype)) if shape == (3, 5) else (host,):
                output = trial.call(given, offset)
                trial.equal((type(output), len(output)), (tuple, 2))
                trial.exact(output[0], rows, "int32")
                trial.exact(output[1], columns, "int32")


def indices_refuse_traced(trial: Trial, array: bool = False) -> None:
    """Sizes and the diagonal must be known when a function is compiled."""

    def body(function: Callable[..., Any], which: str) -> Any:
        def of(number: Any) -> Any:
            if array:
                return function(np.ones((3, 3), "float32"), k=number)
            return function(**{"n": 3, which: number})

        return jax.jit(of)(2)

    for which in ("k",) if array else ("n", "k", "m"):
        trial.raises_inside(["TypeError"], "concrete", body, which)


def stopped_everywhere(trial: Trial) -> None:
    """jax.lax.stop_gradient: no derivative comes through, of arrays of many axes, none, no elements or many, alone and
    in a container, of any floating type, in both directions; the values do, also within a compiled function."""
    shapes = ((), (1,), (2, 3, 4), (2, 1, 3, 1, 2, 2), (0, 3), (70001,), (300, 301))
    kinds = [(dtype, shape) for dtype in ("float32", "float16", "bfloat16") for shape in shapes]
    kinds = [(dtype, shape) for dtype, shape in kinds if dtype == "float32" or shape in shapes[:3]]
    hosts = [np.asarray(trial.random(*shape, dtype="int32", low=1, high=9), "float32") for _, shape in kinds]
    arrays = [trial.tensor(host, dtype) for host, (dtype, _) in zip(hosts, kinds)]

    def body(function: Callable[..., Any], arrays: Any) -> Any:
        def derived(array: Any) -> Any:
            def product(x: Any) -> Any:
                return x * function(x) + x * function({"a": [x]})["a"][0]

            # Half precision cannot sum all of an array, but has the derivative of the sum.
            value, pull_back = jax.vjp(product, array)
            forward = jax.jvp(product, (array,), (jnp.ones_like(array),))[1]
            return pull_back(jnp.ones_like(value))[0], forward, function(array)

        # One program for all, and one array not in it.
        return [*jax.jit(lambda arrays: list(map(derived, arrays)))(arrays), derived(arrays[0])]

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(body, arrays)
    for found, host, (dtype, _) in zip(outputs, [*hosts, hosts[0]], [*kinds, kinds[0]]):
        for output, factor in zip(found, (2, 2, 1)):
            trial.exact(output, factor * host, dtype)


def numbers_gathered(trial: Trial, stacked: bool) -> None:
    """Plain numbers, NumPy's and arrays without axes are the same of each member of a mapped axis, alone and in a tree;
    their types are kept."""
    numbers = (3, True, -2.5, np.int8(-3), np.float16(0.5), np.array(7, "uint8"), np.bool_(False))
    names = ("int32", "bool", "float32", "int8", "float16", "uint8", "bool")
    given = [(n, name) for n, name in zip(numbers, names) if stacked or name != "bool"]

    def body(function: Callable[..., Any], x: Any) -> Any:
        def one(x: Any) -> Any:
            alone = [function(number, "i") for number, _ in given]
            together = function([number for number, _ in given], "i")
            return alone, together

        return jax.vmap(one, axis_name="i")(x)

    for outputs in trial.call_inside(body, trial.tensor(trial.random(3))):
        for output, (number, name) in zip(outputs, given):
            trial.exact(output, np.full((3, 3) if stacked else (3,), number), name)


def weak_outputs(trial: Trial) -> None:
    """jax.vjp: of a plain number and of a weak array the output and the cotangent are weakly typed, of others not."""
    for given, weak in ((3.0, True), (jnp.asarray(3.0), True), (np.float32(3), False), (jnp.float32(3), False)):

        def body(vjp: Callable[..., Any], given: Any = given) -> Any:
            value, pull = vjp(lambda x: x * x, given)
            return value, pull(jnp.asarray(1.0) if isinstance(given, float) else jnp.ones_like(value))[0]

        outputs = trial.call_inside(body)
        trial.equal([bool(each.weak_type) for each in outputs], [weak, weak])
        for output, wanted in zip(outputs, (9, 6)):
            trial.exact(output, wanted, "float32")


def never_weak(trial: Trial) -> None:
    """Of a plain number, a weak array and a NumPy number the output is a float32 that is not weakly typed."""
    for given in (1.5, jnp.asarray(1.5), np.float64(1.5), np.float32(1.5), trial.tensor(np.array(1.5))):
        output = trial.call(given)
        trial.check(isinstance(output, jax.Array), f"expected an array, got {type(output).__name__}")
        trial.equal((str(output.dtype), output.shape, bool(output.weak_type)), ("float32", (), False))
        trial.close(output, np.array(0.9331927987311419), rtol=1e-6)


def curved(trial: Trial, kind: str) -> None:
    """The second and the third derivative are those of the closed form, at numbers of both signs and in the tails: in
    reverse, in both directions together, within a compiled function."""
    points = np.array([-6.5, -4.5, -2.0, -0.75, -1e-3, 0.0, 0.25, 1.0, 1.75, 3.0, 5.0, 7.0])
    at = points * (0.6 if kind == "erf" else 1)
    host = at.astype("float32").astype("float64")
    if kind == "erf":
        slope = 2 / np.sqrt(np.pi) * np.exp(-(host**2))
        second, third = -2 * host * slope, (4 * host**2 - 2) * slope
    else:
        slope = np.exp(-(host**2) / 2) / np.sqrt(2 * np.pi)
        second, third = -host * slope, (host**2 - 1) * slope

    def body(function: Callable[..., Any], x: Any) -> Any:
        curve = jax.grad(jax.grad(function))
        # One program for all: the derivatives of first and second order are taken step by step elsewhere.
        derived = (curve, jax.jacfwd(jax.grad(function)), jax.grad(curve))
        return jax.jit(lambda x: [jax.vmap(each)(x) for each in derived])(x)

    # The exponent of up to 25 is itself rounded: 25 times half a unit of float32, a few times.
    for output, wanted in zip(trial.call_inside(body, trial.tensor(host)), (second, second, third)):
        trial.close(output, wanted, rtol=2e-5, atol=1e-6, dtype="float32")


def traced_in_silence(trial: Trial, dynamic: bool = False) -> None:
    """To trace a function changes nothing around it, prints nothing, warns of nothing and draws nothing."""

    def function(x: Any) -> Any:
        return [jnp.sin(x) + 1]

    with watched(trial):
        if dynamic:
            aval = jax.core.ShapedArray((3,), np.dtype("float32"))
            output = trial.call(wrapped(function, 1), [aval])
            trial.equal((type(output), len(output)), (tuple, 3))
        else:
            trial.call(function)(np.ones(3, "float32"))

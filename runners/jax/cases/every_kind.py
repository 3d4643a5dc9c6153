"""Numbers, types, axes and sizes of every kind beside each other, most of them in traces: jax.nn.one_hot,
jax.numpy.arange and split, jax.lax.slice_in_dim and top_k, jax.scipy.linalg.lu. The references are NumPy's."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.output_types import traced


def classes(trial: Trial) -> None:
    """Classes lie on each axis of an array with each number of axes, also where the axis and the number of classes are
    NumPy's. The output has the dtype that is asked for, of indices of each type, and no weak type. Large indices of 8
    bits and the last of many classes have their place. A bool is no index."""
    calls: list[Any] = []
    shapes: list[tuple[int, ...]] = [(), (3,), (2, 3), (3, 1), (2, 3, 5)]
    kind: Any
    for shape in shapes:
        indices = np.zeros(shape, "int32")
        for axis in range(-len(shape) - 1, len(shape) + 1):
            kind = np.int8 if axis % 2 else int
            calls.append(((indices, kind(4)), {"axis": kind(axis)}))
    sources = ("uint8", "int32", "float16", "float32")
    kinds = ("float16", "bfloat16", "complex64", "bool", "int8", "uint32", bool, int, complex, np.float16)
    for number, kind in enumerate(kinds):
        calls.append(((np.ones((2, 2), sources[number % 4]), 3), {"dtype": kind}))
    calls += [((np.ones((2, 2), source), 3), {}) for source in sources]
    calls += [((number, 3), {}) for number in (2, -1, 2.0, np.int8(1), np.float16(2))]
    for output, (args, kwargs) in zip(traced(trial, calls), calls):
        sizes = list(np.shape(args[0]))
        axis = kwargs.get("axis", -1)
        sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, int(args[1]))
        trial.equal(output, (tuple(sizes), _name(kwargs.get("dtype", "float32")), False))
    trial.raises(["TypeError"], "bool", trial.tensor(np.array([True, False])), 2)
    bytes_, many = np.array([200, 0, 127, 73], "uint8"), np.array([1029, 256, -1], "int32")

    def body(function: Callable[..., Any], *arrays: Any) -> Any:
        return jax.jit(lambda x, y: (function(x, 201, axis=0), function(y, 1030)))(*arrays)

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(body, trial.tensor(bytes_), trial.tensor(many))
    trial.exact(outputs[0], (np.arange(201)[:, None] == bytes_) + 0.0, "float32")
    trial.exact(outputs[1], (np.arange(1030) == many[:, None]) + 0.0, "float32")


def ranges(trial: Trial) -> None:
    """Bounds and steps may be plain numbers and NumPy's of each type, a step also an array of the device: the range has
    the type of all of them, or the one that is asked for, which integers between fractions have too. It is not weakly
    typed."""
    trial.repeatable = False  # each call is one of a row
    device = trial.tensor(np.array(3, "int16"))

    half, byte, short = np.float16, np.int8, np.int16
    calls: list[Any] = [
        ((short(5),), "int16"),
        ((byte(2), byte(9), byte(3)), "int8"),
        ((short(9), byte(2), -3), "int16"),
        ((half(4),), "float16"),
        ((0, half(2), half(0.5)), "float16"),
        ((2, 0, half(-0.5)), "float16"),
        ((half(1), short(4)), "float16"),
        ((np.uint8(3), 9, np.uint8(2)), "uint8"),
        ((1, 4, 0.75), "float32"),
        ((1, 4.5), "float32"),
        ((4.0, 1), "float32"),
    ]
    outputs = traced(trial, [(args, {}) for args, _ in calls])
    for output, (args, dtype) in zip(outputs, calls):
        bounds: Any = [np.asarray(each).astype("float64") for each in args]
        count = len(np.arange(*bounds))
        trial.equal(output, ((count,), dtype, False))
    kinds = (int, float, complex, "int8", np.uint16, "bfloat16", half)
    ranges_ = ((3,), (4, 1, -1), (2, 2), (2.5,), (1.5, 4), (-2.5, 5.0, 2.0))
    typed = [(args, {"dtype": kind}) for kind in kinds for args in ranges_]
    for output, (args, options) in zip(traced(trial, typed), typed):
        trial.equal(output, ((len(np.arange(*args)),), _name(options["dtype"]), False))
    trial.exact(trial.call(trial.tensor(np.array(5, "int8"))), np.arange(5), "int8")
    for args, expected in (
        ((2.5, 6.5), [2, 3, 4, 5]),
        ((-2.5, 5.0, 2.0), [-2, 0, 2, 4]),
        ((3.0, -3.5, -2), [3, 1, -1, -3]),
        ((1, 9, np.int32(3)), [1, 4, 7]),
        ((1, 9, device), [1, 4, 7]),
    ):
        trial.exact(trial.call(*args, dtype="int32"), expected, "int32")


def parts(trial: Trial) -> None:
    """The number of parts, the places between them and the axis may be of NumPy or arrays of the device, places also a
    tuple, repeated or none at all: the output is a list of arrays of the device, each of the array's type."""
    device = trial.tensor(np.array(3, "int32"))
    trial.repeatable = False  # each call is one of a row
    calls: list[Any] = [
        (kind, {"axis": axis})
        for kind in (3, np.int8(3), np.uint64(3), np.array(3), device)
        for axis in (0, np.int8(-2))
    ]
    calls += [(kind, {"axis": axis}) for kind in (5, np.int16(5)) for axis in (np.int64(1), -1)]
    places: list[Any] = [(1,), [1, 1], (0, 2, 6), [], (), np.array([], "int32"), np.array([2, 5], "uint8")]
    places += [[np.int64(2), 3], [device], (6,)]
    calls += [(each, {}) for each in places] + [([1, 4], {"axis": np.int32(1)})]
    for dtype in ("float32", "int8", "bool", "bfloat16", "complex64"):
        host = np.zeros((6, 5), jnp.dtype(dtype))
        some = calls if dtype == "float32" else calls[-8:-5]
        outputs = traced(trial, [((host, sections), kwargs) for sections, kwargs in some])
        for output, (sections, kwargs) in zip(outputs, some):
            if np.ndim(sections):
                sections = [int(each) for each in sections]
            wanted = np.split(host, sections if np.ndim(sections) else int(sections), int(kwargs.get("axis", 0)))
            trial.equal(output, (list, [(part.shape, dtype, False) for part in wanted]))
    several: Any
    for several in ([], 1):
        (output,) = trial.call(np.ones((2, 3), "float32"), several)
        trial.check(isinstance(output, jax.Array), f"expected an array of the device, got {type(output).__name__}")


def strides(trial: Trial) -> None:
    """Bounds, stride and axis may be plain, NumPy's or arrays of the device, negative, the whole length or more than
    it; the slice has the type of the array."""
    device = [trial.tensor(np.array(number, "int8")) for number in (1, 5)]
    bounds: list[Any] = [(0, -7), (0, 7), (-7, 7), (-7, -6), (-7, -7), (None, -1), (-3, None), (None, None), (7, 7)]
    bounds += [(7, None), (-2, 7), (1, -1), device, [np.int8(-6), np.int64(6)], np.array([2, 5], "uint8")]
    calls: list[Any] = []
    host = np.zeros((3, 7, 2), "float32")
    for start, limit in bounds:
        for stride, axis in ((1, np.int64(-2)), (np.int8(3), 1), (8, -2)):
            calls.append(((host, start, limit, stride, axis), {}))
    for dtype in ("int8", "uint16", "bool", "bfloat16", "float16", "complex64"):
        calls += [((host.astype(jnp.dtype(dtype)), -6, -1), {"stride": stride, "axis": 1}) for stride in (1, 3)]
    for output, (args, kwargs) in zip(traced(trial, calls), calls):
        stride = int(kwargs.get("stride", args[3] if len(args) > 3 else 1))
        start, limit = (None if each is None else int(each) for each in args[1:3])
        count = len(range(7)[start:limit:stride]) if limit != 0 else 0
        trial.equal(output, ((3, count, 2), args[0].dtype.name, False))
    whole = trial.call(np.ones(3, "float32"), 0, 3)
    trial.check(isinstance(whole, jax.Array), f"expected an array of the device, got {type(whole).__name__}")


def factors(trial: Trial) -> None:
    """jax.scipy.linalg.lu: the factors of square, wide and tall matrices of each type, with the permutation or as part
    of the first one, which a number may ask for too. What the other options are changes no type or shape."""
    calls: list[Any] = [
        ((np.zeros((2, 5), "float32"), 1), {}),
        ((np.zeros((4, 1), "uint16"), np.bool_(True)), {}),
        ((np.zeros((3, 3), "bool"), False), {}),
        ((np.zeros((1, 1), "int8"),), {"permute_l": 0, "check_finite": False}),
        ((np.zeros((4, 3), "complex64"),), {"overwrite_a": True, "permute_l": True}),
    ]
    for (kind, outputs), (args, kwargs) in zip(traced(trial, calls), calls):
        (rows, columns), dtype = args[0].shape, "complex64" if args[0].dtype.kind == "c" else "float32"
        inner = min(rows, columns)
        trial.equal(kind, tuple)
        trial.equal(outputs[-2:], [((rows, inner), dtype, False), ((inner, columns), dtype, False)])
        permuted = bool(kwargs.get("permute_l", args[-1] if len(args) > 1 else False))
        trial.equal([each[0] for each in outputs[:-2]], [] if permuted else [(rows, rows)])


def orders(trial: Trial) -> None:
    """jax.lax.top_k: integers of 16 bits are in their order, with and without a sign, and each of three axes' elements
    has its slope. All is one program."""
    signed = np.array([[[-32768, 32767, -1], [1, 256, -257]]], "int16")
    unsigned = signed.view("uint16")
    weight = np.array([[[1.5, -2.0], [3.0, 0.5]]], "float32")

    def body(top_k: Callable[..., Any], *arrays: Any) -> Any:
        def program(x: Any, y: Any, weight: Any) -> Any:
            slope = jax.grad(lambda z: jnp.sum(weight * top_k(z, 2)[0]))
            return (*top_k(x, 3), *top_k(y, 3), slope(x.astype("float32")))

        return jax.jit(program)(*arrays)

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(body, *map(trial.tensor, (signed, unsigned, weight)))
    for host, (values, places) in ((signed, outputs[:2]), (unsigned, outputs[2:4])):
        order = np.argsort(-host.astype("float64"), axis=-1, kind="stable")
        trial.exact(values, np.take_along_axis(host, order, -1), host.dtype.name)
        trial.exact(places, order, "int32")
    expected = np.zeros(signed.shape)
    np.put_along_axis(expected, np.argsort(-signed.astype("float64"), axis=-1)[..., :2], weight, -1)
    trial.exact(outputs[4], expected, "float32")


def _name(kind: Any) -> str:
    """Return the name of an output's type, with 32 bits in the place of 64."""
    return str(jax.dtypes.canonicalize_dtype(kind))

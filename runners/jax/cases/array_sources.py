"""jax.numpy.array: what it reads, what it refuses, and whose type stays weak."""

from __future__ import annotations

import array
from typing import Any

import jax.numpy as jnp
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.containers import Pair


class _Readable:
    """An object that NumPy can read as an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([[3, 1, 2]], dtype or "int32")


def read(trial: Trial) -> None:
    """Objects with __array__, tuples in lists and lists in tuples are read, each with its own dtype."""
    sources = (
        (_Readable(), [[3, 1, 2]], "int32"),
        ([(1, 2), (3, 4)], [[1, 2], [3, 4]], "int32"),
        (([1.5], [2]), [[1.5], [2]], "float32"),
        (array.array("h", [5, -6]), [5, -6], "int16"),
    )
    for source, values, dtype in sources:
        trial.exact(trial.call(source), np.array(values, dtype), dtype)


def weak_types(trial: Trial) -> None:
    """A plain number and a weakly typed array without axes give a weak type, unless a dtype is given; a bool, a list
    and an array with a dtype do not."""
    weak = jnp.asarray(2.5)
    for source, kept in ((2.5, True), (weak, True), (True, False), ([2.5], False), ([weak], False)):
        output = trial.call(source)
        trial.equal(bool(output.weak_type), kept)
        trial.exact(output, np.asarray(source, "bool" if source is True else "float32"))
    for source in (2.5, weak):
        output = trial.call(source, dtype=trial.dtype("float32"))
        trial.equal(bool(output.weak_type), False)
        trial.exact(output, 2.5, "float32")


def refuses(trial: Trial) -> None:
    """Sets, dicts, texts in a list, arrays of objects and dates are no arrays of numbers."""
    objects = np.array([1.0, 2.0], object)
    for source in ({1, 2}, {"a": 1}, ["1", "2"], objects, np.array(["2020-01-01"], "datetime64[D]")):
        trial.raises(["TypeError"], "", source)
    trial.exact(trial.call(objects.astype("float32")), [1, 2], "float32")


def changed_lists(trial: Trial) -> None:
    """A list that was changed, also one within a tuple, is read as it is now; earlier arrays keep their values."""
    trial.repeatable = False  # each call is one of a row
    flat, rows = [1.5, 2.5, -3.0], ([1.0, 2.0], [3.0, 4.0])
    for options in ({}, {"dtype": trial.dtype("float16")}, {"ndmin": 3}, {"copy": False}):
        dtype, least = "float16" if "dtype" in options else "float32", options.get("ndmin", 0)
        made = []
        for number in (5, -6.5, 7):
            flat[1], rows[1][0] = number, number
            for source in (flat, rows):
                made.append((trial.call(source, **options), np.array(source, dtype, ndmin=least)))
        for output, wanted in made:
            trial.exact(output, wanted, dtype)
    flat.append(8.0)
    trial.exact(trial.call(flat), np.array(flat, "float32"), "float32")


def kinds_of_numbers(trial: Trial) -> None:
    """Lists, tuples, ranges, memory and NumPy arrays of all kinds have the dtype of all their elements together and
    keep each value: -0.0, subnormal numbers, the last of a long list, the order of many levels. So do short ones with
    more axes. Numbers of NumPy have no weak type."""
    small = np.array([1e-40, -1e-45, -0.0, 1.2e-38], "float32")
    deep = (np.arange(192) - 5.5).reshape(2, 1, 3, 2, 2, 2, 4).tolist()
    sources = (
        ([True, 2, -3], "int32"),
        ([1, 2.5, True], "float32"),
        ((True, 2, 1 - 2j), "complex64"),
        ([np.float16(1.5), 2, 2.5], "float16"),
        ([np.int8(-1), np.uint8(200)], "int16"),
        ([np.int8(-1), True, 7], "int8"),
        ([np.float16(1), np.ones((), jnp.bfloat16)], "float32"),
        ([-0.0, 0.0, 2, float("nan"), float("-inf")], "float32"),
        (((1, 2, 3), (4, 5, 6)), "int32"),
        (range(9, -5, -4), "int32"),
        (bytearray(b"\x01\xff"), "uint8"),
        (memoryview(small), "float32"),
        (memoryview(np.array([[1, -2], [3, 4]], "int16")), "int16"),
        (small, "float32"),
        (deep, "float32"),
        ([0.5 * number for number in range(1500)], "float32"),
        (list(range(1100)), "int32"),
        ([[number, -number] for number in range(300)], "int32"),
        (-3, "int32"),
        (2.5, "float32"),
        (np.float64(2.5), "float32"),
        (np.bool_(True), "bool"),
        (np.array(-0.0), "float32"),
        (np.zeros((2, 0, 3), "int8"), "int8"),
    )
    for source, dtype in sources:
        values = np.asarray(source).astype(dtype)
        trial.exact(trial.call(source), values, dtype)
        if values.size < 9:
            trial.exact(trial.call(source, ndmin=4), values.reshape((1,) * (4 - values.ndim) + values.shape), dtype)
        if isinstance(source, (np.generic, np.ndarray)):
            trial.equal(bool(trial.call(source).weak_type), False)
    for source in ([0.0, -0.0, float("nan"), -2, 1e-40], np.array([0, -0.0, np.nan, -np.inf])):
        trial.exact(trial.call(source, dtype=bool), np.asarray(source).astype(bool), "bool")
    halves = [trial.tensor(np.array([1.5, -2]), "bfloat16"), trial.tensor(np.array([3, -0.0]), "float16")]
    trial.exact(trial.call(halves, ndmin=3), np.array([[[1.5, -2], [3, -0.0]]]), "float32")
    for source in (iter([1, 2]), (number for number in (1, 2)), object(), [object()], print, Ellipsis):
        trial.raises(["TypeError", "ValueError"], "", source)


def odd_sources(trial: Trial) -> None:
    """Named tuples, also nested, are rows. The order K and None change nothing. Up to twelve axes of length one are put
    in front. NumPy's other byte order is read rightly or refused, integers of more than
    32 bits in a list are cut or refused."""
    trial.repeatable = False
    for source, expected in (
        *((Pair(1, 2), [1, 2]), (Pair(np.int32(5), 6), [5, 6]), (Pair((1, 2), Pair(3, 4)), [[1, 2], [3, 4]])),
        *(([Pair(1, 2), [3, 4]], [[1, 2], [3, 4]]),),
    ):
        for options in ({"order": "K"}, {"order": None}, {"copy": False, "order": None}):
            trial.exact(trial.call(source, **options), np.array(expected), "int32")
    for source in ([5, 6], np.array([5, 6], "int32")):
        for axes in (0, 1, 12):
            wanted = np.array(source).reshape((1,) * (axes - 1) + (2,))
            trial.exact(trial.call(source, ndmin=axes), wanted, "int32")
    for wide in ([2**40 + 1, 2], [1, -(2**31) - 1]):
        try:
            output = trial.call(wide)
        except OverflowError:  # older versions cut them
            continue
        trial.exact(output, np.array(wide, "int64").astype("int32"), "int32")
    for dtype in (">f4", ">i2"):
        source = np.array([1, 2], dtype)
        try:
            output = trial.call(source)
        except TypeError:
            continue
        trial.exact(output, [1, 2], source.dtype.newbyteorder("=").name)

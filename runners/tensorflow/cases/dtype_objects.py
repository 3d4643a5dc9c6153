"""tf.dtypes.as_dtype: what a dtype says about itself, and other objects that have one."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

_KINDS: Mapping[str, tuple[int, str, float, float]] = {
    "float16": (2, "floating", -65504, 65504),
    "bfloat16": (2, "floating", -(2 - 2**-7) * 2.0**127, (2 - 2**-7) * 2.0**127),
    "float32": (4, "floating", -(2 - 2**-23) * 2.0**127, (2 - 2**-23) * 2.0**127),
    "float64": (8, "floating", -1.7976931348623157e308, 1.7976931348623157e308),
    "int8": (1, "integer", -128, 127),
    "int16": (2, "integer", -(2**15), 2**15 - 1),
    "int32": (4, "integer", -(2**31), 2**31 - 1),
    "int64": (8, "integer", -(2**63), 2**63 - 1),
    "uint8": (1, "unsigned", 0, 255),
    "uint16": (2, "unsigned", 0, 2**16 - 1),
    "uint32": (4, "unsigned", 0, 2**32 - 1),
    "uint64": (8, "unsigned", 0, 2**64 - 1),
}
"""Size in bytes, kind, lowest and highest value."""


def described(trial: Trial) -> None:
    """Size, kind and limits of numbers are those of the dtype; complex, quantized and other dtypes say what they
    are."""

    def body(as_dtype: Callable[..., Any]) -> Any:
        return {name: as_dtype(name) for name in (*_KINDS, "complex64", "complex128", "bool", "string", "qint8")}

    found = trial.call_inside(body)
    for name, (size, kind, low, high) in _KINDS.items():
        each = found[name]
        trial.equal((each.name, each.size, each.is_floating), (name, size, kind == "floating"))
        trial.equal((each.is_integer, each.is_unsigned), (kind != "floating", kind == "unsigned"))
        trial.equal((each.is_complex, each.is_bool, each.is_quantized), (False, False, False))
        trial.check(each.real_dtype is each and each.base_dtype is each, f"the dtype behind {name} is another one")
        if kind == "floating":
            trial.equal([float(each.min), float(each.max)], [low, high])
        else:
            trial.equal([int(each.min), int(each.max)], [low, high])
    for name, size, real in (("complex64", 8, tf.float32), ("complex128", 16, tf.float64)):
        each = found[name]
        trial.equal((each.size, each.is_complex, each.is_floating), (size, True, False))
        trial.check(each.real_dtype is real, f"the real part of {name} is {each.real_dtype}")
    trial.equal((found["bool"].is_bool, found["bool"].is_integer, found["bool"].size), (True, False, 1))
    trial.equal((found["qint8"].is_quantized, found["qint8"].is_integer), (True, False))
    trial.equal((found["string"].is_integer, found["string"].is_floating), (False, False))


def same(trial: Trial) -> None:
    """A dtype equals its name and NumPy's type and no other dtype, fits its reference, is a key, and is the same object
    after it was copied or pickled and made again."""
    for name in (*_KINDS, "complex64", "bool", "string"):
        each = trial.call(name)
        others = [copy.deepcopy(each), pickle.loads(pickle.dumps(each)), tf.DType(each.as_datatype_enum), each]
        for other in others:
            trial.check(trial.call(other) is each, f"{other!r} gave {trial.call(other)!r}, expected tf.{name}")
            trial.equal((other == each, hash(other) == hash(each), {each: name}.get(other)), (True, True, name))
        trial.equal((each == name, each != name, each == each.as_numpy_dtype), (True, False, True))
        wrong = "int32" if name != "int32" else "float32"
        trial.equal((each == wrong, each != trial.call(wrong), each is None), (False, True, False))
        reference = trial.call(name + "_ref")
        trial.equal((each.is_compatible_with(reference), each.is_compatible_with(wrong)), (True, False))
        trial.check(reference != each and reference.base_dtype is each, f"the reference of {name} is {reference!r}")


def of_objects(trial: Trial) -> None:
    """Arrays and other objects with a dtype of NumPy give that dtype."""

    class Holder:
        def __init__(self, dtype: Any) -> None:
            self.dtype = dtype

    for name in _KINDS:
        if name != "bfloat16":
            kind = np.dtype(name)
            for given in (np.zeros([2, 0], name), np.ones([2], name), Holder(kind), Holder(kind.type), Holder(name)):
                found = trial.call(given)
                trial.check(found is getattr(tf, name), f"{type(given).__name__} of {name} gave {found!r}")


def of_references(trial: Trial) -> None:
    """The dtype of a reference is another one than that of its values, by name, by number (100 more) and as an object;
    it is named after it, and has it as its base."""
    for name in (*_KINDS, "complex64", "complex128", "bool", "string", "qint8", "quint8", "resource", "variant"):
        plain = trial.call(name)
        number = plain.as_datatype_enum
        reference = trial.call(name + "_ref")
        for given in (name + "_ref", np.str_(name + "_ref"), number + 100, np.int64(number + 100), reference):
            found = trial.call(given)
            trial.check(found is reference, f"{given!r} gave {found!r}, expected tf.{name}_ref")
        trial.equal((reference.name, reference.as_datatype_enum), (name + "_ref", number + 100))
        trial.check(reference.base_dtype is plain and trial.call(number) is plain, f"another base than tf.{name}")
        trial.check(reference is not plain and plain.base_dtype is plain, f"tf.{name} is a reference")

"""Raw operations of ``tf.raw_ops``, and public functions that make the same one: inputs from their definitions.

A definition (OpDef) names inputs, attributes and their types, but no shapes. So shapes, small integers and attributes
are tried: a sample is what the operation's shape function accepts, and then its kernel for the host. Operations with a
function, a resource or a variant are no entries.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.tensorflow.samples import drawn, host_tensors, searching
from runners.tensorflow.samples.drawn import DTYPE, Drawn
from runners.tensorflow.samples.searching import OF_GRADIENTS, Form, Searched, Searches

PACKAGE = "tensorflow"
NEEDS = "any TensorFlow"

_DTYPES = ("bfloat16", "bool", "complex64", "float16", "float32", "float64", "int32", "int64", "string", "uint8")
_LEFT_OUT = (
    # They are about the program, its graph or its devices, not about tensors.
    *("Abort", "Batch", "Collective", "Const", "Cudnn", "Debug", "Device", "Enter", "Exit", "FakeParam", "HostConst"),
    *("ImmutableConst", "LoopCond", "Merge", "NextIteration", "Nccl", "NoOp", "Placeholder", "Print", "RefSwitch"),
    *("Switch", "TPU", "Timestamp", "Unbatch", "Xla", "_"),
    *("Configure", "Infeed", "IsTPU", "Outfeed", "PyFunc", "Recv", "Retrieve", "Send", "Shutdown"),
    # What they return was in memory, or is put there by others: they wait for it.
    *("DynamicStitch", "Empty", "Map", "OrderedMap", "ParallelDynamicStitch", "Stage", "Unstage"),
    # It returns another text each time.
    "Fact",
    # They read and write files.
    *("Load", "Matching", "Merge", "ReadFile", "Restore", "Save", "Shard", "WriteFile"),
    # Their arguments must belong together, which no definition says: a maximum to its place, a shift to the width,
    # values in order.
    *("LeftShift", "LowerBound", "MaxPool3DGrad", "MaxPoolGrad", "RightShift", "UpperBound"),
)
"""What the names of operations begin with that are no entries."""

_MOST_TRIES = 600
_SHAPES = ((4,), (1, 4, 4, 4), (4, 4), (2, 3, 4), (1, 2, 4, 4, 4), (1, 4, 4, 3), ())
_INTEGERS: Sequence[Any] = (
    *(0, 1, [0], [1], [4], [0, 1], [4, 4], [0, 0, 1, 1], [0, 1, 2, 3], 4, [2, 2]),
    *([[0, 0], [0, 0]], [[0], [1]], [1, 4, 4, 4], [[0, 1, 2, 3]] * 4, [1, 2, 4, 4, 4]),
)
"""Of inputs that are always integers: indices, axes, shapes, numbers of segments."""

_WITH_SIZES: Sequence[Any] = (
    *([1, 4, 4, 4], [0, 1, 2, 3], [1, 2, 4, 4, 4], [2, 2], 4, 2, [[0, 1], [1, 0]], [[1, 1], [0, 1]], [4], 0, 1),
)
"""The same for operations that take none of these: sizes and permutations first."""

_TEXTS: Sequence[Any] = (["a", "b c", "", "ü"], "a", [["1", "2"], ["3", "4"]])
_ATTRIBUTES: Mapping[str, Sequence[Any]] = {
    "bool": (False,),
    "float": (0.5,),
    "int": (2, 1, 4),
    "list(float)": ([-0.5, 0.0, 0.5], [1.0, 1.4, 1.4, 1.0]),
    "list(int)": ([1, 2, 2, 1], [1, 2, 2, 2, 1], [1, 1, 1, 1], [1], [1, 1, 1, 1, 1]),
    "shape": ([4], [4, 4]),
    "string": ("a",),
}
_UNIQUE: Mapping[str, Callable[[Any], Any]] = {
    # The rest of their outputs is for the gradient of the same device.
    **{
        f"FusedBatchNorm{kind}": lambda output: list(output[:3])
        for kind in ("", "V2", "V3", "Grad", "GradV2", "GradV3")
    },
    # Of the vectors, signs or phases differ between devices.
    "BatchSelfAdjointEigV2": lambda output: output[0],
    "BatchSvd": lambda output: output[0],
    "Eig": lambda output: output[0],
    "Qr": lambda output: [abs(each) for each in output],
    "SelfAdjointEigV2": lambda output: output[0],
    "Svd": lambda output: output[0],
}


def prepare() -> None:
    """Raises ImportError where this version has its definitions elsewhere."""
    _definition("Add")


def _make() -> Mapping[str, Searched]:
    found = {}
    for name in sorted(vars(tf.raw_ops)):
        definition = None if name.startswith(_LEFT_OUT) else _definition(name)
        if definition is not None and _is_possible(definition):
            found[name] = _searched(definition)
    return found


_source = Searches(_make)
entries = _source.entries
samples = _source.samples
look = host_tensors.look_of


def _searched(definition: Any) -> Searched:
    function = getattr(tf.raw_ops, definition.name)
    return Searched(
        function,
        lambda: iter([_forms(definition, _INTEGERS), _forms(definition, _WITH_SIZES)]),
        _dtypes(definition),
        functools.partial(searching.has_shape, function),
        _UNIQUE.get(definition.name, host_tensors.parts),
        tries=_MOST_TRIES,
    )


def _definition(name: str) -> Any:
    """The OpDef; None where there is none."""
    return importlib.import_module("tensorflow.python.framework.op_def_registry").get(name)


def _is_possible(definition: Any) -> bool:
    """Whether all inputs are numbers or text, and all attributes are simple."""
    given = (tf.resource, tf.variant)
    arguments = [*definition.input_arg, *definition.output_arg]
    if any(each.is_ref or (each.type and tf.as_dtype(each.type) in given) for each in arguments):
        return False
    return all(
        each.HasField("default_value") or each.type in ("type", "list(type)", *_ATTRIBUTES) for each in definition.attr
    )


def _dtypes(definition: Any) -> Sequence[str]:
    """The dtypes of the tests: those of the first input with a choice, else that of no choice."""
    main = _main(definition)
    return [OF_GRADIENTS] if main is None else [each for each in _DTYPES if each in _allowed(main)]


def _main(definition: Any) -> Any:
    """The attribute with the type of the first input that has a choice."""
    name = next((each.type_attr or each.type_list_attr for each in definition.input_arg if not each.type), None)
    return next((each for each in definition.attr if each.name == name), None)


def _allowed(attribute: Any) -> Sequence[str]:
    """The names of the dtypes that an attribute may have."""
    listed = attribute.allowed_values.list.type
    return [tf.as_dtype(each).name for each in listed] if listed else _DTYPES


def _forms(definition: Any, integers: Sequence[Any]) -> Iterator[Form]:
    """What may be tried, the first choices first."""
    main = _main(definition)
    implied = {name for each in definition.input_arg for name in (each.number_attr, each.type_attr)}
    implied |= {each.type_list_attr for each in definition.input_arg}
    asked = [each for each in definition.attr if each.name not in implied and not each.HasField("default_value")]
    names = _parameters(definition)
    given = [names[each.name] for each in (*definition.input_arg, *asked)]
    choices = [[*_inputs(each, definition, main, integers)] for each in definition.input_arg]
    for chosen in drawn.combined([*choices, *(_values(each) for each in asked)]):
        yield Form((), dict(zip(given, chosen)))


def _parameters(definition: Any) -> Mapping[str, str]:
    """The function's parameters by the names of the definition. Some differ: ``axis`` for ``reduction_indices``."""
    listed = [each.name for each in (*definition.input_arg, *definition.attr)]
    parameters = list(inspect.signature(getattr(tf.raw_ops, definition.name)).parameters)
    renamed = [each for each in listed if each not in parameters]
    return {
        **{each: each for each in listed},
        **dict(zip(renamed, (each for each in parameters if each not in listed))),
    }


def _inputs(argument: Any, definition: Any, main: Any, integers: Sequence[Any]) -> Iterator[Any]:
    """What an input may be: of the dtype of the test every shape, of another one what has a meaning for most."""
    chosen = argument.type_attr or argument.type_list_attr
    values: Sequence[Any] = [Drawn(shape) for shape in _SHAPES]
    if not chosen or main is None or chosen != main.name:
        kind = _preferred(next(each for each in definition.attr if each.name == chosen)) if chosen else argument.type
        values = _fixed(tf.as_dtype(kind), integers)
    elif integers is _WITH_SIZES and all(tf.as_dtype(each).is_integer for each in _allowed(main)):
        values = _fixed(tf.int32, integers)
    for each in values:
        yield [each, each] if argument.number_attr or argument.type_list_attr else each


def _fixed(dtype: tf.DType, integers: Sequence[Any]) -> Sequence[Any]:
    """What an input of another dtype than that of the test may be."""
    if dtype == tf.string:
        return [np.array(each, object) for each in _TEXTS]
    if dtype.is_integer:
        return [np.array(each, dtype.as_numpy_dtype) for each in integers]
    return [drawn.made(Drawn(shape), dtype.name) for shape in _SHAPES]


def _preferred(attribute: Any) -> Any:
    """The dtype of an attribute that the test does not choose."""
    if attribute.HasField("default_value"):
        return attribute.default_value.type
    allowed = _allowed(attribute)
    return next((each for each in ("int32", "float32", "int64") if each in allowed), allowed[0])


def _values(attribute: Any) -> Sequence[Any]:
    """What an attribute without a default may be."""
    if attribute.type == "type":
        return [DTYPE, tf.as_dtype(_preferred(attribute)).name]
    if attribute.type == "list(type)":
        return [["float32"]]
    texts = attribute.allowed_values.list.s
    return [each.decode() for each in texts] if texts else _ATTRIBUTES[attribute.type]

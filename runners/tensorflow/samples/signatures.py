"""Public functions of TensorFlow and Keras, with arguments by the names of their parameters.

Arguments are tried: first for the parameters without a default, then also for those whose default is None, one more
each time. A sample is what the host computes with a tensor as a result. Functions that have samples from the source
numpy are no entries.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterator, Mapping, Sequence

from runners.tensorflow.samples import arguments, drawn, host_tensors, numpy, searching
from runners.tensorflow.samples.searching import Form, Searched, Searches

PACKAGE = "tensorflow"
NEEDS = "any TensorFlow"

_DTYPES = ("bfloat16", "bool", "complex64", "float16", "float32", "int32", "string")
_MODULES = (
    *("tf", "tf.audio", "tf.bitwise", "tf.image", "tf.io", "tf.linalg", "tf.linalg.experimental", "tf.math"),
    *("tf.math.special", "tf.nest", "tf.nn", "tf.nn.experimental", "tf.quantization", "tf.ragged", "tf.random"),
    *("tf.random.experimental", "tf.sets", "tf.signal", "tf.sparse", "tf.strings", "tf.experimental.numpy"),
    *("tf.experimental.numpy.random", "tf.keras.activations", "tf.losses", "tf.metrics", "tf.keras.backend"),
    *("tf.keras.layers", "tf.keras.ops", "tf.keras.ops.image", "tf.keras.ops.linalg", "tf.keras.ops.nn"),
    *("tf.keras.ops.numpy", "tf.keras.random", "tf.keras.utils", "tf.keras.utils.bounding_boxes", "tf.keras.tree"),
    *("tf.compat.v1", "tf.compat.v1.image", "tf.compat.v1.linalg", "tf.compat.v1.losses", "tf.compat.v1.math"),
    *("tf.compat.v1.nn", "tf.compat.v1.quantization", "tf.compat.v1.ragged", "tf.compat.v1.random"),
    *("tf.compat.v1.sets", "tf.compat.v1.signal", "tf.compat.v1.sparse", "tf.compat.v1.strings"),
    *("tf.compat.v1.math.special", "tf.compat.v1.bitwise", "tf.xla.experimental", "tf.debugging"),
)
_LEFT_OUT = (
    # They change the program, or are about it.
    *("clear_", "disable_", "enable_", "get_", "initialize_", "load", "register_", "reset_", "set_", "unregister_"),
    *("add_", "assign_checkpoint", "executing_", "import_", "py_func", "numpy_function", "experimental_", "wrap_"),
    # They read and write files, or print.
    *("audio_dataset", "image_dataset", "timeseries_dataset", "text_dataset", "match", "plot_", "print", "Print"),
    *("read_file", "save", "write_", "tf_record"),
    # What they return was in memory.
    *("dynamic_stitch", "empty"),
)
"""What the names of functions begin with that are no entries."""

_NOT_LEFT_OUT = ("add_n",)
_NONE_FROM_NUMPY = (
    *("around", "broadcast_to", "cross", "digitize", "dsplit", "ndim", "pad", "round", "select", "take_along_axis"),
    *("tensordot", "unravel_index"),
)
"""The names of functions that the source numpy has, but without samples."""


def prepare() -> None:
    """Imports nothing more."""


def _make() -> Mapping[str, Searched]:
    choices = arguments.choices()
    found: dict[int, tuple[str, Searched]] = {}
    with_samples = {id(each) for each in numpy.functions()}
    for home in _MODULES:
        module = host_tensors.named(home)
        for name in sorted(dir(module)) if module is not None else ():
            function = getattr(module, name, None)
            left_out = name.startswith(("_", *_LEFT_OUT)) and name not in _NOT_LEFT_OUT
            left_out |= id(function) in with_samples and name not in _NONE_FROM_NUMPY
            if left_out or id(function) in found or not inspect.isroutine(function):
                continue
            groups = _groups(function, choices)
            if groups:
                accepts = functools.partial(searching.has_shape, function)
                searched = Searched(function, _tried(groups), _DTYPES, accepts)
                found[id(function)] = f"{home}.{name}", searched
    return dict(sorted(found.values(), key=lambda each: each[0]))


_source = Searches(_make)
entries = _source.entries
samples = _source.samples
look = host_tensors.look_of

_Groups = Sequence["Sequence[tuple[str, bool, Sequence[Any]]]"]
"""The parameters that are given together: the name of each, whether it is positional, and its choices."""

_MOST_OPTIONAL = 4


def _groups(function: Callable[..., Any], choices: Mapping[str, Sequence[Any]]) -> _Groups:
    """None where a parameter without a default has no choice."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given, optional = [], []
    for each in parameters:
        if each.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        required = each.default is inspect.Parameter.empty
        if each.name not in choices:
            if required:
                return []
            continue
        one = (each.name, required and each.kind in positional, choices[each.name])
        if required:
            given.append(one)
        elif each.default is None and each.name != "name":
            optional.append(one)
    found = [[*given, *optional[:count]] for count in range(min(len(optional), _MOST_OPTIONAL) + 1)]
    return [each for each in found if each]


def _tried(groups: _Groups) -> Callable[[], Iterator[Iterator[Form]]]:
    def forms(group: Any) -> Iterator[Form]:
        for chosen in drawn.combined([choices for _, _, choices in group]):
            pairs = list(zip(group, chosen))
            yield Form(
                [value for (_, positional, _), value in pairs if positional],
                {name: value for (name, positional, _), value in pairs if not positional},
            )

    return lambda: (forms(group) for group in groups)

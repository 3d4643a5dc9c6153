"""Entries whose arguments are found by trying: what a function computes on the host's CPU is a sample.

Arguments are searched in one dtype, and made again in the others.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from functools import lru_cache
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import tensorflow as tf

from runners.core.testing.samples import Entry, Sample
from runners.tensorflow.keras_objects import Unmade
from runners.tensorflow.samples import drawn, host_tensors

OF_GRADIENTS = "float32"
_SEARCHED = (OF_GRADIENTS, "int32", "string", "complex64", "bool")
"""The dtypes in which arguments are searched, until some are found."""

_MOST_FOUND = 3
_MOST_OTHERS = 5
"""After so many calls that gave no tensor, a function is given up: it checks something, or is about the program."""


class Form(NamedTuple):
    """The arguments of a call, before arrays are drawn."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    def made(self, dtype: str) -> tuple[Sequence[Any], Mapping[str, Any]]:
        with host_tensors.on_host():
            args, kwargs = drawn.made([list(self.args), dict(self.kwargs)], dtype)
        return args, kwargs

    def is_drawn(self) -> bool:
        return drawn.is_drawn([list(self.args), dict(self.kwargs)])


class Searched(NamedTuple):
    """A function, the groups of forms that are tried, the first group with a result being the last, and the dtypes of
    its tests. ``accepts`` says before a form is tried for the first time whether it may be. Where the function is a
    class, ``make`` gets the arguments of a call and their dtype, and gives what is made for them; ``body`` is that of
    runners.core.testing.samples.Sample. Of each group, so many ``tries`` are made in a dtype."""

    function: Callable[..., Any]
    groups: Callable[[], Iterator[Iterator[Form]]]
    dtypes: Sequence[str]
    accepts: Callable[[Form, str], bool] = lambda form, dtype: True
    unique: Callable[[Any], Any] = host_tensors.parts
    make: Callable[[Sequence[Any], str], Unmade] | None = None
    body: Callable[..., Any] | None = None
    tries: int = 200

    def object(self, function: Any, args: Sequence[Any]) -> Any:
        """An object of the class, in the precision of the arguments."""
        assert self.make is not None
        floats = [leaf.dtype.name for leaf in host_tensors.parts(args) if host_tensors.is_floating(leaf)]
        return self.make(args, floats[0] if floats else OF_GRADIENTS).made(kind=function)

    def inside(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes an object and calls it."""
        return self.object(function, args)(*args, **kwargs)

    def with_weights(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, with the gradients of the object's weights as further outputs. They are no part of what the
        gradients of the inputs are of."""
        found = self.object(function, args)
        weights = _weights(found)
        if not weights:
            return found(*args, **kwargs)
        with tf.GradientTape() as tape:
            output = found(*args, **kwargs)
        gradients = tape.gradient(
            [leaf for leaf in host_tensors.parts(output) if host_tensors.is_floating(leaf)],
            weights,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return output, [tf.stop_gradient(tf.convert_to_tensor(each)) for each in gradients]

    def called(self) -> Callable[..., Any]:
        """What the host calls with the arguments."""
        body = self.body or (self.inside if self.make is not None else None)
        return self.function if body is None else functools.partial(body, self.function)


class Searches:
    """A source (see runners.core.testing.samples.SampleSource). ``make`` gives what is searched by the names of the
    entries, when it is first needed."""

    def __init__(self, make: Callable[[], Mapping[str, Searched]]) -> None:
        self._searched = lru_cache(maxsize=None)(make)
        self._found = lru_cache(maxsize=16)(self._find)

    def entries(self) -> Sequence[Entry]:
        """An entry for each function."""
        return [
            Entry(name, "", [each.function], each.dtypes, [OF_GRADIENTS] if OF_GRADIENTS in each.dtypes else [])
            for name, each in self._searched().items()
        ]

    def samples(self, entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
        """The samples of an entry, none where the host does not compute it in this dtype."""
        searched = self._searched()[entry]
        found_in, forms = self._found(entry)
        made = []
        for form in forms if dtype in searched.dtypes else ():
            if not form.is_drawn() and dtype != found_in:
                continue
            if _gives_tensors(searched, form, dtype) and (not gradient or _has_gradient(searched, form, dtype)):
                made.append(_sample(searched, form, dtype, gradient))
        return made

    def _find(self, entry: str) -> tuple[str, Sequence[Form]]:
        """The first forms that are computed, of different looks, and in which dtype they were found."""
        searched = self._searched()[entry]
        for dtype in _SEARCHED:
            for group in searched.groups() if dtype in searched.dtypes else ():
                found, other = _first(searched, itertools.islice(group, searched.tries), dtype)
                if found:
                    return dtype, found
                if other >= _MOST_OTHERS:
                    return "", ()
        return "", ()


def _first(searched: Searched, forms: Iterator[Form], dtype: str) -> tuple[Sequence[Form], int]:
    """The first forms of different looks that give tensors, and how many give something else."""
    found: dict[str, Form] = {}
    other = 0
    for form in forms:
        look = str(next(iter([*form.args, *form.kwargs.values()]), None))
        if look not in found and searched.accepts(form, dtype):
            gives = _gives_tensors(searched, form, dtype)
            other += gives is False
            if gives:
                found[look] = form
        if len(found) == _MOST_FOUND or (other >= _MOST_OTHERS and not found):
            break
    return list(found.values()), other


def has_shape(function: Callable[..., Any], form: Form, dtype: str) -> bool:
    """Whether the shape functions of operations accept these arguments, or cannot be asked: some functions work with
    eager tensors alone. Computes nothing: kernels that get what these would refuse may end the process."""
    try:
        with warnings.catch_warnings(), tf.Graph().as_default():
            warnings.simplefilter("ignore")
            args, kwargs = host_tensors.with_tensors(form.made(dtype), False)
            function(*args, **kwargs)
    except (ValueError, tf.errors.InvalidArgumentError):
        return False
    except Exception:
        return True
    return True


def _sample(searched: Searched, form: Form, dtype: str, gradient: bool) -> Sample:
    args, kwargs = host_tensors.with_tensors(form.made(dtype), gradient)
    make, body = None, searched.body
    if searched.make is not None:
        unmade = searched.make(args, dtype)
        make, body = (None, searched.with_weights) if gradient else ((lambda function: unmade), None)
    return Sample(args, kwargs, searched.unique, None, make, body)


def _gives_tensors(searched: Searched, form: Form, dtype: str) -> bool | None:
    """Whether the host computes a tensor that is not empty; None where it refuses the call."""
    try:
        with warnings.catch_warnings(), host_tensors.on_host():
            warnings.simplefilter("ignore")
            args, kwargs = host_tensors.with_tensors(form.made(dtype), False)
            found = host_tensors.parts(searched.called()(*args, **kwargs))
    except Exception:
        return None
    return any(isinstance(leaf, tf.Tensor) and hasattr(leaf, "numpy") and tf.size(leaf) > 0 for leaf in found)


def _weights(found: Any) -> Sequence[Any]:
    """What an object of Keras learns; nothing of another object."""
    return list(getattr(found, "trainable_weights", ()))


def _has_gradient(searched: Searched, form: Form, dtype: str) -> bool:
    """Whether a result depends on an argument, or on weights, in a differentiable way."""
    try:
        with host_tensors.on_host():
            with tf.GradientTape() as tape:
                args, kwargs = host_tensors.with_tensors(form.made(dtype), False)
                if searched.make is not None and _weights(searched.object(searched.function, args)):
                    return True
                inputs = [leaf for leaf in host_tensors.parts((args, kwargs)) if host_tensors.is_floating(leaf)]
                tape.watch(inputs)
                found = host_tensors.parts(searched.called()(*args, **kwargs))
                outputs = [leaf for leaf in found if host_tensors.is_floating(leaf)]
            return any(gradient is not None for gradient in tape.gradient(outputs, inputs))
    except Exception:
        return False

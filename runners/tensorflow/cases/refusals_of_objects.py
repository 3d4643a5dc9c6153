"""Errors that the documentation names, of objects: what a distribution, variable, table, optimizer, average or data set
refuses after it was created."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.distributions import laplace, normal

from runners.core.testing.trial import Trial

v1 = tf.compat.v1

_INVALID = ["InvalidArgumentError", "ValueError"]
_STATE = ["FailedPreconditionError", "InvalidArgumentError"]
_DTYPE = ["InvalidArgumentError", "TypeError", "ValueError"]


def distribution(trial: Trial, what: str) -> None:
    """A normal distribution refuses shapes that do not fit, values of another dtype, a shape of samples that is none,
    and another distribution for which no divergence is known."""
    with trial.on_host():
        other = laplace.Laplace(0.0, 1.0)
    pair, row = [1.0, 2.0], [1.0, 2.0, 3.0]
    kinds, word, body = {
        "parameters": (_INVALID, "shape", lambda made: made(pair, row).sample()),
        "value": (_INVALID, "shape", lambda made: made(pair, 1.0).log_prob(row)),
        "integers": (_DTYPE, "int32", lambda made: made(0.0, 1.0).log_prob(trial.tensor([1], "int32"))),
        "double": (_DTYPE, "double", lambda made: made(0.0, 1.0).cdf(trial.tensor([1.0], "float64"))),
        "quantile": (_DTYPE, "double", lambda made: made(0.0, 1.0).quantile(trial.tensor([0.5], "float64"))),
        "negative": (_INVALID, "-2", lambda made: made(0.0, 1.0).sample([-2])),
        "fraction": (_DTYPE, "int32", lambda made: made(0.0, 1.0).sample(2.5)),
        "divergence": (["NotImplementedError"], "kl", lambda made: made(0.0, 1.0).kl_divergence(other)),
        "copy": (["TypeError"], "rate", lambda made: made(0.0, 1.0).copy(rate=2.0)),
        "scale": (_INVALID, "x > 0", lambda made: made(0.0, 1.0, validate_args=True).copy(scale=-1.0)),
        "covariance": (["NotImplementedError"], "covariance", lambda made: made(0.0, 1.0).covariance()),
    }[what]
    trial.raises_inside(kinds, word, body)


def survival(trial: Trial, kind: str, what: str) -> None:
    """A value of another dtype than the distribution's, of a shape that does not fit, or none is refused."""
    made = (normal.Normal if kind == "Normal" else laplace.Laplace)([0.0, 1.0], [1.0, 2.0])
    kinds, word, value = {
        "double": (_DTYPE, "double", trial.tensor([1.0, 2.0], "float64")),
        "shape": (_INVALID, "shape", trial.tensor([1.0, 2.0, 3.0], "float32")),
        "text": (_DTYPE, "float", "a"),
        "none": (_DTYPE, "none", None),
        "complex": (_DTYPE, "complex", trial.tensor([1.0, 2.0], "complex64")),
    }[what]
    trial.raises(kinds, word, made, value)


def variable(trial: Trial, what: str) -> None:
    """A variable refuses places that it has not, updates that do not fit, and to be a key, a condition or a list; a
    traced function creates its variables only once."""

    def created_again(made: Callable[..., Any]) -> Any:
        traced = tf.function(lambda: made(1.0).assign_add(1.0), autograph=False)
        return traced(), traced()

    rows = [[1.5, -2.0], [0.5, 4.0]]
    slices = tf.IndexedSlices(trial.tensor([[1.0, 1.0]], "float32"), trial.tensor([2], "int32"))
    bodies: Mapping[str, Any] = {
        "add-shape": (_INVALID, "shape", lambda made: made(rows).assign_add([1.0, 2.0, 3.0])),
        "add-dtype": (_DTYPE, "float", lambda made: made(rows).assign_sub(trial.tensor([[1, 2], [3, 4]], "int32"))),
        "place": (["InvalidArgumentError"], "indices", lambda made: made(rows).scatter_nd_update([[2, 0]], [1.0])),
        "row": (["InvalidArgumentError"], "indices", lambda made: made(rows).scatter_add(slices)),
        "read": (["InvalidArgumentError"], "indices", lambda made: made(rows).sparse_read([5])),
        "slices": (["TypeError"], "indexedslices", lambda made: made(rows).scatter_update(tf.constant([1.0]))),
        "item": (["InvalidArgumentError", "IndexError"], "2", lambda made: made(rows)[2]),
        "assign-place": (_INVALID, "shape", lambda made: made(rows)[0].assign([1.0, 2.0, 3.0])),
        "key": (["TypeError"], "unhashable", lambda made: hash(made(rows))),
        "condition": (["ValueError"], "ambiguous", lambda made: bool(made(rows))),
        "integer": (["TypeError", "ValueError"], "scalar", lambda made: int(made(rows))),
        "once": (["ValueError"], "first call", created_again),
        "callable": (["ValueError"], "shape", lambda made: made(lambda: tf.zeros([2]), shape=[3])),
    }
    kinds, word, body = bodies[what]
    trial.raises_inside(kinds, word, body)


def table(trial: Trial, what: str) -> None:
    """A table refuses two values for one key, a default or keys of another dtype, and dtypes that no table has; in a
    graph it has to be filled before it is read."""

    def unfilled(initializer: Callable[..., Any]) -> Any:
        with tf.Graph().as_default(), tf.device(trial.device):
            made = tf.lookup.StaticHashTable(initializer(["a"], [1]), 0)
            return v1.Session().run(made.lookup(tf.constant(["a"])))

    make = tf.lookup.StaticHashTable
    kinds, word, body = {
        "twice": (_STATE, "different value", lambda given: make(given([1, 2, 1], [5, 6, 7]), 0)),
        "default": (_DTYPE, "int32", lambda given: make(given([1, 2], [5, 6]), "a")),
        "default-shape": (_INVALID, "compatible", lambda given: make(given([1, 2], [5, 6]), [0, 0])),
        "keys": (["TypeError"], "keys", lambda given: make(given([1, 2], [5, 6]), 0).lookup(tf.constant(["a"]))),
        "wide-keys": (["TypeError"], "keys", lambda given: make(given([1], [5]), 0).lookup(tf.constant([1], tf.int64))),
        "fractions": (["InvalidArgumentError", "NotFoundError"], "float", lambda given: make(given([1.5], [5]), 0)),
        "matrix": (_INVALID, "shape", lambda given: make(given([[1, 2]], [5, 6]), 0)),
        "values": (_INVALID, "shape", lambda given: make(given([1, 2], [5, 6, 7]), 0)),
        "unfilled": (_STATE, "not initialized", unfilled),
    }[what]
    trial.raises_inside(kinds, word, body)


def optimizer(trial: Trial, what: str) -> None:
    """A step needs a gradient, of the weight's shape, and weights that the optimizer knows."""
    weight, other = (tf.Variable(trial.random(3, seed=seed)) for seed in (1, 2))
    slope = trial.tensor(trial.random(3, seed=3))

    def unknown(adadelta: Callable[..., Any]) -> None:
        made = adadelta(1.0)
        made.apply_gradients([(slope, weight)])
        made.apply_gradients([(slope, other)])

    kinds, word, body = {
        "none": (["ValueError"], "gradients", lambda made: made(1.0).apply_gradients([(None, weight)])),
        "shape": (_INVALID, "shape", lambda made: made(1.0).apply_gradients([(slope[:2], weight)])),
        "unknown": (["KeyError", "ValueError"], "variable", unknown),
        "configuration": (["TypeError", "ValueError"], "speed", lambda made: made(1.0).from_config({"speed": 1.0})),
    }[what]
    trial.raises_inside(kinds, word, body)


def average(trial: Trial, what: str) -> None:
    """Only variables are averaged eagerly, and only floating ones."""
    given, word = {
        "tensor": (trial.tensor([1.0], "float32"), "non-variable"),
        "integers": (tf.Variable([1, 2]), "half, float, or double"),
        "truths": (tf.Variable([True]), "half, float, or double"),
    }[what]
    trial.method_raises(trial.make(0.5), "apply", ["TypeError"], word, [given])


def shape(trial: Trial, what: str) -> None:
    """A shape has no other rank than its own, does not merge with another one, and has no list of an unknown rank."""
    tensor = trial.tensor(np.zeros([2, 3], "float32"))

    def unknown(get_shape: Callable[..., Any]) -> Any:
        return v1.wrap_function(lambda x: [get_shape(x).as_list(), x][1], [tf.TensorSpec(None, tf.float32)])

    kinds, word, body = {
        "rank": (["ValueError"], "rank", lambda get_shape: get_shape(tensor).with_rank(3)),
        "merge": (["ValueError"], "compatible", lambda get_shape: get_shape(tensor).merge_with([2, 4])),
        "axis": (["IndexError"], "range", lambda get_shape: get_shape(tensor)[2]),
        "unknown": (["ValueError"], "unknown", unknown),
    }[what]
    trial.raises_inside(kinds, word, body)


def host_function(trial: Trial, what: str) -> None:
    """Outside of a tf.function too, an error of the Python function is an error, as is another number of arguments."""
    on_host, kinds, word = {
        "error": (lambda x: int("zz"), ["InvalidArgumentError", "ValueError"], "zz"),
        "arguments": (lambda x, y: x, ["InvalidArgumentError", "TypeError"], "argument"),
    }[what]
    trial.raises(kinds, word, on_host, [trial.tensor(trial.random(3, seed=8))], tf.float32)


def assigned_shapes(trial: Trial, shape: Sequence[int]) -> None:
    """A variable of known shape takes no value of another one, also none that could be broadcast; it keeps its value.
    One of unknown shape takes each."""
    host = trial.random(3, 4, seed=5)
    value = np.ones(shape, "float32")
    for trainable in (True, False):
        for given in (value, value.tolist(), trial.tensor(value)):
            made = trial.make(trial.tensor(host), trainable=trainable)
            trial.method_raises(made, "assign", ["ValueError", "InvalidArgumentError"], "shape", given)
            trial.exact(made, host, "float32")
    free = trial.make(trial.tensor(host), shape=tf.TensorShape(None))
    free.assign(trial.tensor(value))
    trial.exact(free.read_value(), value, "float32")

"""tf.compat.v1.placeholder: shapes that are given in several ways."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building

v1 = tf.compat.v1


def given_as(trial: Trial) -> None:
    """A shape can be a TensorShape, whole, partly known or unknown, a tuple, or numbers of NumPy; the list that was
    given can change afterwards. Each placeholder can be fed."""
    changed: list[Any] = [2, None]
    shapes: list[tuple[Any, Any]] = [
        (tf.TensorShape([2, None]), [2, None]),
        (tf.TensorShape([]), []),
        (tf.TensorShape(None), None),
        ((np.int64(2), 3), [2, 3]),
        (np.asarray([2, 0]), [2, 0]),
        ([tf.compat.v1.Dimension(2), None], [2, None]),
        (changed, [2, None]),
    ]
    trial.repeatable = False
    for (shape, expected), name in itertools.product(shapes, ("kept", None)):
        graph = tf.Graph()
        changed[:] = [2, None]
        made = call_building(trial, graph, tf.float32, shape, name=name)
        changed[:] = [7]
        trial.equal((made.dtype, made.graph is graph), (tf.float32, True))
        trial.equal((made.op.type, made.op.name), ("Placeholder", name or "Placeholder"))
        trial.equal(None if made.shape.rank is None else made.shape.as_list(), expected)
        host = np.ones([3 if size is None else size for size in expected or []], "float32")
        with building(trial, graph), v1.Session(graph=graph) as session:
            trial.equal(session.run(made + 1.0, {made: host}), host + 1)


def paths_and_numbers(trial: Trial) -> None:
    """A name with slashes is a path in the scopes around it, also where it is used again; a shape can be one number.
    What is made of them is fed by its name and by itself."""
    graph = tf.Graph()

    def body(placeholder: Any) -> Any:
        with building(trial, graph):
            made = [placeholder(tf.float32, 3, "a/b/c"), placeholder(dtype="float32", shape=np.int64(3), name="a/b/c")]
            with tf.name_scope("outer"), v1.variable_scope("inner"):
                made += [placeholder(tf.float32, 3, "a/b"), placeholder(tf.float32, shape=3), placeholder(tf.float32)]
            return made

    trial.repeatable = False
    made = trial.call_inside(body)
    paths = ["a/b/c", "a/b/c_1", "outer/inner/a/b", "outer/inner/Placeholder", "outer/inner/Placeholder_1"]
    trial.equal([each.op.name for each in made], paths)
    trial.equal([None if each.shape.rank is None else each.shape.as_list() for each in made], [[3]] * 4 + [None])
    for number, each in enumerate(made):
        host = np.asarray([1.5, -2.0, number], "float32")
        with building(trial, graph), v1.Session(graph=graph) as session:
            doubled = each * 2.0
            for key in (each, each.name):
                trial.equal(session.run(doubled, {key: host}), host * 2)


def of_any_kind(trial: Trial) -> None:
    """Sizes can be larger than an int32, dtypes quantized ones, resources and variants; a placeholder waits for what is
    around it."""
    graph = tf.Graph()
    kinds = ("qint8", "quint8", "qint32", "resource", "variant", "string")

    def body(placeholder: Any) -> Any:
        with building(trial, graph), tf.device(None):
            first = tf.no_op(name="first")
            with tf.control_dependencies([first]):
                return [placeholder(kind, [2**40, None, 2**31 + 1]) for kind in kinds]

    trial.repeatable = False
    for kind, made in zip(kinds, trial.call_inside(body)):
        trial.equal((made.dtype.name, made.op.get_attr("dtype").name), (kind, kind))
        trial.equal(made.shape.as_list(), [2**40, None, 2**31 + 1])
        trial.equal([each.name for each in made.op.control_inputs], ["first"])

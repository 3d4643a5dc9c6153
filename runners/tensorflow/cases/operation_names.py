"""The names of operations that functions create in a graph: the one that is given, within the scopes around it."""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.subjects import SUBJECTS, Given, Subject
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1
_TEXT = tf.train.SequenceExample().SerializeToString()

_OTHERS: Mapping[str, Subject] = {
    "gamma": Subject([Given([3], 1, 2)], lambda f, a: f([2], a, 2.0 * a), lambda a: a),
    "parameter-shapes": Subject([], lambda f: f([2, 3])["scale"], lambda: np.ones(2)),
    "sequence": Subject(
        [], lambda f: f(_TEXT, {"a": tf.io.FixedLenFeature([1], tf.float32, [2.0])})[0]["a"], lambda: np.ones(1)
    ),
    "smart-cond-of-tensor": Subject(
        [Given([])], lambda f, x: f(x > 0.0, lambda: tf.identity(x), lambda: -x), lambda x: abs(x)
    ),
}


def named(trial: Trial, subject: str) -> None:
    """The output's name begins with the scope and the given name, which a second call makes unique; without a name it
    has another one. The static shape, type and graph of the output do not depend on the name."""
    called = {**SUBJECTS, **_OTHERS}[subject]
    hosts = called.hosts(trial, "float32")

    def body(function: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            inputs = [v1.placeholder(tf.float32, host.shape) for host in hosts]
            with tf.name_scope("outer"):
                kept = functools.partial(function, name="kept")
                return graph, [called.call(each, *inputs) for each in (kept, kept, function)]

    graph, (first, second, plain) = trial.call_inside(body)
    parts = [output.op.name.split("/")[:2] for output in (first, second)]
    trial.equal(parts, [["outer", "kept"], ["outer", "kept_1"]])
    trial.check(plain.op.name.startswith("outer/"), f"the scope is left out: {plain.op.name}")
    trial.check("kept" not in plain.op.name, f"a name was kept from the call before: {plain.op.name}")
    for output in (first, second):
        trial.check(output.graph is graph, "the output is in another graph")
        trial.equal((output.dtype, str(output.shape)), (plain.dtype, str(plain.shape)))

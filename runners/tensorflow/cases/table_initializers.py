"""tf.lookup.KeyValueTensorInitializer: what it keeps of its arguments, its operation in a graph, and other tables."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def keeps_arguments(trial: Trial) -> None:
    """Lists that change after the call change no table, neither one that exists nor the next one."""
    keys, values = [0, 1, 2, 3, 4], [10, 20, 30, 40, 50]
    initializer = trial.call(keys, values, tf.int64, tf.int64)
    trial.repeatable = False
    before = tf.lookup.StaticHashTable(initializer, -1)
    keys[:] = [100, 101, 102, 103, 104]
    values[:] = [0] * 5
    after = tf.lookup.StaticHashTable(initializer, -2)
    asked = trial.tensor(np.asarray([0, 4, 101, 2]))
    trial.close(before.lookup(asked), [10, 50, -1, 30], dtype="int64")
    trial.close(after.lookup(asked), [10, 50, -2, 30], dtype="int64")


def in_collection(trial: Trial) -> None:
    """In a graph the operation that fills a table has the given name and is collected, so that all tables of the graph
    are initialized together."""

    def body(initializer: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            tables = [
                tf.lookup.StaticHashTable(initializer([1, 2], values, name=name), -1)
                for values, name in (([5, 6], "first"), ([7, 8], None))
            ]
            found = [table.lookup(tf.constant([2, 3, 1])) for table in tables]
            return graph, found, v1.tables_initializer()

    graph, found, start = trial.call_inside(body)
    collected = graph.get_collection(v1.GraphKeys.TABLE_INITIALIZERS)
    trial.equal(["first" in operation.name for operation in collected], [True, False])
    with v1.Session(graph=graph) as session:
        session.run(start)
        trial.equal(session.run(found), [[6, -1, 5], [8, -1, 7]])


def refuses_table(trial: Trial, what: str) -> None:
    """It does not fill a table of other keys or values."""
    made = trial.make([1, 2], [5, 6], tf.int64, tf.int64)
    dtypes = (tf.string, tf.int64) if what == "key" else (tf.int64, tf.float32)
    other = trial.make(["a"] if what == "key" else [1], [2], *dtypes)
    table = tf.lookup.StaticHashTable(other, tf.zeros([], dtypes[1]))
    trial.method_raises(made, "initialize", ["TypeError"], what, table)

"""What was read stays as it was: values of variables read before an update, and results of sessions."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def variable_reads(trial: Trial, dtype: str, traced: bool) -> None:
    """What was read from a variable keeps its values while the variable is updated, also from its own parts, one after
    the other; in a tf.function, called twice, too."""
    host = trial.random(6, 2, dtype=dtype, seed=1)
    given = trial.tensor(host)

    def body(make: Callable[..., Any]) -> Any:
        variable = make(given)

        def update() -> Any:
            read = [variable.read_value(), tf.identity(variable), tf.convert_to_tensor(variable), variable[1]]
            variable.assign_add(tf.ones_like(read[0]))
            read.append(variable.read_value())
            variable.assign(variable[::-1])
            read.append(tf.identity(variable))
            variable[2:].assign(variable[:-2] + 0)
            read.append(variable.read_value())
            variable.scatter_update(tf.IndexedSlices(tf.gather(variable, [5, 0]), tf.constant([0, 5])))
            read.append(variable.read_value())
            variable.assign_sub(tf.gather(variable, [1, 1, 2, 3, 4, 5]))
            return [*read, variable.read_value()]

        program = tf.function(update, autograph=False) if traced else update
        return [*program(), *program()]

    found = trial.call_inside(body)
    value, expected = host.copy(), []
    for _ in range(2):
        expected += [value.copy()] * 3 + [value[1].copy()]
        value = value + np.asarray(1, dtype)
        expected.append(value)
        value = value[::-1].copy()
        expected.append(value.copy())
        value[2:] = value[:-2].copy()
        expected.append(value.copy())
        value[[0, 5]] = value[[5, 0]]
        expected.append(value.copy())
        value = value - value[[1, 1, 2, 3, 4, 5]]
        expected.append(value.copy())
    for output, wanted in zip(found, expected):
        trial.close(output, wanted.astype("float64") if "float" in dtype else wanted, dtype=dtype)


def session_results(trial: Trial, by_eval: bool = False) -> None:
    """What a session returns belongs to the caller: to write into it changes no later result, no variable and no array
    that was fed, and a later run changes no result."""
    start, fed = trial.random(3, 2, seed=2), trial.random(3, 2, seed=3)
    before = fed.copy()
    with building(trial) as graph:
        constant = tf.constant(start)
        variable = v1.Variable(start, use_resource=True)
        place = v1.placeholder(tf.float32, [None, 2])
        tensors = [constant, variable.read_value(), tf.identity(place), constant + place, tf.reverse(place, [0])]
        step = variable.assign_add(tf.ones_like(constant)).op
        initial = variable.initializer
    with v1.Session(graph=graph) as session:
        session.run(initial)

        def read(function: Callable[..., Any]) -> list[Any]:
            feeds = {place: fed}
            if by_eval:
                return [function(tensor, feeds, session) for tensor in tensors]
            return list(function(session, tensors, feeds))

        trial.repeatable = False
        first = trial.call_inside(read)
        kept = [each.copy() for each in first]
        session.run(step)
        second = trial.call_inside(read)
        for each, copy in zip(first, kept):
            trial.equal(each, copy)
            if each.flags.writeable:
                each[...] = -9
        trial.equal(fed, before)
        third = trial.call_inside(read)
    expected = [start, start + 1, before, start + before, before[::-1]]
    for found in (second, third):
        for each, wanted in zip(found, expected):
            trial.close(tf.constant(each), wanted.astype("float64"), dtype="float32")

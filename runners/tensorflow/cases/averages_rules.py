"""tf.train.ExponentialMovingAverage: names of averages and of updates, what is restored, and variables given twice."""

from __future__ import annotations

from typing import Any, Callable

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def named_in_graph(trial: Trial) -> None:
    """The name of an average is known before it is made, and asking for it does not use it up. Each update is an
    operation with the name of the object. A variable is restored from its average if it has or should have one, and
    from itself otherwise; averages are not trained."""
    host = trial.random(3, seed=1)
    with building(trial) as graph:
        a = v1.get_variable("a", initializer=tf.constant(host), use_resource=True)
        b = v1.get_variable("b", initializer=tf.constant(host), use_resource=True, trainable=False)
        c = v1.get_variable("c", initializer=tf.constant(host), use_resource=True)

    def body(average: Callable[..., Any]) -> Any:
        with building(trial, graph):
            made = average(0.5, name="mean")
            before = [made.average_name(each) for each in (a, a, b)]
            updates = [made.apply([a]), made.apply([a])]
            restored = made.variables_to_restore(), made.variables_to_restore([b]), made.variables_to_restore([])
            return made, before, updates, restored

    trial.repeatable = False
    made, before, updates, restored = trial.call_inside(body)
    trial.equal((before, made.average_name(a)), (["a/mean", "a/mean", "b/mean"], "a/mean"))
    trial.equal(([each.name for each in updates], made.average(a).name), (["mean", "mean_1"], "a/mean:0"))
    shadow = made.average(a)
    expected = [
        {"a/mean": a, "b": b, "c/mean": c},
        {"a": a, "a/mean": shadow, "b/mean": b, "c": c},
        {"a": a, "a/mean": shadow, "b": b, "c": c},
    ]
    for found, wanted in zip(restored, expected):
        trial.equal(sorted(found), sorted(wanted))
        trial.check(all(found[name] is each for name, each in wanted.items()), "a name has another variable")
    names = [[each.name for each in graph.get_collection(key)] for key in ("trainable_variables", "variables")]
    trial.equal(names, [["a:0", "c:0"], ["a:0", "b:0", "c:0", "a/mean:0"]])
    with building(trial, graph):
        start, change = v1.global_variables_initializer(), a.assign(a + 1.0)
    with v1.Session(graph=graph) as session:
        session.run(start)
        session.run(change)
        session.run(updates[0])
        close(trial, session.run(shadow), host.astype("float64") + 0.5, "float32")


def given_twice(trial: Trial) -> None:
    """A variable that is twice in the list is averaged twice; the list stays as it is. Of complex variables no average
    is made, also next to others."""
    variable = tf.Variable(trial.tensor(trial.random(3, seed=2)))
    start = trial.numpy(variable).astype("float64")
    given = [variable, variable]

    def body(average: Callable[..., Any]) -> Any:
        made = average(0.5)
        variable.assign(trial.tensor(start.astype("float32")))
        made.apply(given[:1])
        variable.assign_add(tf.ones_like(variable))
        made.apply(given)
        return made.average(variable)

    trial.close(trial.call_inside(body), start + 0.75, 1e-6, 1e-6, dtype="float32")
    trial.check(len(given) == 2 and all(each is variable for each in given), "the list was changed")
    other = tf.Variable(1j)
    trial.raises_inside(["TypeError"], "half, float, or double", lambda average: average(0.5).apply([variable, other]))

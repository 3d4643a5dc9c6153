"""tf.compat.v1.variable_scope: entered in a graph and checked by the names and defaults of what is created inside."""

from __future__ import annotations

from typing import Any, Callable, ContextManager, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1

VariableScope = Callable[..., ContextManager[Any]]


def _values(graph: tf.Graph, fetched: Any) -> Any:
    with graph.as_default(), v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        return session.run(fetched)


def names(trial: Trial, depth: int) -> None:
    """Names of variables and operations created inside start with those of all scopes around them."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            found = []

            def enter(level: int) -> None:
                with variable_scope(f"level{level}") as scope:
                    variable = v1.get_variable("v", initializer=tf.constant([level + 0.5, -1.0]), use_resource=True)
                    operation = tf.add(variable, 1.0, name="plus")
                    found.append((scope.name, scope.original_name_scope, variable, operation))
                    if level + 1 < depth:
                        enter(level + 1)

            enter(0)
            after = v1.get_variable("v", initializer=tf.constant(9.0), use_resource=True)
            return graph, found, after

    graph, found, after = trial.call_inside(body)
    for level, (name, names_of_operations, variable, operation) in enumerate(found):
        path = "/".join(f"level{outer}" for outer in range(level + 1))
        trial.equal(
            (name, names_of_operations, variable.name, operation.name),
            (path, path + "/", path + "/v:0", path + "/plus:0"),
        )
    trial.equal(after.name, "v:0")
    values = _values(graph, [operation for *_, operation in found])
    for level, value in enumerate(values):
        close(trial, value, [level + 1.5, 0.0], "float32")


def reuses(trial: Trial, how: str) -> None:
    """Entered again for reuse, a scope gives the same variable, with its value."""
    host = trial.random(3, seed=1)

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            first_reuse = v1.AUTO_REUSE if how == "auto" else None
            with variable_scope("shared", reuse=first_reuse) as scope:
                first = v1.get_variable("v", initializer=tf.constant(host), use_resource=True)
                if how == "call":
                    scope.reuse_variables()
                    second = v1.get_variable("v")
            if how == "flag":
                with variable_scope("shared", reuse=True):
                    second = v1.get_variable("v")
            elif how == "scope":
                with variable_scope("elsewhere"), variable_scope(scope, reuse=True) as again:
                    trial.equal(again.name, "shared")
                    second = v1.get_variable("v")
            elif how == "auto":
                with variable_scope("shared", reuse=v1.AUTO_REUSE):
                    second = v1.get_variable("v")
            with variable_scope("apart"):
                other = v1.get_variable("v", initializer=tf.constant(host * 2), use_resource=True)
            return graph, first, second, other

    graph, first, second, other = trial.call_inside(body)
    trial.check(first is second, f"{second} is not the variable that was made first, {first}")
    trial.check(other is not first, "two scopes share a variable")
    trial.equal([variable.name for variable in v1_globals(graph)], ["shared/v:0", "apart/v:0"])
    found = _values(graph, [second, other])
    close(trial, found[0], host, "float32", 0.0, 0.0)
    close(trial, found[1], host * 2, "float32", 0.0, 0.0)


def v1_globals(graph: tf.Graph) -> Any:
    """Return the graph's variables in creation order."""
    return graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)


def defaults(trial: Trial, dtype: str) -> None:
    """The scope's dtype and initializer apply to variables that give none, also in inner scopes, but not outside."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            start = v1.constant_initializer(2.5)
            with variable_scope("outer", initializer=start, dtype=trial.dtype(dtype), use_resource=True):
                made = [v1.get_variable("a", [2, 3])]
                with variable_scope("inner"):
                    made.append(v1.get_variable("b", [4]))
                with variable_scope("other", initializer=v1.ones_initializer()):
                    made.append(v1.get_variable("c", [4]))
                made.append(v1.get_variable("d", [2], tf.int32, initializer=v1.zeros_initializer()))
            made.append(v1.get_variable("e", [2], initializer=v1.constant_initializer([7.0, 8.0])))
            return graph, made

    graph, made = trial.call_inside(body)
    expected = [
        ("outer/a:0", dtype, np.full([2, 3], 2.5)),
        ("outer/inner/b:0", dtype, np.full(4, 2.5)),
        ("outer/other/c:0", dtype, np.ones(4)),
        ("outer/d:0", "int32", np.zeros(2, "int32")),
        ("e:0", "float32", np.asarray([7.0, 8.0])),
    ]
    for variable, value, (name, wanted, array) in zip(made, _values(graph, made), expected):
        trial.equal(variable.name, name)
        close(trial, value, array, wanted, 0.0, 0.0)


def default_names(trial: Trial) -> None:
    """A default name is made unique each time; for a given name only the operations' names are."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial):
            found = []
            for name, default in (
                (None, "layer"),
                (None, "layer"),
                ("layer", "unused"),
                ("fixed", None),
                ("fixed", None),
            ):
                with variable_scope(name, default) as scope:
                    found.append((scope.name, tf.constant(1, name="one").name))
            return found

    trial.equal(
        trial.call_inside(body),
        [
            ("layer", "layer/one:0"),
            ("layer_1", "layer_1/one:0"),
            ("layer", "layer_2/one:0"),
            ("fixed", "fixed/one:0"),
            ("fixed", "fixed_1/one:0"),
        ],
    )


def regularizes(trial: Trial) -> None:
    """The scope's regularizer is applied to each variable created inside; its values are collected as losses."""
    hosts = [trial.random(3, 4, seed=2), trial.random(5, seed=3)]

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            with variable_scope("s", regularizer=lambda weights: 0.5 * tf.reduce_sum(tf.square(weights))):
                for number, host in enumerate(hosts):
                    v1.get_variable(f"v{number}", initializer=tf.constant(host), use_resource=True)
            v1.get_variable("free", initializer=tf.constant([1.0, 2.0]), use_resource=True)
            return graph, v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)

    graph, found = trial.call_inside(body)
    trial.equal(len(found), 2)
    for value, host in zip(_values(graph, found), hosts):
        close(trial, value, 0.5 * (host.astype("float64") ** 2).sum(), "float32")


def gets_by(trial: Trial) -> None:
    """A custom getter can change what is returned, once for each scope that has one."""

    def doubled(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        return 2.0 * getter(name, *args, **kwargs)

    def added(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        return 1.0 + getter(name, *args, **kwargs)

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            options = {"initializer": tf.constant([3.0, 5.0]), "use_resource": True}
            with variable_scope("outer", custom_getter=doubled):
                first = v1.get_variable("a", **options)
                with variable_scope("inner", custom_getter=added):
                    second = v1.get_variable("b", **options)
            return graph, [first, second, v1.get_variable("c", **options)]

    graph, made = trial.call_inside(body)
    trial.equal([variable.name for variable in v1_globals(graph)], ["outer/a:0", "outer/inner/b:0", "c:0"])
    # The inner scope's getter calls the outer one's.
    for value, wanted in zip(_values(graph, made), ([6.0, 10.0], [7.0, 11.0], [3.0, 5.0])):
        close(trial, value, wanted, "float32")


def partitions(trial: Trial, rows: int, parts: int) -> None:
    """With a partitioner a variable has parts along its first axis; together they are the whole."""
    host = trial.random(rows, 3, seed=4)

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph, variable_scope("s", partitioner=v1.fixed_size_partitioner(parts)):
            options = {"initializer": lambda shape, dtype, partition_info: _slice(host, shape, partition_info)}
            made = v1.get_variable("v", [rows, 3], use_resource=True, **options)
            return graph, list(made), tf.convert_to_tensor(made)

    graph, found, whole = trial.call_inside(body)
    trial.equal([part.name for part in found], [f"s/v/part_{number}:0" for number in range(parts)])
    computed = _values(graph, [*found, whole])
    for value, wanted in zip(computed, [*np.array_split(host, parts), host]):
        close(trial, value, wanted, "float32", 0.0, 0.0)


def _slice(host: Any, shape: Sequence[int], partition_info: Any) -> Any:
    begin = partition_info.var_offset[0] if partition_info else 0
    return tf.constant(host[begin : begin + shape[0]])


def without_name_scope(trial: Trial) -> None:
    """Without a name scope only the variables carry the scope's name, not the operations."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            with variable_scope("s", auxiliary_name_scope=False):
                variable = v1.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=True)
                total = tf.reduce_sum(variable, name="total")
            return graph, variable.name, total

    graph, name, total = trial.call_inside(body)
    trial.equal((name, total.name), ("s/v:0", "total:0"))
    close(trial, _values(graph, total), 3.0, "float32")


def constrains(trial: Trial) -> None:
    """The scope's constraint acts after an optimizer's step: weights that would become negative are 0."""
    host, slope = trial.random(6, seed=5, low=0.0, high=1.0), trial.random(6, seed=6)

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            with variable_scope("s", constraint=tf.nn.relu):
                weights = v1.get_variable("w", initializer=tf.constant(host), use_resource=True)
            free = v1.get_variable("w", initializer=tf.constant(host), use_resource=True)
            loss = tf.reduce_sum((weights + free) * slope)
            step = v1.train.GradientDescentOptimizer(1.0).minimize(loss)
            return graph, step, weights, free

    graph, step, weights, free = trial.call_inside(body)
    with building(trial, graph), v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        session.run(step)
        found = session.run([weights, free])
    moved = host.astype("float64") - slope.astype("float64")
    trial.check((moved < 0).any() and (moved > 0).any(), "the constraint has no effect on these numbers")
    close(trial, found[0], np.maximum(moved, 0), "float32")
    close(trial, found[1], moved, "float32")


def leaves(trial: Trial) -> None:
    """After an exception too, the outer scope is current again, with its defaults and reuse."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial):
            seen = []
            with variable_scope("outer"):
                try:
                    with variable_scope("inner", reuse=True):
                        current = v1.get_variable_scope()
                        seen.append((current.name, current.reuse))
                        raise KeyError("passes through")
                except KeyError:
                    current = v1.get_variable_scope()
                    seen.append((current.name, bool(current.reuse)))
            current = v1.get_variable_scope()
            return [*seen, (current.name, bool(current.reuse))]

    trial.equal(trial.call_inside(body), [("outer/inner", True), ("outer", False), ("", False)])

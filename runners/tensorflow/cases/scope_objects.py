"""The object that tf.compat.v1.variable_scope gives: what can be set in it, what it lists, and its names."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.scopes import VariableScope
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def set_within(trial: Trial) -> None:
    """Initializer, regularizer, dtype, getter and kind of variables that are set within a scope hold from there on and
    in inner scopes, and not in the scope around it, nor when a scope of that name is entered again."""

    def renamed(getter: Any, name: str, *args: Any, **options: Any) -> Any:
        return getter(name + "_got", *args, **options)

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            with variable_scope("outer", use_resource=True, initializer=v1.constant_initializer(0.5)):
                with variable_scope("s") as scope:
                    made = [v1.get_variable("before", [2])]
                    scope.set_initializer(v1.constant_initializer(7.0))
                    scope.set_regularizer(tf.reduce_sum)
                    scope.set_dtype(tf.float64)
                    scope.set_custom_getter(renamed)
                    made.append(v1.get_variable("after", [2]))
                    with variable_scope("inner"):
                        made.append(v1.get_variable("within", [2]))
                made.append(v1.get_variable("outside", [2]))
                with variable_scope("s"):
                    made.append(v1.get_variable("again", [2]))
            return graph, made, graph.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)

    graph, made, losses = trial.call_inside(body)
    names = ["outer/s/before", "outer/s/after_got", "outer/s/inner/within_got", "outer/outside", "outer/s/again"]
    trial.equal([variable.op.name for variable in made], names)
    with building(trial, graph), v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        changed = [False, True, True, False, False]
        for found, other in zip(session.run(made), changed):
            close(trial, found, [7.0, 7.0] if other else [0.5, 0.5], "float64" if other else "float32")
        trial.equal(session.run(losses), [14.0, 14.0])


def listed(trial: Trial) -> None:
    """A scope lists the variables whose names are within it, trainable ones, global ones and local ones apart, and none
    of a scope whose name only begins with its own."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial):
            with variable_scope("net", use_resource=True) as scope:
                trained = v1.get_variable("trained", [])
                fixed = v1.get_variable("fixed", [], trainable=False)
                local = v1.get_local_variable("local", [], use_resource=True)
                with variable_scope("inner") as inner:
                    deep = v1.get_variable("deep", [])
            with variable_scope("network", use_resource=True):
                v1.get_variable("trained", [])
            return (trained, fixed, local, deep), (scope, inner)

    (trained, fixed, local, deep), (scope, inner) = trial.call_inside(body)
    with trained.graph.as_default():
        found = [
            [variable.name for variable in variables]
            for variables in (
                scope.trainable_variables(),
                scope.global_variables(),
                scope.local_variables(),
                inner.global_variables(),
            )
        ]
    wanted = [[trained, deep], [trained, fixed, deep], [local], [deep]]
    trial.equal(found, [[variable.name for variable in variables] for variables in wanted])


def entered_by_name(trial: Trial) -> None:
    """A scope that is entered again by its name has a name scope of its own, which it tells; an inner scope inherits
    that missing variables are made and others reused; ``reuse_variables`` holds until the scope is left."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial):
            with variable_scope("s") as first:
                made = v1.get_variable("v", [], use_resource=True)
            with variable_scope("s", reuse=v1.AUTO_REUSE) as second, variable_scope("inner") as inner:
                new = v1.get_variable("v", [], use_resource=True)
            with variable_scope("s", reuse=v1.AUTO_REUSE), variable_scope("inner"):
                found = [v1.get_variable("v", []), v1.get_variable("w", [], use_resource=True)]
            with variable_scope("outer"):
                with variable_scope("t") as third:
                    before = bool(third.reuse)
                    third.reuse_variables()
                    reuse = [before, bool(third.reuse), bool(v1.get_variable_scope().reuse)]
                reuse.append(bool(v1.get_variable_scope().reuse))
            with variable_scope("") as root:
                names = [v1.get_variable("v", [], use_resource=True).name, root.name]
            return (first, second, inner), (made, new, found), (reuse, names)

    scopes, (made, new, found), (reuse, names) = trial.call_inside(body)
    trial.equal([scope.name for scope in scopes], ["s", "s", "s/inner"])
    trial.equal([scope.original_name_scope for scope in scopes], ["s/", "s_1/", "s_1/inner/"])
    trial.check(found[0] is new and new is not made, "the inner scope has another variable")
    trial.equal([variable.name for variable in (made, new, found[1])], ["s/v:0", "s/inner/v:0", "s/inner/w:0"])
    trial.equal(reuse, [False, True, True, False])
    trial.equal(names, ["v:0", ""])


def eagerly(trial: Trial) -> None:
    """Without a graph a scope gives names to variables, which are new each time, with the initializer of the
    scope."""
    host = trial.random(3, seed=1)

    def body(variable_scope: VariableScope) -> Any:
        made = []
        for name in ("v", "v"):
            with variable_scope("s", initializer=v1.constant_initializer(0.5)), variable_scope("t") as scope:
                variable = v1.get_variable(name, [3], use_resource=True)
                variable.assign_add(host)
                made.append((variable, scope.name))
        return made

    made = trial.call_inside(body)
    trial.check(made[0][0] is not made[1][0], "the variable is the one of the first time")
    for variable, name in made:
        trial.equal((variable.name, name), ("s/t/v:0", "s/t"))
        trial.close(variable.read_value(), 0.5 + host.astype("float64"), dtype="float32")

"""tf.compat.v1.variable_scope: what it refuses, passes on to inner scopes, and keeps for other threads and graphs."""

from __future__ import annotations

import threading
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.scopes import VariableScope
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def _variable(name: str, value: float = 1.0, **options: Any) -> Any:
    return v1.get_variable(name, initializer=tf.constant(value), use_resource=True, **options)


def _error_of(call: Callable[[], Any]) -> Any:
    try:
        call()
    except ValueError as error:
        return error
    return None


def shares_on_purpose(trial: Trial) -> None:
    """A variable that exists is an error without reuse, one that does not exist is an error with it; inner scopes
    inherit the reuse, and False is the same as None."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial):
            with variable_scope("s", reuse=False):
                first = _variable("v")
                with variable_scope("inner"):
                    second = _variable("v", 2.0)
                again = _error_of(lambda: _variable("v"))
            with variable_scope("s", reuse=True) as scope:
                missing = _error_of(lambda: v1.get_variable("w", [2]))
                with variable_scope("inner", reuse=False) as inner:
                    found = v1.get_variable("v")
                    return first, second, found, str(again), str(missing), bool(scope.reuse), bool(inner.reuse)

    first, second, found, again, missing, *reuse = trial.call_inside(body)
    trial.equal([first.name, second.name], ["s/v:0", "s/inner/v:0"])
    trial.check(found is second, f"{found} is not the variable of the inner scope, {second}")
    trial.check("s/v already exists" in again, f"a variable was made twice: {again}")
    trial.check("s/w does not exist" in missing, f"a missing variable was reused: {missing}")
    trial.equal(reuse, [True, True])


def enters_again(trial: Trial) -> None:
    """A scope that is entered again restarts the counters of default names and keeps its defaults; without a name scope
    of its own, operations get the original one."""

    def body(variable_scope: VariableScope) -> Any:
        with building(trial):
            names = []
            start = v1.constant_initializer(2.5)
            with variable_scope("foo", initializer=start, dtype=tf.float64, use_resource=True) as scope:
                for name in "ab":
                    with variable_scope(None, default_name="bar"):
                        names.append(v1.get_variable(name, []).name)
            with variable_scope("elsewhere"), variable_scope(scope):
                names.append(tf.constant(1, name="one").name)
                with variable_scope(None, default_name="bar"):
                    made = v1.get_variable("c", [])
                    names.append(made.name)
            with variable_scope(scope, auxiliary_name_scope=False) as again, tf.name_scope(again.original_name_scope):
                names += [v1.get_variable("d", []).name, tf.constant(1, name="c").name]
            return names, made.dtype.name

    names, dtype = trial.call_inside(body)
    expected = ["foo/bar/a:0", "foo/bar_1/b:0", "elsewhere/foo/one:0", "foo/bar/c:0", "foo/d:0", "foo/c:0"]
    trial.equal(names, expected)
    trial.equal(dtype, "float64")


def of_values(trial: Trial) -> None:
    """The graph of the given values is entered, and values of two graphs are an error."""
    with building(trial) as graph:
        x = tf.constant([1.5, -2.0])
    with building(trial):
        other = tf.constant(1.0)

    def body(variable_scope: VariableScope) -> Any:
        def enter() -> None:
            with variable_scope("s", values=[x, other]):
                pass

        with building(trial):
            with variable_scope("s", "unused", [x]) as scope:
                made = _variable("v", 3.0) * x
                name = scope.name
            return made, name, _error_of(enter)

    # A second variable of the same name in the same graph is an error.
    trial.repeatable = False
    made, name, error = trial.call_inside(body)
    trial.check(made.graph is graph, "the operation belongs to another graph")
    trial.equal((name, made.op.name.split("/")[0]), ("s", "s"))
    trial.check("graph" in str(error), f"values of two graphs were accepted: {error}")
    with v1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(v1.global_variables_initializer())
        close(trial, session.run(made), [4.5, -6.0], "float32")


def per_thread(trial: Trial) -> None:
    """Another thread begins outside of the scope, shares the graph's variables, and can enter a captured scope."""

    def body(variable_scope: VariableScope) -> Any:
        found: dict[str, Any] = {}

        def work(graph: tf.Graph, scope: Any) -> None:
            with graph.as_default():
                found["name"] = v1.get_variable_scope().name
                found["plain"] = _variable("v", 5.0).name
                with variable_scope(scope):
                    found["captured"] = _variable("w", 6.0).name
                    found["taken"] = str(_error_of(lambda: _variable("v")))

        with building(trial) as graph, variable_scope("main") as scope:
            _variable("v")
            thread = threading.Thread(target=work, args=(graph, scope))
            thread.start()
            thread.join()
            found["after"] = v1.get_variable_scope().name
        return found

    found = trial.call_inside(body)
    trial.check("main/v already exists" in found.pop("taken", ""), f"another thread made the variable again: {found}")
    trial.equal(found, {"name": "", "plain": "v:0", "captured": "main/w:0", "after": "main"})


def kinds(trial: Trial) -> None:
    """The scope decides between the two kinds of variables, and passes regularizer and caching device on to inner
    scopes; a variable's own regularizer and constraint replace those of the scope."""
    host = trial.random(4, seed=1)

    def body(variable_scope: VariableScope) -> Any:
        with building(trial) as graph:
            options = {"regularizer": tf.reduce_sum, "caching_device": trial.device, "use_resource": True}
            with variable_scope("outer", **options), variable_scope("inner", constraint=tf.nn.relu) as scope:
                first = v1.get_variable("a", initializer=tf.constant(host))
                second = v1.get_variable(
                    "b", initializer=tf.constant(host), constraint=tf.abs, regularizer=tf.reduce_max
                )
            # Devices of XLA have no variables of the legacy kind.
            with tf.device(None), variable_scope("legacy", use_resource=False):
                third = v1.get_variable("c", initializer=tf.constant(host))
            return graph, first, second, third, scope, graph.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)

    graph, first, second, third, scope, losses = trial.call_inside(body)
    trial.equal([variable.op.type for variable in (first, second, third)], ["VarHandleOp", "VarHandleOp", "VariableV2"])
    trial.check(first.constraint is tf.nn.relu and second.constraint is tf.abs, "another constraint")
    trial.equal((scope.caching_device, scope.use_resource, third.constraint), (trial.device, True, None))
    trial.equal(len(losses), 2)
    with building(trial, graph), v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        for found, expected in zip(session.run(losses), (np.sum(host.astype("float64")), np.max(host))):
            close(trial, found, expected, "float32")

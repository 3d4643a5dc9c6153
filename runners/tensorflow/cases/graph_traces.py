"""What a call adds to a TensorFlow 1 graph and what it leaves there: collections, operations, order, states."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, close

v1 = tf.compat.v1


def _collected(graph: tf.Graph) -> dict[str, list[str]]:
    # Those whose names are no text are TensorFlow's own.
    keys = [key for key in graph.collections if isinstance(key, str)]
    return {key: [each.name for each in graph.get_collection(key)] for key in keys if graph.get_collection(key)}


def adds(trial: Trial, how: str) -> None:
    """A call leaves the collections of the graph as they were, in their order. What only asks adds no operation, and
    a placeholder adds one."""

    def body(function: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            made = [v1.get_variable(name, initializer=np.float32(1)) for name in ("b", "a", "c")]
            by_name = how == "step"
            steps = v1.get_variable("global_step", (), tf.int64, trainable=False, use_resource=not by_name)
            v1.add_to_collection("mine", made[1])
            if how == "step in collection":
                v1.add_to_collection(v1.GraphKeys.GLOBAL_STEP, steps)
            before, count = _collected(graph), len(graph.get_operations())
            if how == "shape":
                x = graph.get_operations()[0].outputs[0]
                found = [function(x), function(x)]
            elif how.startswith("step"):
                found = [function(), function(graph)]
                trial.equal([(each.name, each.dtype.base_dtype) for each in found], [(steps.name, tf.int64)] * 2)
            elif how == "placeholder":
                found = [function(tf.float32, [2]), function(tf.float32, [2])]
            elif how == "is-initialized":
                found = [function(each) for each in made]
            else:
                found = [function() for _ in range(3)]
            return before, _collected(graph), len(graph.get_operations()) - count

    trial.repeatable = False
    before, after, added = trial.call_inside(body)
    trial.equal(after, before)
    most = {"placeholder": 2, "shape": 0, "step": 0, "step in collection": 0}.get(how)
    trial.check(most is None or added == most, f"expected {most} more operations, found {added}")


def initialized_of_any_kind(trial: Trial, references: bool) -> None:
    """Whether a variable has a value is asked of local variables, of references and of variables of unknown shape, as
    of others; asking changes nothing, and waits for control dependencies."""

    def body(is_initialized: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            local = v1.get_variable(
                "own", initializer=np.float32(1), collections=[v1.GraphKeys.LOCAL_VARIABLES], use_resource=True
            )
            free = v1.Variable(
                v1.placeholder_with_default(np.ones([2], "float32"), None), validate_shape=False, use_resource=True
            )
            reference = v1.Variable([1.0, 2.0], use_resource=not references)
            other = v1.Variable([3, 4], use_resource=True, trainable=False)
            made = [local, free, reference, other]
            asked = [is_initialized(each) for each in made]
            late = v1.Variable(5.0, use_resource=True)
            with tf.control_dependencies([late.initializer]):
                after = is_initialized(late)
            return graph, asked, after, [each.initializer for each in made]

    trial.repeatable = False
    graph, asked, after, starts = trial.call_inside(body)
    trial.equal([(each.dtype.name, each.shape.as_list()) for each in asked], [("bool", [])] * 4)
    with v1.Session(graph=graph) as session:
        for count in range(5):
            expected = [number < count for number in range(4)]
            for _ in range(2):
                trial.equal([bool(each) for each in session.run(asked)], expected)
            if count < 4:
                session.run(starts[count])
        trial.equal(bool(session.run(after)), True)


def starts_again(trial: Trial, references: bool) -> None:
    """Run again, the operation sets every global variable to its initial value, also one that has another, is not
    trainable or has no elements, and no local one; it waits for control dependencies."""

    def body(initializer: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            made = [
                v1.Variable([1.0, 2.0], use_resource=True),
                v1.Variable([3.0], use_resource=not references),
                v1.Variable([4, 5], trainable=False, use_resource=True),
                v1.Variable(np.zeros([0, 2], "float32"), use_resource=True),
            ]
            own = v1.Variable(6.0, collections=[v1.GraphKeys.LOCAL_VARIABLES], use_resource=True)
            first = initializer()
            with tf.control_dependencies([v1.assign(own, 8.0)]):
                later = initializer()
            return graph, made, own, first, later, [v1.assign_add(each, tf.ones_like(each)) for each in made]

    trial.repeatable = False
    graph, made, own, first, later, changes = trial.call_inside(body)
    trial.check(isinstance(first, tf.Operation), f"expected an operation, found {first!r}")
    initial: list[Any] = [[1.0, 2.0], [3.0], [4, 5], np.zeros([0, 2])]
    with v1.Session(graph=graph) as session:
        session.run(own.initializer)
        session.run(first)
        for operation, kept in ((first, 6.0), (later, 8.0)):
            session.run(changes)
            session.run(operation)
            for found, expected, dtype in zip(session.run(made), initial, ["float32", "float32", "int32", "float32"]):
                close(trial, found, expected, dtype)
            close(trial, session.run(own), kept, "float32")


def placeholders(trial: Trial) -> None:
    """Two placeholders of one name are two tensors, each with its own feed; the second name is numbered. Resources and
    variants have placeholders too."""

    def body(placeholder: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            with tf.name_scope("part"):
                pair = [placeholder(tf.float32, [2], name="x") for _ in range(2)]
            plain = [placeholder(tf.float32, [2], "y") for _ in range(2)]
            kinds = [placeholder(kind, []) for kind in (tf.resource, tf.variant)]
            return graph, pair, plain, kinds, pair[0] - pair[1] * 2.0

    trial.repeatable = False
    graph, pair, plain, kinds, difference = trial.call_inside(body)
    trial.equal([each.name for each in pair], ["part/x:0", "part/x_1:0"])
    trial.check(plain[0].name != plain[1].name, f"two placeholders are named {plain[0].name}")
    trial.equal([each.dtype.name for each in kinds], ["resource", "variant"])
    with v1.Session(graph=graph) as session:
        trial.check(plain[0] is not plain[1], "two placeholders are one")
        fed = {pair[0]: [1.0, 2.0], pair[1]: [10.0, -3.0]}
        close(trial, session.run(difference, fed), [-19.0, 8.0], "float32")


def fetched_parts(trial: Trial) -> None:
    """A fetch by name is that output of its operation; what was fetched can be written to, and changes no variable and
    no other fetch. Metadata of an earlier run is replaced."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [6], name="x")
        tf.split(x, 3, name="parts")
        with tf.device(None):
            held = v1.get_variable("held", initializer=np.asarray([1.0, 2.0], "float32"))
        start, doubled, twice = held.initializer, held * 2.0, x * 2.0
        held = held.read_value()
    host = trial.random(6, seed=1)
    session, metadata = v1.Session(graph=graph), v1.RunMetadata()
    session.run(start)
    trial.repeatable = False
    for number in (2, 0, 1):
        found = trial.call(session, f"parts:{number}", {"x:0": host})
        close(trial, found, host[2 * number : 2 * number + 2], "float32")
    found = trial.call(session, [held, doubled])
    found[0][...] = 9.0
    close(trial, found[1], [2.0, 4.0], "float32")
    close(trial, session.run(held), [1.0, 2.0], "float32")
    options = v1.RunOptions(output_partition_graphs=True, trace_level=v1.RunOptions.FULL_TRACE)
    close(trial, trial.call(session, x, {x: host}, options, metadata), host, "float32")
    close(trial, trial.call(session, twice, {x: host}, options=options, run_metadata=metadata), 2 * host, "float32")
    names = [node.name for part in metadata.partition_graphs for node in part.node]
    trial.check(bool(names), "the metadata has no graphs")
    trial.check(len(metadata.step_stats.dev_stats) > 0, "the metadata has no trace")
    close(trial, trial.call(session, x, {x: host}, run_metadata=metadata), host, "float32")
    trial.equal((len(metadata.partition_graphs), len(metadata.step_stats.dev_stats)), (0, 0))

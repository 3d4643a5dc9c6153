"""What a graph keeps account of: collections, variables and whether they have values, the global step."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close

v1 = tf.compat.v1


def _same(trial: Trial, found: Any, expected: Sequence[Any]) -> None:
    """A list of these very objects in this order."""
    trial.check(isinstance(found, list), f"expected a list, got {type(found).__name__}")
    trial.check(
        len(found) == len(expected) and all(one is other for one, other in zip(found, expected)),
        f"expected {expected}, got {found}",
    )


def _variable(trial: Trial, name: str, shape: Sequence[int], dtype: str, seed: int = 1, **options: Any) -> Any:
    """A variable with random initial values, and these on the host."""
    host = trial.random(*shape, dtype=dtype, seed=seed).astype(trial.dtype(dtype).as_numpy_dtype)
    return v1.get_variable(name, initializer=tf.constant(host), use_resource=True, **options), host


def variables_by_kind(trial: Trial, key: str) -> None:
    """Each standard collection holds the variables of its kind in the order of their making."""
    with building(trial) as graph:
        weights, _ = _variable(trial, "weights", [2], "float32")
        counter, _ = _variable(trial, "counter", [], "int64", trainable=False)
        cache, _ = _variable(trial, "cache", [3], "float32", trainable=False, collections=["local_variables"])
        bias, _ = _variable(trial, "bias", [1], "float64")
    expected = {
        "variables": [weights, counter, bias],
        "trainable_variables": [weights, bias],
        "local_variables": [cache],
        "moving_average_variables": [],
    }[key]
    found = call_building(trial, graph, key)
    _same(trial, found, expected)
    trial.equal([item.op.name for item in found], [item.op.name for item in expected])


def own_items(trial: Trial, count: int) -> None:
    """A collection under a key of one's own keeps plain values and tensors, each as often as it was added."""
    with building(trial) as graph:
        tensor = tf.constant([1.5, 2.5])
        items: list[Any] = [f"item {number}" for number in range(count)]
        items += [tensor, 7, "item 0", tensor, None]
        for item in items:
            v1.add_to_collection("mine", item)
        v1.add_to_collection("other", "elsewhere")
        v1.add_to_collections(["other", ("a", 1)], "both")
    found = call_building(trial, graph, "mine")
    _same(trial, found, items)
    _same(trial, call_building(trial, graph, "other"), ["elsewhere", "both"])
    _same(trial, call_building(trial, graph, ("a", 1)), ["both"])


def unknown_key(trial: Trial) -> None:
    """A key that nothing was added under gives an empty list, and asking creates no collection."""
    with building(trial) as graph:
        v1.add_to_collection("known", 1.25)
    _same(trial, call_building(trial, graph, "unknown"), [])
    trial.equal(list(graph.collections), ["known"])
    _same(trial, call_building(trial, graph, "known"), [1.25])


def copied(trial: Trial) -> None:
    """The list is a copy: changing it does not change the collection, nor does a later addition change the list."""
    with building(trial) as graph:
        v1.add_to_collection("key", "one")
        v1.add_to_collection("key", "two")
    first = call_building(trial, graph, "key")
    first.append("three")
    graph.add_to_collection("key", "four")
    second = call_building(trial, graph, "key")
    _same(trial, first, ["one", "two", "three"])
    _same(trial, second, ["one", "two", "four"])


def by_scope(trial: Trial, scope: str, expected: Sequence[str]) -> None:
    """With a scope only the items count whose name matches it as a regular expression from its beginning."""
    with building(trial) as graph:
        for name in ("layer1/weights", "layer1/bias", "layer2/weights", "layer10/weights", "other/layer1"):
            _variable(trial, name, [2], "float32")
        # What has no name never matches.
        v1.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, "layer1")
    found = call_building(trial, graph, v1.GraphKeys.GLOBAL_VARIABLES, scope=scope)
    trial.check(isinstance(found, list), f"expected a list, got {type(found).__name__}")
    trial.equal([variable.name for variable in found], list(expected))


def per_graph(trial: Trial) -> None:
    """Collections belong to their graph: the default one's are given, also by graphs nested in each other."""
    outer, inner = tf.Graph(), tf.Graph()
    outer.add_to_collection("key", "outer")
    inner.add_to_collection("key", "inner")

    def body(get_collection: Callable[..., Any]) -> Any:
        with outer.as_default():
            before = get_collection("key")
            with inner.as_default():
                inside = get_collection("key")
            return before, inside, get_collection("key")

    before, inside, after = trial.call_inside(body)
    _same(trial, before, ["outer"])
    _same(trial, inside, ["inner"])
    _same(trial, after, ["outer"])


def losses(trial: Trial) -> None:
    """What layers put into the collection of losses adds up in a session."""
    host = trial.random(5, 3, seed=2)
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [None, 3])
        for power in (1, 2):
            v1.losses.add_loss(tf.reduce_mean(tf.abs(x) ** power))
    found = call_building(trial, graph, v1.GraphKeys.LOSSES)
    trial.equal(len(found), 2)
    with building(trial, graph):
        total = tf.add_n(found)
    with v1.Session(graph=graph) as session:
        wide = abs(host.astype("float64"))
        close(trial, session.run(total, {x: host}), wide.mean() + (wide**2).mean(), "float32")


# tf.compat.v1.global_variables_initializer


def _uninitialized(session: Any, graph: tf.Graph) -> Any:
    with graph.as_default():
        return sorted(session.run(v1.report_uninitialized_variables(graph.get_collection("variables"))).tolist())


def initializes(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """The operation gives every variable its initial value; before it none has one."""
    with building(trial) as graph:
        pairs = [_variable(trial, f"v{seed}", shape, dtype, seed) for seed in (1, 2, 3)]
    start = call_building(trial, graph)
    trial.check(isinstance(start, tf.Operation), f"expected an operation, got {type(start).__name__}")
    trial.check(start.graph is graph, "the operation belongs to another graph")
    with v1.Session(graph=graph) as session:
        trial.equal(_uninitialized(session, graph), [b"v1", b"v2", b"v3"])
        trial.check(session.run(start) is None, "an operation has no value")
        trial.equal(_uninitialized(session, graph), [])
        for found, (_, host) in zip(session.run([variable for variable, _ in pairs]), pairs):
            wide = host.astype("float32") if dtype == "bfloat16" else host
            close(trial, found, wide, dtype, 0.0, 0.0)


def initializes_again(trial: Trial) -> None:
    """Run again it resets what has changed, and in another session it leaves the first one's values alone."""
    with building(trial) as graph:
        variable, host = _variable(trial, "v", [4], "float64")
        change = variable.assign_add([1.0, 2.0, 3.0, 4.0])
    start = call_building(trial, graph)
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    first.run(start)
    close(trial, first.run(change), host + np.arange(1, 5), "float64")
    second.run(start)
    close(trial, first.run(variable), host + np.arange(1, 5), "float64")
    first.run(start)
    close(trial, first.run(variable), host, "float64", 0.0, 0.0)
    first.close()
    second.close()


def initializes_global_only(trial: Trial) -> None:
    """Local variables stay without a value, and so does a global one that was made after the operation."""
    with building(trial) as graph:
        before, host = _variable(trial, "before", [2, 3], "float32")
        _variable(trial, "local", [2], "float32", trainable=False, collections=["local_variables"])
    start = call_building(trial, graph)
    with building(trial, graph):
        _variable(trial, "after", [2], "float32")
        state = [v1.is_variable_initialized(v) for v in (*graph.get_collection("local_variables"), before)]
    with v1.Session(graph=graph) as session:
        session.run(start)
        trial.equal(session.run(state), [False, True])
        trial.equal(_uninitialized(session, graph), [b"after"])
        close(trial, session.run(before), host, "float32", 0.0, 0.0)


def initializes_dependent(trial: Trial, length: int) -> None:
    """A variable that starts from another's initial value, or from random numbers, gets it by the one operation."""
    with building(trial) as graph:
        first, host = _variable(trial, "first", [length], "float32")
        second = v1.get_variable("second", initializer=first.initial_value * 2.0, use_resource=True)
        third = v1.get_variable(
            "third", [length], initializer=v1.random_uniform_initializer(2.0, 3.0, seed=5), use_resource=True
        )
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        session.run(start)
        found = session.run([first, second, third])
    wide = host.astype("float64")
    close(trial, found[0], wide, "float32", 0.0, 0.0)
    close(trial, found[1], wide * 2, "float32")
    trial.check(found[2].min() >= 2 and found[2].max() < 3, "the random numbers lie outside of [2, 3)")
    # Five standard errors of the mean of uniform numbers.
    bound = 5 * (1 / 12 / length) ** 0.5
    trial.check(abs(found[2].mean() - 2.5) < bound, f"the mean is {found[2].mean()}, expected 2.5 within {bound:.3g}")


def initializes_nothing(trial: Trial) -> None:
    """Without variables there is an operation all the same, and it can be run."""
    graph = tf.Graph()
    start = call_building(trial, graph)
    trial.check(isinstance(start, tf.Operation), f"expected an operation, got {type(start).__name__}")
    trial.equal(start.type, "NoOp")
    trial.check(start.graph is graph, "the operation belongs to another graph")
    with v1.Session(graph=graph) as session:
        trial.check(session.run(start) is None, "an operation has no value")


def trains(trial: Trial) -> None:
    """It initializes an optimizer's own variables as well: momentum's first two steps are the closed ones."""
    host, slope = trial.random(5, seed=1), trial.random(5, seed=3)
    with building(trial) as graph:
        weights = v1.get_variable("weights", initializer=tf.constant(host), use_resource=True)
        step = v1.train.MomentumOptimizer(0.1, 0.5).minimize(tf.reduce_sum(weights * slope))
    start = call_building(trial, graph)
    with v1.Session(graph=graph) as session:
        session.run(start)
        session.run(step)
        session.run(step)
        found = session.run(weights)
    # The momentum is g after the first step, 1.5 g after the second.
    close(trial, found, host.astype("float64") - 0.1 * 2.5 * slope.astype("float64"), "float32")


# tf.compat.v1.is_variable_initialized


def _truth(trial: Trial, found: Any, expected: bool) -> None:
    close(trial, found, expected, "bool")


def before_and_after(trial: Trial, dtype: str, resource: bool) -> None:
    """It is false until the variable's initializer has run, and true from then on, in this session only."""
    host = trial.random(2, 3, dtype=dtype, seed=1).astype(trial.dtype(dtype).as_numpy_dtype)
    with building(trial) as graph:
        variable = v1.get_variable("v", initializer=tf.constant(host), use_resource=resource)
    answer = call_building(trial, graph, variable)
    trial.equal((answer.dtype.name, answer.shape.as_list()), ("bool", []))
    trial.check(answer.graph is graph, "the answer belongs to another graph")
    with v1.Session(graph=graph) as session, v1.Session(graph=graph) as other:
        _truth(trial, session.run(answer), False)
        session.run(variable.initializer)
        _truth(trial, session.run(answer), True)
        _truth(trial, other.run(answer), False)


def each_of_several(trial: Trial, shape: Sequence[int]) -> None:
    """Each variable has its own answer: with one of two initialized they differ."""
    with building(trial) as graph:
        first, _ = _variable(trial, "first", shape, "float32")
        second, _ = _variable(trial, "second", shape, "float32")
    answers = [call_building(trial, graph, variable) for variable in (first, second)]
    with v1.Session(graph=graph) as session:
        for variable, expected in ((second, (False, True)), (first, (True, True))):
            session.run(variable.initializer)
            for found, wanted in zip(session.run(answers), expected):
                _truth(trial, found, wanted)


def by_assignment(trial: Trial) -> None:
    """An assignment initializes too, without the initializer."""
    with building(trial) as graph:
        variable, _ = _variable(trial, "v", [3], "float32")
        assign = variable.assign([1.0, 2.0, 3.0])
    answer = call_building(trial, graph, variable)
    with v1.Session(graph=graph) as session:
        _truth(trial, session.run(answer), False)
        session.run(assign)
        _truth(trial, session.run(answer), True)


def decides(trial: Trial) -> None:
    """The answer can decide in the graph: a variable is read only if it has a value."""
    with building(trial) as graph:
        variable, host = _variable(trial, "v", [4], "float32")
    answer = call_building(trial, graph, variable)
    with building(trial, graph):
        value = tf.cond(answer, lambda: variable.read_value(), lambda: tf.fill([4], -1.0))
    with v1.Session(graph=graph) as session:
        for has_value, expected in ((False, np.full(4, -1.0)), (True, host)):
            found, chosen = session.run([answer, value])
            _truth(trial, found, has_value)
            close(trial, chosen, expected, "float32", 0.0, 0.0)
            session.run(variable.initializer)


def eager_variable(trial: Trial, dtype: str) -> None:
    """An eager variable has its value from the beginning: the answer is true, as a tensor; in a tf.function too."""
    variable = tf.Variable(trial.tensor(trial.random(3, dtype=dtype, seed=1), dtype))
    trial.close(trial.call(variable), True, dtype="bool")

    def body(is_variable_initialized: Callable[..., Any]) -> Any:
        return tf.function(lambda: is_variable_initialized(variable))()

    trial.close(trial.call_inside(body), True, dtype="bool")


# tf.compat.v1.train.get_global_step


def step_absent(trial: Trial) -> None:
    """A graph without a global step gives None; once it is made, it is that very variable."""
    graph = tf.Graph()
    trial.check(call_building(trial, graph) is None, "there is no global step yet")
    with building(trial, graph):
        made = v1.train.create_global_step()
    trial.check(call_building(trial, graph) is made, "the global step is another one than was made")


def step_counts(trial: Trial, steps: int) -> None:
    """The step is an int64 scalar, 0 at the start, and each training step adds 1 to it."""
    with building(trial) as graph:
        made = v1.train.get_or_create_global_step()
    found = call_building(trial, graph)
    trial.check(found is made, "the global step is another one than was made")
    trial.equal((found.name, found.dtype.base_dtype.name, found.shape.as_list()), ("global_step:0", "int64", []))
    with building(trial, graph):
        weight = v1.get_variable("w", initializer=tf.constant(5.0), use_resource=True)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.square(weight), global_step=found)
        start = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, session.run(found), 0, "int64")
        for count in range(1, steps + 1):
            session.run(train)
            close(trial, session.run(found), count, "int64")
        trial.equal(v1.train.global_step(session, found), steps)


def step_of_graph(trial: Trial) -> None:
    """The graph can be named: each has its own, whichever is the default one."""
    graphs = [tf.Graph(), tf.Graph(), tf.Graph()]
    made = []
    for graph in graphs[:2]:
        with building(trial, graph):
            made.append(v1.train.create_global_step())
    trial.check(trial.call(graphs[0]) is made[0], "the first graph has another global step")
    trial.check(trial.call(graph=graphs[1]) is made[1], "the second graph has another global step")
    trial.check(call_building(trial, graphs[0], graphs[1]) is made[1], "the named graph does not come first")
    trial.check(trial.call(graphs[2]) is None, "the third graph has no global step")


def step_found(trial: Trial, by: str, dtype: str) -> None:
    """An integer variable or tensor is the step if it is in the collection for it, or has its name."""
    with building(trial) as graph:
        if by == "collection":
            host = np.asarray(41, dtype)
            step = v1.get_variable("another_name", initializer=tf.constant(host), trainable=False, use_resource=True)
            v1.add_to_collection(v1.GraphKeys.GLOBAL_STEP, step)
            # The name alone counts only where the collection is empty.
            tf.constant(-1, tf.int64, name="global_step")
        else:
            step = tf.constant(41, trial.dtype(dtype), name="global_step")
        start = v1.global_variables_initializer()
    found = call_building(trial, graph)
    trial.check(found is step, f"expected {step}, got {found}")
    with v1.Session(graph=graph) as session:
        session.run(start)
        close(trial, session.run(found), 41, dtype)


def step_ambiguous(trial: Trial) -> None:
    """Two steps in the collection are none, with an error in the log; without the second it is the first."""
    with building(trial) as graph:
        first = v1.train.create_global_step()
        v1.add_to_collection(v1.GraphKeys.GLOBAL_STEP, tf.constant(1, tf.int64))
    verbosity = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.FATAL)
    try:
        trial.check(call_building(trial, graph) is None, "one of two global steps was chosen")
    finally:
        v1.logging.set_verbosity(verbosity)
    del graph.get_collection_ref(v1.GraphKeys.GLOBAL_STEP)[1]
    trial.check(call_building(trial, graph) is first, "the remaining global step was not found")


def step_drives(trial: Trial) -> None:
    """What follows the step follows its value: a learning rate that decays with it."""
    with building(trial) as graph:
        v1.train.create_global_step()
    found = call_building(trial, graph)
    with building(trial, graph):
        rate = v1.train.exponential_decay(0.5, found, decay_steps=2, decay_rate=0.25, staircase=True)
        rate = rate() if callable(rate) else rate
        add = found.assign_add(1)
        start = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(start)
        rates = []
        for _ in range(5):
            rates.append(session.run(rate))
            session.run(add)
    close(trial, np.asarray(rates), [0.5, 0.5, 0.125, 0.125, 0.03125], "float32")

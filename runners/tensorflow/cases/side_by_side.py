"""Objects of one kind side by side: each keeps its own state, whatever the other one does in the meantime, and after a
reset it is as it was at the start."""

from __future__ import annotations

from typing import Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.distributions import NORMAL_METHODS, check_close, to_float64
from runners.tensorflow.cases.optimizers import close_steps, expected_steps
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


def optimizers(trial: Trial) -> None:
    """Two optimizers take turns, on weights of one name and shape: each has its own rates, averages and count. A new
    learning rate counts from the next step; a weight without a gradient stays."""
    options = [{"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-2}, {"learning_rate": 0.5, "rho": 0.5, "epsilon": 1e-3}]
    hosts = [trial.random(4, seed=number) for number in (1, 2)]
    slopes = [[trial.random(4, seed=10 * number + step) for step in range(3)] for number in (1, 2)]
    weights = [tf.Variable(trial.tensor(host), name="w") for host in hosts]
    idle = tf.Variable(trial.tensor(hosts[0]), name="idle")
    made = [trial.make(**each) for each in options]
    rates: Sequence[Callable[[int], float]] = [lambda step: 1.0 if step < 1 else 0.125, lambda step: 0.5]
    for each, weight in zip(made, weights):
        each.build([weight, idle])
    trial.repeatable = False
    for step in range(3):
        if step == 1:
            made[0].learning_rate = 0.125
        for number in (0, 1) if step % 2 else (1, 0):
            pairs = [(trial.tensor(slopes[number][step]), weights[number]), (None, idle)]
            counted = tf.convert_to_tensor(trial.call_method(made[number], "apply_gradients", pairs))
            trial.close(counted, step + 1, dtype="int64")
            wide = [slope.astype("float64") for slope in slopes[number][: step + 1]]
            rho, epsilon = options[number]["rho"], options[number]["epsilon"]
            expected = expected_steps(hosts[number], wide, rates[number], rho, epsilon)[-1]
            close_steps(trial, weights[number], expected, "float32")
    trial.exact(idle, hosts[0], "float32")


def averages(trial: Trial) -> None:
    """Two averages of the same variables take turns: each has its own decay and values. A variable that joins later
    starts at its value of that time."""
    hosts = [trial.random(3, dtype="float64", seed=number) for number in (1, 2)]
    one, two = (tf.Variable(trial.tensor(host)) for host in hosts)
    slow, fast = trial.make(0.75), trial.make(0.25, name="Fast")
    trial.repeatable = False
    trial.call_method(slow, "apply", [one])
    one.assign_add(trial.tensor(np.ones(3)))
    trial.call_method(fast, "apply", [one, two])
    two.assign(trial.tensor(2 * hosts[1]))
    trial.call_method(slow, "apply", [one, two])
    one.assign_add(trial.tensor(np.ones(3)))
    trial.call_method(fast, "apply", [two, one])
    tolerance = 5e-7  # The decay is rounded to float32.
    for made, variable, expected in (
        (slow, one, hosts[0] + 0.25),
        (slow, two, 2 * hosts[1]),
        (fast, one, hosts[0] + 1.75),
        (fast, two, 1.75 * hosts[1]),
    ):
        trial.close(made.average(variable), expected, tolerance, tolerance, dtype="float64")
    trial.exact(two, 2 * hosts[1], "float64")


def accuracies(trial: Trial) -> None:
    """Two accuracies of one graph count each on its own, in each session from zero; one can be reset alone."""
    with building(trial) as graph:
        labels, guesses = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.int32, [None])
        zeros = guesses * 0
    trial.repeatable = False
    first, update_first = call_building(trial, graph, labels, guesses, name="first")
    second, update_second = call_building(trial, graph, zeros, labels, name="second")
    with building(trial, graph):
        start = v1.local_variables_initializer()
        reset = v1.variables_initializer(v1.local_variables("first"))
    one = {labels: [0, 1, 2, 3], guesses: [0, 1, 0, 0]}
    two = {labels: [0, 1], guesses: [0, 1]}
    with v1.Session(graph=graph) as session, v1.Session(graph=graph) as other:
        session.run(start)
        other.run(start)
        for update, feeds, expected in (
            (update_first, one, 0.5),
            (update_second, one, 0.25),
            (update_first, two, 4 / 6),
            (reset, None, None),
            (update_second, two, 2 / 6),
            (update_first, two, 1.0),
        ):
            found = run(trial, session, update, feeds)
            if expected is not None:
                close(trial, found, expected, "float32")
        close(trial, other.run(first), 0.0, "float32")
        close(trial, session.run([first, second])[1], 2 / 6, "float32")


def variables(trial: Trial) -> None:
    """Variables that begin with one tensor or array do not change it, each other, or what was read before."""
    host = trial.random(2, 3, seed=1)
    given = trial.tensor(host)
    kept = host.copy()
    trial.repeatable = False
    made = [trial.call(given), trial.call(given), trial.call(kept)]
    before = [variable.read_value() for variable in made]
    arrays = [variable.numpy() for variable in made]
    for number, variable in enumerate(made):
        variable.assign_add(tf.fill([2, 3], float(number + 1)))
        variable[1].assign(tf.zeros([3]))
    trial.exact(given, host, "float32")
    trial.equal(kept, host)
    for number, variable in enumerate(made):
        expected = host + np.float32(number + 1)
        expected[1] = 0
        trial.exact(variable, expected, "float32")
        trial.exact(before[number], host, "float32")
        trial.equal(arrays[number], host)
    kept[:] = 0
    trial.exact(made[2][0], host[0] + np.float32(3), "float32")


def tables(trial: Trial) -> None:
    """Tables of the same keys and other values, and two tables of one initializer with other defaults, are read in
    turn."""
    keys = [3, 1, 2]
    made = [trial.call(keys, values) for values in ([10, 20, 30], [-1, -2, -3], [10, 20, 30])]
    read = [
        tf.lookup.StaticHashTable(made[0], -7),
        tf.lookup.StaticHashTable(made[1], -8),
        tf.lookup.StaticHashTable(made[0], -9),
        tf.lookup.StaticHashTable(made[2], -10),
    ]
    for asked in ([1, 2, 3, 4], [4, 3, 3], [1, 2, 3, 4]):
        for number in (0, 1, 2, 3, 1, 0):
            known = dict(zip(keys, [-1, -2, -3] if number == 1 else [10, 20, 30]))
            found = read[number].lookup(trial.tensor(asked, "int32"))
            trial.close(found, [known.get(key, -7 - number) for key in asked], dtype="int32")


def sessions(trial: Trial) -> None:
    """Feeds hold for one run, and a value that is fed in place of a result too. A run that fails leaves the variables
    as they were, and what another session does leaves them too."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [None])
        total = v1.get_variable("total", initializer=tf.constant(1.0), use_resource=True)
        double = x * 2.0
        triple = double + x
        # An assertion would fail as well, but its message is a string, which no GPU has a kernel for.
        add = total.assign_add(tf.reduce_sum(x + tf.constant([1.0, 0.0, -1.0])))
        start = v1.global_variables_initializer()
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    trial.repeatable = False
    for session in (first, second):
        trial.call(session, start)
    for feeds, expected in (
        ({x: [1.0, 2.0]}, [3.0, 6.0]),
        ({x: [5.0]}, [15.0]),
        ({x: [1.0], double: [7.0]}, [8.0]),
        ({x: [1.0, 2.0]}, [3.0, 6.0]),
    ):
        close(trial, trial.call(first, triple, feeds), expected, "float32")
    for session, value, expected in ((first, 2.0, 3.0), (second, 4.0, 5.0), (first, 1.0, 4.0)):
        close(trial, trial.call(session, add, {x: [value, 0.0, 0.0]}), expected, "float32")
    trial.raises(["InvalidArgumentError"], "shapes", first, add, {x: [1.0, 2.0]})
    for session, expected in ((first, 4.0), (second, 5.0)):
        close(trial, trial.call(session, total), expected, "float32")


def initializations(trial: Trial) -> None:
    """Each run draws random start values again, a new session draws the same ones in the same order, and a run in one
    session leaves the other one as it is."""
    with building(trial) as graph:
        v1.set_random_seed(5)
        drawn = v1.get_variable("drawn", [50], initializer=v1.random_uniform_initializer(seed=3), use_resource=True)
        fixed = v1.get_variable("fixed", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        change = fixed.assign_add([5.0, 6.0])
    start = call_building(trial, graph)
    first, second = v1.Session(graph=graph), v1.Session(graph=graph)
    first.run(start)
    one = first.run(drawn)
    close(trial, first.run(change), [6.0, 8.0], "float32")
    second.run(start)
    trial.equal(second.run(drawn), one)
    close(trial, first.run(fixed), [6.0, 8.0], "float32")
    first.run(start)
    again = first.run(drawn)
    close(trial, first.run(fixed), [1.0, 2.0], "float32")
    trial.check((again != one).mean() > 0.9, "the second run drew the same values")
    trial.equal(second.run(drawn), one)
    second.run(start)
    trial.equal(second.run(drawn), again)


def distributions(trial: Trial) -> None:
    """Two distributions, and a copy of one, are asked in turn: each has its own parameters."""
    x = trial.random(5, dtype="float64", seed=1)
    parameters = [(0.0, 1.0), (-1.5, 3.0)]
    made = [trial.make(trial.tensor(loc, "float64"), trial.tensor(scale, "float64")) for loc, scale in parameters]
    made.append(made[0].copy(scale=trial.tensor(0.25, "float64")))
    parameters.append((0.0, 0.25))
    value = trial.tensor(x)
    for method in ("log_prob", "cdf", "log_prob", "prob"):
        for number in (0, 1, 2, 0):
            found = trial.call_method(made[number], method, value)
            check_close(trial, found, NORMAL_METHODS[method](to_float64(x), *parameters[number]), "float64")


def draws(trial: Trial, name: str) -> None:
    """Under one general seed, calls with the same and other seeds of their own differ; after the general seed is set
    again, they are repeated one by one."""
    alpha = trial.tensor(np.asarray([2.0, 5.0], "float32"))
    rows = []
    for _ in range(2):
        tf.random.set_seed(31)
        found = []
        for seed in (1, 1, 2, 1):
            output = trial.call([40], alpha, seed=seed) if name == "gamma" else trial.call([80])
            found.append(trial.numpy(output).ravel())
        rows.append(found)
    trial.equal(rows[1], rows[0])
    for number, row in enumerate(rows[0]):
        for other in rows[0][:number]:
            trial.check((row != other).mean() > 0.9, "two calls gave the same draws")


def readings(trial: Trial) -> None:
    """Each reading of one text has the features that it asks for, whatever was asked before."""
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 5, 6]))
    text = tf.train.SequenceExample(context=tf.train.Features(feature={"a": feature, "b": feature})).SerializeToString()
    fixed, int64 = tf.io.FixedLenFeature, tf.int64
    trial.repeatable = False
    for _ in range(2):
        found, _lists = trial.call(text, {"a": fixed([3], int64)})
        trial.equal(sorted(found), ["a"])
        trial.exact(found["a"], [4, 5, 6], "int64")
        found, _lists = trial.call(text, {"a": fixed([1, 3], int64), "b": tf.io.VarLenFeature(int64)})
        trial.exact(found["a"], [[4, 5, 6]], "int64")
        trial.exact(found["b"].values, [4, 5, 6], "int64")
        for value in (7, 8):
            found, _lists = trial.call(text, {"c": fixed([1], int64, [value])})
            trial.exact(found["c"], [value], "int64")

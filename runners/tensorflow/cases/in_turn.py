"""Checks, constants and distributions that are used several times in turn, and by name."""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np
import tensorflow as tf
from scipy import special

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def less_in_turn(trial: Trial, traced: bool) -> None:
    """A variable that has passed is checked again in the next call, eagerly and, ``traced``, in a tf.function; whole
    numbers without a sign are compared up to their largest."""
    low = tf.Variable(trial.tensor([1.0, 2.0], "float32"))
    high = trial.tensor([2.0, 3.0], "float32")
    wide = [trial.tensor(np.asarray(each, "uint64")) for each in ([3, 2**63 + 4], [2**63, 2**63 + 5], [4, 2**63 + 4])]

    def body(assert_less: Callable[..., Any]) -> Any:

        def checks() -> None:
            assert_less(low, high)

        program = tf.function(checks, autograph=False)
        found = []
        for values in ([1.0, 2.0], [1.0, 3.0], [0.0, 0.0], [9.0, 0.0], [1.5, 2.5]):
            low.assign(values)
            for check in (checks, program if traced else checks):
                try:
                    check()
                    found.append("passes")
                except tf.errors.InvalidArgumentError:
                    found.append("fails")
        assert_less(wide[0], wide[1])
        for pair in ((wide[1], wide[0]), (wide[0], wide[2])):
            try:
                assert_less(*pair)
                found.append("passes")
            except tf.errors.InvalidArgumentError:
                found.append("fails")
        return found

    trial.repeatable = False
    expected = [each for each in ("passes", "fails", "passes", "fails", "passes") for _ in range(2)]
    trial.equal(trial.call_inside(body), [*expected, "fails", "fails"])


def less_named(trial: Trial) -> None:
    """In a graph the check is an operation in the given scope; it runs where something depends on it."""

    def body(assert_less: Callable[..., Any]) -> Any:
        with building(trial) as graph, tf.name_scope("part"):
            x, y = (v1.placeholder(tf.float32, [2]) for _ in range(2))
            checks = [assert_less(x, y, name="own"), assert_less(x, y, "a message", 3, "own"), assert_less(x, y)]
            with tf.control_dependencies([checks[0]]):
                return graph, x, y, checks, x + y

    trial.repeatable = False
    graph, x, y, checks, total = trial.call_inside(body)
    names = [each.name for each in checks]
    for name, start in zip(names, ("part/own/", "part/own_1/", "part/")):
        trial.check(name.startswith(start) and isinstance(checks[0], tf.Operation), f"{name} is not in {start}")
    trial.check("own" not in names[2], f"a check without a name is named {names[2]}")
    with v1.Session(graph=graph) as session:
        trial.equal(session.run(total, {x: [1, 2], y: [2, 3]}), np.asarray([3, 5], "float32"))
        try:
            session.run(total, {x: [1, 3], y: [2, 3]})
            trial.check(False, "a check that fails let the sum be computed")
        except tf.errors.InvalidArgumentError:
            pass


def constants(trial: Trial) -> None:
    """Equal numbers of different kinds, made in turn, keep their kind, eagerly and in a tf.function; each call
    makes another tensor."""
    values = [(1, "int32"), (True, "bool"), (1.0, "float32"), (1 + 0j, "complex128")]
    values += [(0.0, "float32"), (0, "int32"), (False, "bool"), (1, "int32"), (2**31, "int64"), (b"1", "string")]

    def body(constant: Callable[..., Any]) -> Any:
        eager = [constant(value) for value, _ in values]
        program = tf.function(lambda: [constant(value) for value, _ in values[:-1]], autograph=False)
        return eager, [*program(), eager[-1]]

    for found in trial.call_inside(body):
        trial.equal([each.dtype.name for each in found], [name for _, name in values])
        for output, (value, name) in zip(found, values):
            trial.equal(trial.numpy(output), np.asarray(value, object if name == "string" else name)[()])
    first, second = trial.call([1.5, 2.5]), trial.call([1.5, 2.5])
    trial.check(first is not second, "two calls return one tensor")
    for shape in ((3, 2), [2, 3], tf.TensorShape([6]), np.asarray([1, 6])):
        sizes = [int(size) for size in shape]
        made = trial.call([1, 2, 3, 4, 5, 6], tf.int64, shape)
        trial.exact(made, np.arange(1, 7).reshape(sizes), "int64")
    for number in (2**64, 2**63, -(2**63) - 1):
        trial.raises(["OverflowError", "TypeError", "ValueError"], "range", number, tf.int64)
    nested = (((1, 2, 3), (4, 5, 6)),)
    trial.exact(trial.call(nested), np.asarray(nested), "int32")


def numbers(trial: Trial) -> None:
    """Equal numbers of Python of different kinds keep their kind, in each order of the calls, alone and in lists."""
    trial.repeatable = False
    pairs = {int: "int32", float: "float32", bool: "bool", complex: "complex128"}
    # Other numbers in each order: a number that has been converted before cannot hide a mistake.
    for number, order in enumerate(itertools.permutations(pairs), start=2):
        for start in (0, 1, number):
            for kind in order:
                value = kind(start)
                trial.exact(trial.call(value), np.asarray(value, pairs[kind]), pairs[kind])
                trial.exact(trial.call([value]), np.asarray([value], pairs[kind]), pairs[kind])


def constant_named(trial: Trial) -> None:
    """In a graph a constant has the given name in the scope around, and is evaluated while the graph is built."""

    def body(constant: Callable[..., Any]) -> Any:
        with building(trial), tf.name_scope("part"):
            made = [constant([1, 2], name="own"), constant(3.0, tf.float64, [2], "own"), constant(1.0)]
            return made, [tf.get_static_value(each) for each in made]

    trial.repeatable = False
    made, known = trial.call_inside(body)
    trial.equal([each.name for each in made], ["part/own:0", "part/own_1:0", "part/Const:0"])
    trial.equal([each.shape.as_list() for each in made], [[2], [2], []])
    trial.equal([each.dtype.name for each in made], ["int32", "float64", "float32"])
    trial.equal([np.asarray(each).tolist() for each in known], [[1, 2], [3.0, 3.0], 1.0])


def zeros_in_turn(trial: Trial) -> None:
    """Zeros of many axes have all of them; a size that is not known is refused; in a graph they have the given name,
    eagerly and in a tf.function the same shape, also of mixed numbers and tensors."""
    for sizes in ([1, 2, 1, 1, 3, 1, 1, 2, 1], [2, 0, 1, 1, 1, 1, 1, 1, 1, 1], [1] * 12, [3, 500], [500, 3], [1500]):
        output = trial.call(sizes, tf.float64)
        trial.equal(output.shape.as_list(), sizes)
        trial.exact(output, np.zeros(sizes), "float64")
    for kind in (tf.qint8, tf.quint8, tf.qint32):
        trial.equal(trial.call([2, 3], kind).dtype, kind)
    trial.raises(["TypeError", "ValueError"], "", tf.TensorShape([2, None]))

    def body(zeros: Callable[..., Any]) -> Any:
        two = trial.tensor(np.asarray(2, "int32"))
        seen: list[Any] = []

        def traced(size: Any) -> Any:
            made = [zeros([size, 3]), zeros((7, size, 200), tf.int64), zeros(tf.stack([size, 4])), zeros([40, 50])]
            seen.append([each.shape.as_list() for each in made])
            return made

        program = tf.function(traced, autograph=False)
        return traced(two), program(two), seen

    eager, inside, seen = trial.call_inside(body)
    for found in (eager, inside):
        for output, shape, dtype in zip(found, ([2, 3], [7, 2, 200], [2, 4], [40, 50]), ("f4", "i8", "f4", "f4")):
            trial.exact(output, np.zeros(shape, dtype), np.dtype(dtype).name)
    trial.equal(seen[1], [[None, 3], [7, None, 200], [None, 4], [40, 50]])


def survivals(trial: Trial) -> None:
    """Values are numbers, lists, arrays, tensors or variables, which stay; each call of a distribution computes its
    own; in a graph the operations have the given name inside of the distribution's."""
    made = v1.distributions.Normal(trial.tensor([0.5, -1.0], "float32"), trial.tensor([1.0, 3.0], "float32"))
    host = np.asarray([[0.25, 1.5], [-2.0, 4.0]], "float32")
    variable = tf.Variable(trial.tensor(host))
    loc, scale = np.asarray([0.5, -1.0]), np.asarray([1.0, 3.0])
    for given in (host.tolist(), host, variable, trial.tensor(host), 0.75, np.float32(-1.25), [2.0, 3.0], host + 1):
        wide = np.asarray(trial.numpy(given), "float64")
        expected = special.ndtr(-(wide - loc) / scale)
        trial.close(trial.call(made, given), expected, 1e-5, 1e-6, dtype="float32")
        trial.close(trial.call(made, value=given, name="own"), expected, 1e-5, 1e-6, dtype="float32")
    trial.exact(variable, host, "float32")

    def body(survival_function: Callable[..., Any]) -> Any:
        with building(trial), tf.name_scope("part"):
            normal = v1.distributions.Normal(0.0, 1.0, name="bell")
            x = v1.placeholder(tf.float32, [None, 3])
            return [survival_function(normal, x, "own"), survival_function(normal, x, name="own")]

    trial.repeatable = False
    found = trial.call_inside(body)
    for output, name in zip(found, ("bell/own/", "bell/own_1/")):
        trial.check(name in output.op.name, f"the result is named {output.op.name}, expected {name} in it")
        trial.equal(output.shape.as_list(), [None, 3])


def zeros_of_arrays(trial: Trial) -> None:
    """Sizes are an array or a shape of any number of axes, of integers of any kind, or NumPy's numbers in a list."""
    for sizes in ([], [3], [1], [0], [2, 3], [1, 2, 1, 3], [7, 0, 2]):
        kinds: list[Any] = [np.asarray(sizes, kind) for kind in ("int32", "int64")]
        kinds += [tf.TensorShape(sizes), tuple(sizes), [np.int64(size) for size in sizes]]
        kinds += [trial.tensor(np.asarray(sizes, "int64")), tf.Variable(np.asarray(sizes, "int32"))]
        for given in kinds:
            for dtype in ("float64", "int32"):
                output = trial.call(given, dtype=tf.as_dtype(dtype))
                trial.equal(output.shape.as_list(), sizes)
                trial.exact(output, np.zeros(sizes), dtype)

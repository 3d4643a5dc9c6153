"""tf.python.framework.smart_cond.smart_cond: which branches are called, when, and the output."""

from __future__ import annotations

import copy
import functools
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import run

v1 = tf.compat.v1
SmartCond = Callable[..., Any]


class _Branches:
    """Two branches that record their calls: one doubles the values, the other returns their square minus one."""

    def __init__(self, values: Any) -> None:
        self._values = values
        self.called: list[str] = []

    def double(self) -> Any:
        self.called.append("double")
        return self._values + self._values

    def square(self) -> Any:
        self.called.append("square")
        return self._values * self._values - tf.ones_like(self._values)


def _expected(host: Any, double: bool) -> Any:
    wide = host.astype("complex128" if host.dtype.kind == "c" else "float64")
    return wide + wide if double else wide * wide - 1


def python_condition(trial: Trial, condition: Any, dtype: str = "float32") -> None:
    """For a Python bool, 1 or 0 only the selected branch is called, once."""
    host = trial.random(3, 4, dtype=dtype, seed=1)
    branches = _Branches(trial.tensor(host, dtype))
    output = trial.call(condition, branches.double, branches.square)
    trial.equal(branches.called, ["double" if condition else "square"])
    trial.close(output, _expected(host, bool(condition)), dtype=dtype)


def eager_condition(trial: Trial, condition: bool, dtype: str) -> None:
    """For an eager tensor, which has a value, only the selected branch is called."""
    host = trial.random(5, dtype=dtype, seed=2)
    values, pred = trial.tensor(host, dtype), trial.tensor(np.asarray(condition))
    branches = _Branches(values)
    output = trial.call(pred, branches.double, branches.square, name="chosen")
    trial.equal(branches.called, ["double" if condition else "square"])
    # bfloat16: the host's values are rounded on their way to the device.
    rounded = trial.numpy(values).astype(host.dtype)
    if dtype in ("float16", "bfloat16") and not condition:
        # Two roundings: of the square, and of the difference, which is small near 1.
        trial.close(output, _expected(rounded, condition), rtol=1.6e-2, atol=1.6e-2, dtype=dtype)
    else:
        trial.close(output, _expected(rounded, condition), dtype=dtype)


def other_values(trial: Trial) -> None:
    """With a Python bool the branch can return any object, which is returned itself."""
    first, second = {"kept": ["as", "it is"]}, ("another", None)
    trial.check(trial.call(True, lambda: first, lambda: second) is first, "the first object was not returned")
    trial.check(trial.call(False, lambda: first, lambda: second) is second, "the second object was not returned")


def single_items(trial: Trial, condition: bool) -> None:
    """A list, tuple or dictionary with one item, or none, remains one."""
    host = np.float32(2.5)
    value = trial.tensor(host)
    structures: list[Any] = [[value], (value,), {"a": value}, [[value]], [], ()]
    for predicate in (condition, np.bool_(condition), trial.tensor(np.asarray(condition))):
        for structure in structures:
            branches = functools.partial(copy.copy, structure), functools.partial(tf.negative, value)
            output = trial.call(predicate, *(branches if condition else branches[::-1]))
            trial.check(type(output) is type(structure), f"a {type(structure).__name__} became {output!r}")
            trial.equal(output, trial.numpy(structure))
            for leaf in tf.nest.flatten(output):
                trial.exact(leaf, host, "float32")


def named_arguments(trial: Trial) -> None:
    """The branches can be given by name, and the condition can be a bool of NumPy."""
    host = trial.random(3, 2, dtype="float64", seed=8)
    for condition in (True, False):
        branches = _Branches(trial.tensor(host))
        output = trial.call(np.bool_(condition), false_fn=branches.square, true_fn=branches.double)
        trial.equal(branches.called, ["double" if condition else "square"])
        trial.close(output, _expected(host, condition), dtype="float64")


def constant_in_graph(trial: Trial, condition: bool) -> None:
    """In a graph, a constant condition, or one computed from constants, omits the other branch."""
    host = trial.random(4, dtype="float64", seed=3)
    graph = tf.Graph()
    called: list[str] = []

    def body(smart_cond: SmartCond) -> Any:
        del called[:]
        with graph.as_default(), tf.device(trial.device):
            x = tf.constant(host)
            plain, computed = tf.constant(condition), tf.logical_not(tf.constant(not condition))
            outputs = []
            for pred in (plain, computed):
                branches = _Branches(x)
                outputs.append(smart_cond(pred, branches.double, branches.square))
                called.extend(branches.called)
            return outputs

    outputs = trial.call_inside(body)
    trial.equal(called, ["double" if condition else "square"] * 2)
    kinds = {operation.type for operation in graph.get_operations()}
    trial.check(not kinds & {"If", "StatelessIf", "Switch", "Merge"}, f"the graph holds a conditional: {kinds}")
    with v1.Session(graph=graph) as session:
        for found in run(trial, session, outputs):
            trial.equal(found.dtype.name, "float64")
            trial.close(found, _expected(host, condition))


def placeholder_in_graph(trial: Trial, dtype: str) -> None:
    """In a graph, a fed condition selects in each run; both branches are in the graph."""
    host = trial.random(2, 3, dtype=dtype, seed=4)
    graph = tf.Graph()
    called: list[str] = []

    def body(smart_cond: SmartCond) -> Any:
        with graph.as_default(), tf.device(trial.device):
            pred, x = v1.placeholder(tf.bool, []), v1.placeholder(trial.dtype(dtype), [None, 3])
            branches = _Branches(x)
            output = smart_cond(pred, branches.double, branches.square, name="chosen")
            called[:] = sorted(set(branches.called))
            return pred, x, output

    pred, x, output = trial.call_inside(body)
    trial.equal(called, ["double", "square"])
    trial.check(output.name.startswith("chosen"), f"the name is {output.name}, expected chosen")
    with v1.Session(graph=graph) as session:
        for condition, rows in ((True, 2), (False, 2), (False, 1), (True, 0)):
            found = run(trial, session, output, {pred: condition, x: host[:rows]})
            trial.equal(found.dtype.name, dtype)
            trial.close(found.astype("float64"), _expected(host[:rows], condition), rtol=1e-6, atol=1e-6)


def in_function(trial: Trial) -> None:
    """In a tf.function for any shape, traced once, the tensor selects in each call, and only one branch runs."""
    hosts = [trial.random(*shape, seed=5) for shape in ((3, 2), (1, 7), (0, 4))]
    tensors = [trial.tensor(host) for host in hosts]
    flags = [trial.tensor(np.asarray(flag)) for flag in (True, False)]
    counts = [tf.Variable(trial.tensor(np.int64(0))) for _ in flags]
    traced: list[int] = []

    def body(smart_cond: SmartCond) -> Any:
        for count in counts:
            count.assign(tf.zeros_like(count))
        del traced[:]

        @tf.function(input_signature=[tf.TensorSpec([], tf.bool), tf.TensorSpec([None, None], tf.float32)])
        def chosen(pred: Any, values: Any) -> Any:
            traced.append(1)

            def double() -> Any:
                counts[0].assign_add(1)
                return values * 2.0

            def total() -> Any:
                counts[1].assign_add(1)
                return tf.reduce_sum(values, axis=0, keepdims=True)

            return smart_cond(pred, double, total)

        return [chosen(flag, tensor) for tensor in tensors for flag in flags]

    outputs = iter(trial.call_inside(body))
    for host in hosts:
        trial.close(next(outputs), 2 * host.astype("float64"), dtype="float32")
        trial.close(next(outputs), host.astype("float64").sum(axis=0, keepdims=True), dtype="float32")
    trial.equal(len(traced), 1)
    trial.equal(counts, [len(hosts)] * 2)


def structures(trial: Trial) -> None:
    """In a tf.function the branches can return nested structures of several dtypes; dictionaries match by their keys,
    whichever was put in first."""
    host = trial.random(6, seed=6)
    values, words = trial.tensor(host), trial.tensor(np.arange(3, dtype="int64"))
    flags = [trial.tensor(np.asarray(flag)) for flag in (True, False)]

    def body(smart_cond: SmartCond) -> Any:
        @tf.function(input_signature=[tf.TensorSpec([], tf.bool)])
        def chosen(pred: Any) -> Any:
            return smart_cond(
                pred,
                lambda: {"part": values[:3], "more": (words, tf.constant(True))},
                lambda: {"more": (words * 10, tf.constant(False)), "part": values[3:]},
            )

        return [chosen(flag) for flag in flags]

    first, second = trial.call_inside(body)
    for found, part, numbers, flag in ((first, host[:3], [0, 1, 2], True), (second, host[3:], [0, 10, 20], False)):
        trial.equal(sorted(found), ["more", "part"])
        trial.close(found["part"], part, dtype="float32")
        trial.close(found["more"][0], numbers, dtype="int64")
        trial.close(found["more"][1], flag, dtype="bool")


def gradient(trial: Trial, dtype: str) -> None:
    """The gradient is that of the selected branch: 2 for sum(2 x), 2 x for sum(x^2 - 1)."""
    host = trial.random(9, dtype=dtype, seed=7)
    values = trial.tensor(host)
    flags = [trial.tensor(np.asarray(flag)) for flag in (True, False)]

    def body(smart_cond: SmartCond) -> Any:
        @tf.function
        def slope(pred: Any, x: Any) -> Any:
            branches = _Branches(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                output = smart_cond(pred, branches.double, branches.square)
            return output, tape.gradient(output, x)

        return [slope(flag, values) for flag in flags]

    (doubled, double_slope), (squared, square_slope) = trial.call_inside(body)
    trial.close(doubled, _expected(host, True), dtype=dtype)
    trial.close(double_slope, np.full(9, 2.0), dtype=dtype)
    trial.close(squared, _expected(host, False), dtype=dtype)
    trial.close(square_slope, 2 * host.astype("float64"), dtype=dtype)

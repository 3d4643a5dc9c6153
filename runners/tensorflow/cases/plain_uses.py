"""Plain uses that other cases leave out: lengths that are variables, values of every kind, averages asked for."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import error_of
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def mask_of_variables(trial: Trial) -> None:
    """Lengths and width that are variables have the values of the time of the call, also in a tf.function, where the
    shape is known as far as the width is a number; small integers are compared with a width that they cannot hold."""
    rounds = [([3, 0, 1], 4), ([1, 5, 2], 3), ([0, 0, 0], 1)]
    lengths, width = (tf.Variable(trial.tensor(np.asarray(each, "int64"))) for each in rounds[0])

    def body(sequence_mask: Callable[..., Any]) -> Any:
        known: list[Any] = []

        def program() -> Any:
            made = [sequence_mask(lengths, width), sequence_mask(lengths, 300, tf.int8), sequence_mask(lengths[:1])]
            known.append([each.shape.as_list() for each in made])
            return made

        traced, found = tf.function(program, autograph=False), []
        for each, size in rounds:
            lengths.assign(trial.tensor(np.asarray(each, "int64")))
            width.assign(trial.tensor(np.asarray(size, "int64")))
            found.append((program(), traced()))
        return found, known[1]

    found, known = trial.call_inside(body)
    trial.equal(known, [[3, None], [3, 300], [1, None]])
    for (each, size), pair in zip(rounds, found):
        rows = np.asarray(each)[:, None]
        for first, second, third in pair:
            trial.exact(first, np.arange(size) < rows, "bool")
            trial.exact(second, (np.arange(300) < rows).astype("int8"), "int8")
            trial.exact(third, np.arange(each[0]) < rows[:1], "bool")
    for kind in ("int8", "uint8", "int16"):
        host = np.asarray([[127], [0], [100 if kind == "uint8" else -3]], kind)
        for width in (400, 70000):
            expected = np.arange(width) < host[..., None].astype("int64")
            trial.exact(trial.call(trial.tensor(host), width), expected, "bool")
    given = trial.tensor(np.asarray([1.0, 3.0], "float32"))

    def slopes(sequence_mask: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            output = sequence_mask(given, 4, tf.float32)
        return output, tape.gradient(output, given)

    output, slope = trial.call_inside(slopes)
    trial.exact(output, [[1, 0, 0, 0], [1, 1, 1, 0]], "float32")
    trial.equal(slope, None)


def survival_of_kinds(trial: Trial, dtype: str) -> None:
    """Values are numbers, lists, arrays or variables, with all their digits, near the center, far on both sides, and
    infinite; the gradient is right on both sides, and of each argument."""
    limits = {"float16": (4e-3, 4e-3), "float32": (1e-5, 1e-6), "float64": (1e-12, 1e-13)}[dtype]
    loc, scale = np.asarray([0.5, -1.0], dtype), np.asarray([1.0, 3.0], dtype)
    made = v1.distributions.Laplace(trial.tensor(loc), trial.tensor(scale))
    host = np.asarray([[0.1, 1.5], [-2.3, 4.7], [5e4, 1e5], [-30.5, -90.25], [np.inf, -np.inf]], dtype)
    wide_loc, wide_scale = loc.astype("float64"), scale.astype("float64")

    def expected(value: Any) -> Any:
        z = (np.asarray(value, dtype).astype("float64") - wide_loc) / wide_scale
        below = -0.5 * np.exp(-np.abs(z))
        return np.where(z > 0, np.log(0.5) - np.abs(z), np.log1p(below))

    for given in (host.tolist(), host, tf.Variable(trial.tensor(host)), trial.tensor(host), 0.1, -2.3, [1e4, -40.0]):
        trial.close(trial.call(made, given), expected(trial.numpy(given)), *limits, dtype=dtype)
    value = host[:2]

    def body(function: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            parts = [trial.tensor(each) for each in (value, loc, scale)]
            for part in parts:
                tape.watch(part)
            output = function(v1.distributions.Laplace(parts[1], parts[2]), parts[0])
        return tape.gradient(output, parts)

    z = (value.astype("float64") - wide_loc) / wide_scale
    half = 0.5 * np.exp(-np.abs(z))
    slope = np.where(z > 0, -1.0, -half / (1 - half)) / wide_scale
    for found, wanted in zip(trial.call_inside(body), (slope, -slope.sum(0), (-slope * z).sum(0))):
        trial.close(found, wanted, *limits, dtype=dtype)


def averages_asked_for(trial: Trial) -> None:
    """The average of a variable is a variable itself, always the same one, that is not trained and follows the
    updates; of one that has none it is None. Variables that are not trained are averaged, too, the list stays, and
    any decay holds."""
    for decay in (0.0, 0.5 + 2.0**-20, 1.0):
        host = trial.random(3, dtype="float64", seed=4)
        first = tf.Variable(trial.tensor(host), trainable=False)
        second, other = tf.Variable(trial.tensor(-host)), tf.Variable(trial.tensor(host))
        given = [first, second]

        def body(average: Callable[..., Any], decay: float = decay, given: Any = given, other: Any = other) -> Any:
            made = average(decay)
            before = made.average(given[0])
            made.apply(given)
            found = [made.average(each) for each in given]
            for variable in given:
                variable.assign_add(tf.ones_like(variable))
            made.apply(given)
            again = [made.average(each) for each in given]
            return before, found, again, made.average(other)

        trial.repeatable = False
        before, found, again, none = trial.call_inside(body)
        trial.equal((before, none, len(given)), (None, None, 2))
        for one, same, sign in zip(found, again, (1, -1)):
            trial.check(isinstance(one, tf.Variable) and one is same, f"the average is {one!r}, then {same!r}")
            trial.equal(one.trainable, False)
            trial.close(one.read_value(), sign * host + (1 - decay), 1e-12, 1e-12, dtype="float64")


def evaluated_as_it_is(trial: Trial) -> None:
    """The smallest numbers, those that are none and the signs of zeros are kept; a matrix has its rows one after the
    other, a number is NumPy's, a text is bytes; a call evaluates once."""
    special = np.asarray([[5e-324, -1e-310, np.nan], [-0.0, np.inf, -np.inf]])
    with building(trial) as graph:
        tensors = [tf.constant(special), tf.constant(special.astype("float32")), tf.transpose(tf.constant(special))]
        fed = v1.placeholder(tf.float64, [2, 3], name="fed")
        scalars = [tf.constant(np.float64(5e-324)), tf.constant(7), tf.constant(True)]
        count = v1.get_variable("count", initializer=tf.constant(0), use_resource=True)
        counted = count.assign_add(1)
    trial.repeatable = False
    with v1.Session(graph=graph) as session:
        session.run(count.initializer)
        for tensor, host in zip(tensors, (special, special.astype("float32"), special.T)):
            found = trial.call(tensor, session=session)
            trial.equal((found.dtype, found.tobytes()), (host.dtype, host.tobytes()))
            trial.equal((type(found), found.flags.c_contiguous), (np.ndarray, True))
        for key in (fed, "fed:0"):
            trial.equal(trial.call(fed, {key: special}, session).tobytes(), special.tobytes())
        trial.raises(["TypeError", "ValueError"], "feed", fed, {fed: special, "nothing:0": 1.0}, session)
        found = [trial.call(scalar, session=session) for scalar in scalars]
        trial.equal([type(each).__name__ for each in found], ["float64", "int32", type(np.bool_(True)).__name__])
        trial.equal([each.item() for each in found], [5e-324, 7, True])
        for number in (1, 2, 3):
            trial.equal(int(trial.call(counted, session=session)), number)


def collected_by_scope(trial: Trial) -> None:
    """A scope is matched from the start of the name, in its own capitals, as a pattern; items without names are left
    out; asking creates no collection; a result is a new list, in the order in which items were added."""
    graph = tf.Graph()
    with graph.as_default():
        names = ["net/a", "Net/a", "inner/net/a", "net/b", "network/a"]
        items: list[Any] = [tf.no_op(name=name) for name in names]
        for item in [*items, items[0], 3, "net/text", None, []]:
            graph.add_to_collection("mine", item)
    net, capital, inner, second, work = items
    expected = {
        "net/": [net, second, net],
        "net": [net, second, work, net],
        "Net": [capital],
        ".*net/": [net, inner, second, net],
        "net/[b-z]": [second],
        "absent": [],
        "(?i)net/": [net, capital, second, net],
    }

    def body(get_collection: Callable[..., Any]) -> Any:
        with graph.as_default():
            found = {scope: get_collection("mine", scope) for scope in expected}
            named = get_collection(key="mine", scope="net/")
            return found, named, get_collection("mine"), get_collection("none at all"), graph.get_all_collection_keys()

    found, named, whole, nothing, keys = trial.call_inside(body)
    for scope, wanted in [*expected.items(), ("net/", named)]:
        same = len(found[scope]) == len(wanted) and all(one is other for one, other in zip(found[scope], wanted))
        trial.check(same, f"{scope}: expected {wanted}, found {found[scope]}")
    trial.equal((len(whole), type(whole), nothing, keys), (10, list, [], ["mine"]))
    trial.equal(whole[6:], [3, "net/text", None, []])


def step_replaced(trial: Trial) -> None:
    """A step that is taken out of the collection, or replaced by another one, is not found any more, in each graph."""
    graphs = [tf.Graph(), tf.Graph()]
    steps = []
    for graph in graphs:
        with graph.as_default():
            names = ("first", "second")
            steps.append([v1.get_variable(name, initializer=np.int64(3), use_resource=True) for name in names])
    for number in (0, 1):
        for graph, pair in zip(graphs, steps):
            graph.clear_collection("global_step")
            graph.add_to_collection("global_step", pair[number])
            found = trial.call_inside(lambda get_global_step, graph=graph: get_global_step(graph))
            trial.check(found is pair[number], f"found {found!r} in place of {pair[number]!r}")
    for graph in graphs:
        graph.clear_collection("global_step")
        trial.equal(trial.call_inside(lambda get_global_step, graph=graph: get_global_step(graph)), None)


def scope_of_errors(trial: Trial) -> None:
    """An error of any class leaves each scope as it is, and the scope around is as before."""
    errors = [ZeroDivisionError("mine"), KeyError("mine"), StopIteration("mine"), KeyboardInterrupt(), GeneratorExit()]

    def body(variable_scope: Callable[..., Any]) -> Any:
        found = []
        with tf.Graph().as_default(), variable_scope("outer"):
            for error in errors:
                try:
                    with variable_scope("inner"), variable_scope(None, "deep", reuse=False):
                        raise error
                except BaseException as raised:
                    found.append((raised, v1.get_variable_scope().name))
                else:
                    found.append((None, ""))
        return found

    found = trial.call_inside(body)
    trial.repeatable = False
    trial.check(all(one is error for (one, _), error in zip(found, errors)), f"errors: {found}")
    trial.equal([name for _, name in found], ["outer"] * len(errors))


def equal_to_the_end(trial: Trial) -> None:
    """Texts and bytes are compared with their last blanks and line ends; errors of a comparison stay what they are."""
    test_case = tf.test.TestCase()

    class _Unequal:
        def __init__(self, error: Exception) -> None:
            self._error = error

        def __eq__(self, other: object) -> bool:
            raise self._error

    pairs: list[Any] = [("a\n", "a"), ("a", "a "), ("\ta", "a"), ("a\r\n", "a\n"), ("a\0", "a"), (b"a", "a"), ("", " ")]
    pairs += [(b"a\n", b"a"), ("a\nb\n", "a\nb"), (["a\n"], ["a"]), (float("nan"), float("nan")), ("\u00e9", "e\u0301")]
    errors = [ZeroDivisionError("mine"), KeyError("mine"), TypeError("mine")]

    def body(assert_equal: Callable[..., Any]) -> Any:
        passed = [assert_equal(test_case, pair[0], str(pair[0])) for pair in pairs if isinstance(pair[0], str)]
        found = [error_of(assert_equal, test_case, *order) for pair in pairs for order in (pair, pair[::-1])]
        return passed, found, [error_of(assert_equal, test_case, _Unequal(error), 1) for error in errors]

    passed, found, raised = trial.call_inside(body)
    trial.equal(set(passed), {None})
    wrong = [pairs[n // 2] for n, error in enumerate(found) if not isinstance(error, AssertionError)]
    trial.equal(wrong, [])
    trial.check(all(one is error for one, error in zip(raised, errors)), f"errors: {raised}")

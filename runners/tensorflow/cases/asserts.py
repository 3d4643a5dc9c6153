"""Assertions: each case checks that a true one passes and a false one fails."""

from __future__ import annotations

import collections
import unittest
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

v1 = tf.compat.v1
Assertion = Callable[..., Any]


def _error_of(call: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException | None:
    """Return what the call raises, None if it does not raise."""
    try:
        call(*args, **kwargs)
    except Exception as error:
        return error
    return None


def _check_error(trial: Trial, error: Any, what: str) -> None:
    trial.check(isinstance(error, tf.errors.InvalidArgumentError), f"{what}, but the call raised {error!r}")


# tf.debugging.assert_less


def less(trial: Trial, shape: Sequence[int], dtype: str, others: Sequence[int] | None = None) -> None:
    """x < y passes and returns None; after one element of x is raised to y's it fails. ``others`` is y's shape if it
    differs."""
    low = trial.random(*shape, dtype=dtype, seed=1)
    steps = np.random.RandomState(2).randint(1, 10, shape if others is None else others)
    high = (low.max() + steps).astype(low.dtype)
    one_equal = low.copy()
    one_equal.reshape(-1)[-1] = high.reshape(-1)[-1] if others is None else high.max()
    small, large, not_less = (trial.tensor(array, dtype) for array in (low, high, one_equal))

    def body(assert_less: Assertion) -> Any:
        return assert_less(small, large), _error_of(assert_less, not_less, large), _error_of(assert_less, large, small)

    passed, equal, greater = trial.call_inside(body)
    trial.check(passed is None, f"an eager assertion that holds returned {passed!r}")
    _check_error(trial, equal, "one element was not less")
    _check_error(trial, greater, "all elements were greater")


def less_empty(trial: Trial) -> None:
    """Two empty tensors pass, as do Python numbers that are less; equal ones fail."""
    empty, number = trial.tensor(np.zeros((0, 3), "float32")), trial.tensor(np.float32(2.5))

    def body(assert_less: Assertion) -> Any:
        return assert_less(empty, empty), assert_less(2.0, number), _error_of(assert_less, number, 2.5)

    first, second, error = trial.call_inside(body)
    trial.check(first is None and second is None, f"returned {first!r} and {second!r}")
    _check_error(trial, error, "the numbers were equal")


def less_special(trial: Trial, dtype: str) -> None:
    """NaN compares as false, -0 is not less than 0, and -inf is less than everything except itself."""
    inf, nan = np.inf, np.nan
    failing = [(nan, 1.0), (1.0, nan), (nan, nan), (-0.0, 0.0), (inf, inf), (-inf, -inf), (inf, 1e4)]
    held = [(-inf, -1e4), (1e4, inf), (-inf, inf), (-1e4, 1e4)]
    # The first pair of elements always passes; the second decides.
    pairs = [[trial.tensor(np.asarray([first, x], dtype)) for first, x in zip((0, 1), p)] for p in failing + held]

    def body(assert_less: Assertion) -> Any:
        count = len(failing)
        return [_error_of(assert_less, x, y) for x, y in pairs[:count]], [assert_less(x, y) for x, y in pairs[count:]]

    raised, passed = trial.call_inside(body)
    for error, pair in zip(raised, failing):
        _check_error(trial, error, f"{pair[0]} is not less than {pair[1]}")
    trial.equal(passed, [None] * len(held))


def less_message(trial: Trial, summarize: int, shown: int) -> None:
    """The error starts with the given message and shows the requested number of x's first elements."""
    x, y = trial.tensor(np.arange(500, 510, dtype="int32")), trial.tensor(np.full(10, 509, "int32"))

    def body(assert_less: Assertion) -> Any:
        return _error_of(assert_less, x, y, message="out of order", summarize=summarize, name="check")

    error = trial.call_inside(body)
    _check_error(trial, error, "the last element was equal")
    trial.check(error.message.startswith("out of order"), f"the message is {error.message!r}")
    found = [number for number in range(500, 509) if str(number) in error.message]
    trial.equal(found, list(range(500, 509))[:shown])


def less_in_function(trial: Trial) -> None:
    """In a tf.function for any length, what depends on a true assertion runs; a false one fails the call."""
    low, high = trial.random(7, seed=3, low=-1.0, high=0.0), trial.random(7, seed=4, low=0.0, high=1.0)
    x, y, short = trial.tensor(low), trial.tensor(high), trial.tensor(high[:1])
    traced: list[Any] = []

    def body(assert_less: Assertion) -> Any:
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)] * 2)
        def distance(left: Any, right: Any) -> Any:
            operation = assert_less(left, right)
            traced.append(operation)
            with tf.control_dependencies([operation]):
                return right - left

        return distance(x, y), distance(x, short), _error_of(distance, y, x), distance(x[:0], y[:0])

    same, broadcast, error, empty = trial.call_inside(body)
    trial.close(same, high.astype("float64") - low, dtype="float32")
    trial.close(broadcast, high[:1].astype("float64") - low, dtype="float32")
    _check_error(trial, error, "all elements were greater")
    trial.close(empty, np.zeros(0), dtype="float32")
    trial.check(len(traced) == 1 and isinstance(traced[0], tf.Operation), f"no operation was created: {traced}")


def less_in_graph(trial: Trial, dtype: str) -> None:
    """In a graph it returns an operation: running it, or what depends on it, fails if the assertion is false."""
    host = trial.random(5, dtype=dtype, seed=5)
    graph = tf.Graph()

    def body(assert_less: Assertion) -> Any:
        with graph.as_default(), tf.device(trial.device):
            x, y = (v1.placeholder(trial.dtype(dtype), [None], name) for name in "xy")
            operation = assert_less(x, y, name="ordered")
            with tf.control_dependencies([operation]):
                return x, y, operation, tf.identity(x)

    x, y, operation, behind = trial.call_inside(body)
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
    trial.check(operation.name.startswith("ordered"), f"the operation is named {operation.name}")
    with v1.Session(graph=graph) as session:
        holds, fails = {x: host, y: host + 1}, {x: host, y: host}
        trial.check(session.run(operation, holds) is None, "an operation has no value")
        trial.equal(session.run(behind, holds), host)
        _check_error(trial, _error_of(session.run, operation, fails), "the elements were equal")
        _check_error(trial, _error_of(session.run, behind, fails), "the elements were equal")


def less_while_building(trial: Trial) -> None:
    """In a graph, known values are compared while it is built; a false assertion fails there too."""
    graph = tf.Graph()

    def body(assert_less: Assertion) -> Any:
        with graph.as_default(), tf.device(trial.device):
            low, high = tf.constant([1, 2, 3], tf.int64), tf.constant([2, 3, 4], tf.int64)
            return assert_less(low, high), _error_of(assert_less, low, low), _error_of(assert_less, high, low)

    operation, equal, greater = trial.call_inside(body)
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
    _check_error(trial, equal, "the constants were equal")
    _check_error(trial, greater, "the constants were greater")
    with v1.Session(graph=graph) as session:
        trial.check(session.run(operation) is None, "an operation has no value")


# tf.test.TestCase.assertEqual


def _compare(trial: Trial, same: Sequence[Any], different: Sequence[Any], **options: Any) -> list[BaseException | None]:
    """Compare pairs of both kinds, check what is returned or raised, and return the errors of the different pairs."""
    test_case = tf.test.TestCase()

    def body(assert_equal: Assertion) -> Any:
        passed = [assert_equal(test_case, first, second, **options) for first, second in same]
        return passed, [_error_of(assert_equal, test_case, first, second, **options) for first, second in different]

    passed, raised = trial.call_inside(body)
    for pair, returned in zip(same, passed):
        trial.check(returned is None, f"for the equal pair {pair} it returned {returned!r}")
    for pair, error in zip(different, raised):
        trial.check(isinstance(error, AssertionError), f"for the different pair {pair} it raised {error!r}")
    return list(raised)


def equal_tensors(trial: Trial, dtype: str) -> None:
    """Tensors with one element compare by value, with each other and with Python and NumPy numbers."""
    one, two = np.asarray(0), np.asarray(1)
    if dtype != "bool":
        one, two = np.asarray(3), np.asarray(5)
    first, again, other = (trial.tensor(host, dtype) for host in (one, one, two))
    in_axes = [trial.tensor(host.reshape(1, 1), dtype) for host in (one, one, two)]
    number = one.astype(dtype if dtype != "bfloat16" else "float32").item()
    _compare(
        trial,
        [(first, again), (first, number), (in_axes[0], in_axes[1])],
        [(first, other), (number, other), (in_axes[1], in_axes[2])],
    )


def equal_strings(trial: Trial) -> None:
    """A string tensor equals the bytes of its UTF-8, and no others."""
    word, other = trial.tensor("Gerät", dtype="string"), trial.tensor("", dtype="string")
    _compare(trial, [(word, "Gerät".encode()), (other, b""), (word, word)], [(word, b"Ger"), (word, other)])


def equal_numbers(trial: Trial) -> None:
    """Numbers compare as in Python: 1, 1.0 and True are equal, 0.1 + 0.2 and 0.3 are not, NaN equals nothing."""
    nan = float("nan")
    _compare(
        trial, [(1, 1.0), (1, True), (-0.0, 0.0), (2**70, 2**70)], [(1, 2), (0.1 + 0.2, 0.3), (nan, nan), (0, None)]
    )


def equal_containers(trial: Trial) -> None:
    """Lists, tuples, sets and dictionaries are equal if all items are, in order where there is one."""
    pair = collections.namedtuple("pair", "x y")
    same = [
        ([1, [2, 3]], [1, [2, 3]]),
        ((1, 2), pair(1, 2)),
        ({1, 2}, {2, 1}),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        ([], []),
    ]
    different = [
        ([1, [2, 3]], [1, [2, 4]]),
        ([1, 2], [1, 2, 3]),
        ([1, 2], [2, 1]),
        ([1, 2], (1, 2)),
        ({1, 2}, {1, 3}),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
    ]
    _compare(trial, same, different)


def equal_tensors_in_lists(trial: Trial) -> None:
    """Lists of scalar tensors are equal if each pair is."""
    numbers = [trial.tensor(np.float32(number)) for number in (0.5, -2.0, 7.25)]
    again = [trial.tensor(np.float32(number)) for number in (0.5, -2.0, 7.25)]
    _compare(trial, [(numbers, again), (numbers[:0], [])], [(numbers, again[::-1]), (numbers, again[:2])])


def equal_descriptions(trial: Trial) -> None:
    """Shapes, dtypes and tensor specs compare by content."""
    tensor = trial.tensor(trial.random(2, 3, seed=1))
    _compare(
        trial,
        [(tensor.shape, [2, 3]), (tensor.dtype, "float32"), (tf.TensorSpec.from_tensor(tensor).shape, tensor.shape)],
        [(tensor.shape, [3, 2]), (tensor.dtype, tf.float64), (tf.TensorSpec([2]), tf.TensorSpec([2], tf.int32))],
    )


def equal_texts(trial: Trial) -> None:
    """Texts of several lines differ by one letter; a given message is shown with the difference."""
    text = "first line\nsecond line\nthird line\n"
    raised = _compare(trial, [(text, str(text))], [(text, text.replace("second", "zecond")), (1, 2)], msg="by no means")
    for error in raised:
        trial.check("by no means" in str(error), f"the message is {error}")


def equal_long_lists(trial: Trial, size: int) -> None:
    """Two long lists differ only in the last item."""
    numbers = np.random.RandomState(1).permutation(size).tolist()
    _compare(trial, [(numbers, list(numbers))], [(numbers, [*numbers[:-1], -1]), (numbers[:-1], numbers)])


def equal_in_test_run(trial: Trial) -> None:
    """In a test run the test with an unequal pair counts as failed, not as an error, and the others pass."""
    values = trial.tensor(np.asarray([4, 9], "int64"))

    returned: list[Any] = []

    def body(assert_equal: Assertion) -> Any:
        class _Roots(tf.test.TestCase):
            def test_four(self) -> None:
                returned.append(assert_equal(self, values[0], 4))

            def test_nine(self) -> None:
                assert_equal(self, values[1], 8)

            def test_sum(self) -> None:
                returned.append(assert_equal(self, tf.reduce_sum(values), 13))

        del returned[:]
        result = unittest.TestResult()
        for name in ("test_four", "test_nine", "test_sum"):
            _Roots(name).run(result)
        return result

    result = trial.call_inside(body)
    trial.equal([test.id().split(".")[-1] for test, _ in result.failures], ["test_nine"])
    trial.equal((result.testsRun, len(result.errors)), (3, 0))
    trial.equal(returned, [None, None])

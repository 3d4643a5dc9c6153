"""tf.debugging.assert_less: each case checks that a true assertion passes and a false one fails."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import run

v1 = tf.compat.v1
Assertion = Callable[..., Any]


def error_of(call: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException | None:
    """Return what the call raises, None if it does not raise."""
    try:
        call(*args, **kwargs)
    except Exception as error:
        return error
    return None


def _check_error(trial: Trial, error: Any, what: str) -> None:
    trial.check(isinstance(error, tf.errors.InvalidArgumentError), f"{what}, but the call raised {error!r}")


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
        return assert_less(small, large), error_of(assert_less, not_less, large), error_of(assert_less, large, small)

    passed, equal, greater = trial.call_inside(body)
    trial.check(passed is None, f"an eager assertion that holds returned {passed!r}")
    _check_error(trial, equal, "one element was not less")
    _check_error(trial, greater, "all elements were greater")


def less_empty(trial: Trial) -> None:
    """Two empty tensors pass, as do Python numbers that are less; equal ones fail."""
    empty, number = trial.tensor(np.zeros((0, 3), "float32")), trial.tensor(np.float32(2.5))

    def body(assert_less: Assertion) -> Any:
        return assert_less(empty, empty), assert_less(2.0, number), error_of(assert_less, number, 2.5)

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
        return [error_of(assert_less, x, y) for x, y in pairs[:count]], [assert_less(x, y) for x, y in pairs[count:]]

    raised, passed = trial.call_inside(body)
    for error, pair in zip(raised, failing):
        _check_error(trial, error, f"{pair[0]} is not less than {pair[1]}")
    trial.equal(passed, [None] * len(held))


def less_close(trial: Trial) -> None:
    """Neighbors in each dtype, and the ends of its range, compare exactly, at any place of a long tensor."""
    wide = [
        ("float16", 1.0, 1 + 2**-10),
        ("float64", 1.0, 1 + 2**-52),
        ("float32", 16777215.0, 16777216.0),
        ("int64", 2**53, 2**53 + 1),
    ]
    wide += [(f"int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)]
    wide += [("uint8", 100, 200), ("uint16", 2**15 - 1, 2**16 - 1), ("float64", -1e-300, -0.0)]
    ordered, reversed_once = [], []
    for number, (dtype, low, high) in enumerate(wide):
        lows, highs = np.full(257, low, dtype), np.full(257, high, dtype)
        # Copies: a tensor of the CPU may use the memory of its array.
        ordered.append((trial.tensor(lows.copy()), trial.tensor(highs.copy())))
        place = 256 * number // (len(wide) - 1)
        lows[place], highs[place] = high, low
        reversed_once.append((trial.tensor(lows), trial.tensor(highs)))

    def body(assert_less: Assertion) -> Any:
        return [assert_less(*pair) for pair in ordered], [error_of(assert_less, *pair) for pair in reversed_once]

    passed, raised = trial.call_inside(body)
    trial.equal(passed, [None] * len(wide))
    for error, (dtype, low, high) in zip(raised, wide):
        _check_error(trial, error, f"{high} is not less than {low} in {dtype}")


def less_message(trial: Trial, summarize: int, shown: int) -> None:
    """The error starts with the given message and shows the requested number of first elements of x and y."""
    x = trial.tensor(np.arange(500, 510, dtype="int32"))
    y = trial.tensor(np.asarray([*range(600, 609), 509], "int32"))

    def body(assert_less: Assertion) -> Any:
        return error_of(assert_less, x, y, message="out of order", summarize=summarize, name="check")

    error = trial.call_inside(body)
    _check_error(trial, error, "the last element was equal")
    trial.check(error.message.startswith("out of order"), f"the message is {error.message!r}")
    found = [number for number in range(500, 509) if str(number) in error.message]
    trial.equal(found, list(range(500, 509))[:shown])
    trial.equal([number - 100 for number in range(600, 609) if str(number) in error.message], found)


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

        return distance(x, y), distance(x, short), error_of(distance, y, x), distance(x[:0], y[:0])

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
        trial.check(run(trial, session, operation, holds) is None, "an operation has no value")
        trial.equal(session.run(behind, holds), host)
        _check_error(trial, error_of(session.run, operation, fails), "the elements were equal")
        _check_error(trial, error_of(session.run, behind, fails), "the elements were equal")


def less_while_building(trial: Trial) -> None:
    """In a graph, known values are compared while it is built; a false assertion fails there too."""
    graph = tf.Graph()

    def body(assert_less: Assertion) -> Any:
        with graph.as_default(), tf.device(trial.device):
            low, high = tf.constant([1, 2, 3], tf.int64), tf.constant([2, 3, 4], tf.int64)
            return assert_less(low, high), error_of(assert_less, low, low), error_of(assert_less, high, low)

    operation, equal, greater = trial.call_inside(body)
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
    _check_error(trial, equal, "the constants were equal")
    _check_error(trial, greater, "the constants were greater")
    with v1.Session(graph=graph) as session:
        trial.check(run(trial, session, operation) is None, "an operation has no value")


def less_messages_in_turn(trial: Trial) -> None:
    """An assertion has the message and the number of elements of its own call, also none after one that had some, and
    passes after one that failed."""
    low, high = trial.tensor(np.arange(5, dtype="int32")), trial.tensor(np.arange(7771, 7776, dtype="int32"))

    def body(assert_less: Assertion) -> Any:
        errors = []
        for options in ({"message": "alpha", "summarize": 1}, {}, {"message": "omega"}, {}):
            errors.append(error_of(assert_less, high, low, **options))
            assert_less(low, high)
        return errors

    errors = trial.call_inside(body)
    for error, word in zip(errors, ("alpha", "", "omega", "")):
        _check_error(trial, error, "all elements were greater")
        found = [each for each in ("alpha", "omega") if each in error.message]
        trial.equal(found, [word] if word else [])
        trial.equal("7773" in error.message, word != "alpha")

"""tf.test.TestCase.assertEqual: pairs that only look equal, and what a class of tests can set."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import Assertion, error_of


def both_ways(trial: Trial) -> None:
    """Pairs are equal or different in both orders: nothing, zero and what is empty, kinds of sequences, dictionaries of
    which one has more keys, long integers, and numbers of Python and NumPy."""
    tensor = trial.tensor(np.float32(2.0))
    same: list[Any] = [(True, 1), (0, False), (2**70, 2.0**70), (np.float64(0.5), 0.5), (np.int8(3), 3), (None, None)]
    same += [(range(3), range(0, 3, 1)), (tensor, 2), (frozenset("ab"), {"a", "b"})]
    different: list[Any] = [(None, 0), (None, False), (None, ""), (None, []), ((1, 2), [1, 2]), ("1", 1), ("a", "A")]
    different += [({"a": 1}, {"a": 1, "b": 2}), ({}, {"a": None}), (2**64 + 1, 1), (2**53 + 1, 2.0**53), ([], ())]
    different += [(range(3), [0, 1, 2]), (tensor, 3), (tensor, None), ("a ", "a"), ({1}, {1, 2}), ([[]], [])]
    test_case = tf.test.TestCase()

    def body(assert_equal: Assertion) -> Any:
        passed = [assert_equal(test_case, *order) for pair in same for order in (pair, pair[::-1])]
        errors = [error_of(assert_equal, test_case, *order) for pair in different for order in (pair, pair[::-1])]
        return passed, errors

    passed, errors = trial.call_inside(body)
    trial.equal(passed, [None] * 2 * len(same))
    for number, error in enumerate(errors):
        pair = different[number // 2]
        trial.check(isinstance(error, AssertionError), f"the different pair {pair} gave {error!r}")


def of_class(trial: Trial) -> None:
    """A class of tests decides which error it is, and how long a difference may be; the error names the first item that
    differs. An error of the comparison itself passes through."""

    class _Failure(AssertionError):
        pass

    class _Own(tf.test.TestCase):
        failureException = _Failure
        maxDiff = 60

    class _Short(tf.test.TestCase):
        longMessage = False

    class _Unequal:
        def __eq__(self, other: object) -> bool:
            raise KeyError("cannot compare")

    words = [f"word {number}" for number in range(20)]
    long: dict[str, Any] = {"first": words, "second": [*words[:-1], "other"]}

    def body(assert_equal: Assertion) -> Any:
        short = _Own()
        whole = _Own()
        whole.maxDiff = None
        return [
            error_of(assert_equal, short, 1, 2),
            error_of(assert_equal, short, **long),
            error_of(assert_equal, whole, **long),
            error_of(assert_equal, short, [3, 4, 5], [3, 9, 5]),
            error_of(assert_equal, _Short(), 1, 2, "only this"),
            error_of(assert_equal, _Short(), 1, 2),
            error_of(assert_equal, short, _Unequal(), 1),
        ]

    *failures, alone, without, own = trial.call_inside(body)
    trial.equal((str(alone), str(without)), ("only this", "1 != 2"))
    for error in failures:
        trial.check(type(error) is _Failure, f"expected an error of the class, got {error!r}")
    trial.equal(["maxDiff" in str(error) for error in failures], [False, True, False, False])
    trial.check("+  'other'" in str(failures[2]), f"the difference is left out: {failures[2]}")
    trial.check("First differing element 1:\n4\n9" in str(failures[3]), f"the message is {failures[3]}")
    trial.check(type(own) is KeyError, f"expected the error of the comparison, got {own!r}")

"""tf.test.TestCase.assertEqual: each case checks that equal values pass and different ones fail."""

from __future__ import annotations

import collections
import unittest
from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import Assertion, error_of


def _compare(trial: Trial, same: Sequence[Any], different: Sequence[Any], **options: Any) -> list[BaseException | None]:
    """Compare pairs of both kinds, check what is returned or raised, and return the errors of the different pairs."""
    test_case = tf.test.TestCase()

    def body(assert_equal: Assertion) -> Any:
        passed = [assert_equal(test_case, first, second, **options) for first, second in same]
        return passed, [error_of(assert_equal, test_case, first, second, **options) for first, second in different]

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
        trial,
        [(1, 1.0), (1, True), (-0.0, 0.0), (2**70, 2**70)],
        [(1, 2), (0.1 + 0.2, 0.3), (nan, nan), (0, None), (-3, 3), (2.5, -2.5), (2**32 + 7, 7)],
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


def equal_neighbors(trial: Trial) -> None:
    """Tensors of one element compare in their dtype: neighbors are different, zeros of both signs equal, NaN equals
    nothing."""
    pairs = [
        ("float16", 1.0, 1 + 2**-10),
        ("float64", 1.0, 1 + 2**-52),
        ("float32", 2.0**24 - 1, 2.0**24),
        ("int64", 2**53, 2**53 + 1),
        ("int64", 1, 2**32 + 1),
        ("uint8", 128, 255),
        ("float32", np.nan, np.nan),
    ]
    made = [
        [trial.tensor(np.full([1] * axes, value, dtype)) for value in (one, one, two)]
        for axes in (0, 6)
        for dtype, one, two in pairs
    ]
    zeros = [trial.tensor(np.asarray(value, "float32")) for value in (0.0, -0.0)]
    same = [(one, again) for number, (one, again, _) in enumerate(made) if number % len(pairs) < len(pairs) - 1]
    _compare(trial, [*same, (zeros[0], zeros[1])], [(one, other) for one, _, other in made])


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


class _Same:
    """Equal to everything with the same first letter."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __eq__(self, other: object) -> bool:
        return self.word[0] == getattr(other, "word", str(other))[0]

    def __repr__(self) -> str:
        return f"_Same({self.word})"


def equal_own_types(trial: Trial) -> None:
    """The operator of the objects decides, also between types, and a function that was added for a type; a message
    follows the values, or replaces them."""
    one, two, other = _Same("apple"), _Same("avocado"), _Same("pear")
    raised = _compare(trial, [(one, two), (one, "ananas")], [(one, other), (b"a", "a"), ([1], [1, None])], msg="fruit")
    trial.equal([str(error).split(" : ")[0] for error in raised[:2]], ["_Same(apple) != _Same(pear)", "b'a' != 'a'"])
    trial.check(all(str(error).endswith(" : fruit") for error in raised), f"the messages are {raised}")
    seen: list[Any] = []

    def compare(first: Any, second: Any, msg: Any = None) -> None:
        seen.append((first.word, second.word, msg))
        if first.word != second.word:
            raise AssertionError("not the same word")

    def body(assert_equal: Assertion) -> Any:
        test_case = tf.test.TestCase()
        test_case.addTypeEqualityFunc(_Same, compare)
        del seen[:]
        added = [error_of(assert_equal, test_case, first, second, msg=2) for first, second in ((one, one), (one, two))]
        test_case.longMessage = False
        return [*added, error_of(assert_equal, test_case, 1, 2, "only this")]

    same, different, short = trial.call_inside(body)
    trial.equal(seen, [("apple", "apple", 2), ("apple", "avocado", 2)])
    trial.equal((same, str(different), str(short)), (None, "not the same word", "only this"))


def equal_messages_in_turn(trial: Trial) -> None:
    """A failure has the message of its own call, also none after one that had one; what is equal passes in between."""
    test_case = tf.test.TestCase()

    def body(assert_equal: Assertion) -> Any:
        errors = []
        for options in ({"msg": "first"}, {}, {"msg": "second"}, {}):
            errors.append(error_of(assert_equal, test_case, 3, 4, **options))
            assert_equal(test_case, 3, 3)
        return errors

    for error, word in zip(trial.call_inside(body), ("first", "", "second", "")):
        trial.check(isinstance(error, AssertionError), f"3 and 4 gave {error!r}")
        trial.equal([each for each in ("first", "second") if each in str(error)], [word] if word else [])

"""Kinds of Python and of users: types without a dtype, classes of lists, functions without a result, given lists."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


class _List(list):
    pass


class _Tuple(tuple):
    pass


class _Dict(dict):
    pass


def refuses_types(trial: Trial) -> None:
    """Of Python's numbers, int and complex have no dtype, since more than one could be meant: they are refused."""
    for given in (int, complex):
        trial.raises(["TypeError"], "convert", given)


def own_classes(trial: Trial) -> None:
    """A class of lists, tuples or dictionaries is kept, alone and within others."""
    given = [_List([1, _Tuple((2, 3))]), _Dict(a=4, b=_List([5]))]
    output = trial.call(lambda leaf: leaf * 10, given)
    trial.equal(output, [[10, (20, 30)], {"a": 40, "b": [50]}])
    kinds = [type(each) for each in (output[0], output[0][1], output[1], output[1]["b"])]
    trial.equal([kind.__name__ for kind in kinds], ["_List", "_Tuple", "_Dict", "_List"])
    for alone in (_List([1, 2]), _Tuple((1, 2)), _Dict(a=1)):
        output = trial.call(lambda leaf: leaf, alone)
        trial.equal((type(output).__name__, output == alone), (type(alone).__name__, True))


def without_result(trial: Trial) -> None:
    """In a tf.function, a function that returns None where an output was declared is an error."""

    def body(numpy_function: Callable[..., Any]) -> Any:
        def apply() -> Any:
            return numpy_function(lambda x: None, [1.0], tf.float32)

        return tf.function(apply, autograph=False)()

    trial.raises_inside(["InvalidArgumentError"], "0 values", body)


def other_byte_order(trial: Trial) -> None:
    """An array in the other byte order is an output with the same values."""
    values = [1, -2, 300, 2**30]
    output = trial.call(lambda x: np.array(values, ">i4"), [trial.tensor(np.float32(1))], tf.int32)
    trial.exact(output, values, "int32")


def given_list(trial: Trial) -> None:
    """The list of gradients and weights stays as it was, and can be given again."""
    host = trial.random(3, seed=1)

    def body(adadelta: Callable[..., Any]) -> Any:
        weight, slope = tf.Variable(trial.tensor(host)), trial.tensor(host + 2)
        optimizer = adadelta(0.5)
        given = [(slope, weight)]
        same = []
        for _ in range(2):
            optimizer.apply_gradients(given)
            same.append(len(given) == 1 and given[0][0] is slope and given[0][1] is weight)
        return same, int(optimizer.iterations.numpy())

    trial.equal(trial.call_inside(body), ([True, True], 2))

"""tf.Tensor.get_shape: shapes of dtypes that hold no numbers, and of what changes afterwards."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def of_any_dtype(trial: Trial) -> None:
    """Texts, resources and variants have shapes too, eagerly and in a graph, of any size. A shape that was asked for
    does not change with the tensor, the next one does; each axis is a plain number."""
    # Asked again at the end, a tensor has its last shape.
    trial.repeatable = False
    words = trial.tensor(np.asarray([["a", "bc", ""]], object), "string")
    trial.equal(trial.call(words).as_list(), [1, 3])
    with tf.Graph().as_default():
        for name in ("string", "resource", "variant", "qint8"):
            made = tf.compat.v1.placeholder(name, [None, 2**40, 1])
            before = trial.call(made)
            trial.equal(before.as_list(), [None, 2**40, 1])
            made.set_shape([7, None, None])
            trial.equal((before.as_list(), trial.call(made).as_list()), ([None, 2**40, 1], [7, 2**40, 1]))
            shape = trial.call(made)
            trial.equal([type(size) for size in shape], [int, int, int])
            trial.equal((shape[0], list(shape[1:]), len(shape), shape == [7, 2**40, 1]), (7, [2**40, 1], 3, True))

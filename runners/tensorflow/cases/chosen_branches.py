"""Branches, comparisons, checks and draws: many outputs, squares, gradients that are wrong in one place."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.asserts import error_of
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def drawn(trial: Trial, count: int) -> None:
    """The branch that is taken runs once in each call, with draws of its own, in a tf.function too, and each of its
    many outputs is at its place; the other branch does not run."""
    calls: list[str] = []
    base = 100.0 * np.arange(20)
    condition = trial.tensor(np.asarray(True))

    def taken() -> Any:
        calls.append("taken")
        return [tf.random.normal([20], dtype=tf.float64) + base, *[tf.constant(float(n)) for n in range(count)]]

    def other() -> Any:
        calls.append("other")
        return [tf.zeros([20], tf.float64), *[tf.constant(-1.0) for _ in range(count)]]

    def body(smart_cond: Callable[..., Any]) -> Any:
        eager = [smart_cond(each, taken, other) for each in (condition, True, 1, np.bool_(True))]
        eager.append(smart_cond(np.bool_(False), other, taken))
        ran = list(calls)
        program = tf.function(lambda given: smart_cond(given, taken, other), autograph=False)
        return ran, [*eager, program(condition), program(condition)]

    trial.repeatable = False
    ran, found = trial.call_inside(body)
    trial.equal(ran, ["taken"] * 5)
    for output in found:
        trial.equal([float(each) for each in trial.numpy(output[1:])], [float(n) for n in range(count)])
    draws = np.stack([trial.numpy(output[0]) for output in found])
    trial.equal(draws.shape, (7, 20))
    trial.check((abs(draws - base) < 8).all(), "an output is not the sum of a number and its draw")
    trial.check(np.unique(draws).size == draws.size, "two calls have the same draws")


def less_in_squares(trial: Trial, dtype: str) -> None:
    """In a square a row of limits is for the columns, and a column of limits for the rows."""
    by_column = np.tile(np.asarray([0, 1, 2], dtype), (3, 1))
    cube = np.tile(np.asarray([0, 1, 2], dtype)[:, None], (3, 1, 3))
    row = np.asarray([1, 2, 3], dtype)
    held = [(by_column, row), (by_column.T, row[:, None]), (cube, row[:, None]), (row - 1, by_column + 1)]
    failing = [(by_column.T, row), (by_column, row[:, None]), (cube, row), (cube, row[:, None, None])]
    pairs = [[trial.tensor(each.copy()) for each in pair] for pair in held + failing]

    def body(assert_less: Callable[..., Any]) -> Any:
        return [assert_less(*pair) for pair in pairs[:4]], [error_of(assert_less, *pair) for pair in pairs[4:]]

    passed, raised = trial.call_inside(body)
    trial.equal(passed, [None] * 4)
    for error in raised:
        trial.check(isinstance(error, tf.errors.InvalidArgumentError), f"expected an error, got {error!r}")


def wrong_in_one_place(trial: Trial, how: str) -> None:
    """A gradient that is wrong is found: of a square matrix that should be transposed, NaN in one place, or of the last
    of many inputs; variables are what they were."""
    matrix = trial.random(4, 4, dtype="float64", seed=1)
    start = trial.random(4, dtype="float64", seed=2)

    @tf.custom_gradient
    def product(x: Any) -> Any:
        wrong = matrix if how == "transposed" else matrix.T
        if how == "nan":
            wrong = wrong + np.where(np.arange(16).reshape(4, 4) == 6, np.nan, 0)
        return tf.linalg.matvec(matrix, x), lambda upstream: tf.linalg.matvec(wrong, upstream)

    @tf.custom_gradient
    def tripled(x: Any) -> Any:
        return 3.0 * x, lambda upstream: 3.5 * upstream

    with building(trial) as graph:
        if how == "last":
            inputs = [tf.constant(start + n) for n in range(12)]
            y = tf.add_n([2.0 * each for each in inputs[:-1]]) + tripled(inputs[-1])
            given = inputs, [[4]] * 12, y, [4], [start + n for n in range(12)]
        else:
            x = tf.constant(start)
            given = x, [4], product(x), [4], start
        kept = v1.get_variable("kept", initializer=start, use_resource=True)
    *args, first = given
    session = v1.Session(graph=graph)
    session.run(kept.initializer)

    def body(compute_gradient_error: Callable[..., Any]) -> Any:
        with building(trial, graph), session.as_default():
            return compute_gradient_error(*args, x_init_value=first, delta=0.125)

    found = trial.call_inside(body)
    expected = {"transposed": abs(matrix - matrix.T).max(), "nan": np.nan, "last": 0.5}[how]
    trial.check(type(found) in (float, np.float64), f"expected a number of float64, got {found!r}")
    trial.close(np.float64(found), np.float64(expected), 0.0, 1e-11)
    trial.equal(session.run(kept), start)


def gamma_twins(trial: Trial, dtype: str) -> None:
    """Equal parameters have draws of their own, in one call and in the next one with the same tensors; parameters are
    lists of tensors, or numbers of Python and NumPy."""
    shape = trial.tensor(np.full(70, 3.0))
    count = 70 * 5

    def body(gamma: Callable[..., Any]) -> Any:
        tf.random.set_seed(23)
        kind = trial.dtype(dtype)
        alphas = tf.cast(shape, kind)
        found = [gamma([5], alphas, alphas, dtype=kind) for _ in range(2)]
        alike = [tf.cast(3.0, kind), tf.cast(3.0, kind)]
        found += [gamma([count // 2], given, beta, dtype=kind) for given, beta in ((alike, 3), ([3, 3], np.float64(3)))]
        return found

    trial.repeatable = False
    found = trial.call_inside(body)
    trial.equal([trial.dtype_name(each) for each in found], [dtype] * 4)
    trial.equal([list(each.shape) for each in found], [[5, 70]] * 2 + [[count // 2, 2]] * 2)
    draws = np.concatenate([np.ravel(each) for each in trial.numpy(found)]).astype("float64")
    # A float32 has equal neighbors now and then.
    trial.check(np.unique(draws).size > 0.99 * draws.size, "draws are repeated")
    for part in np.split(draws, 4):
        # The mean is 1, the variance a third.
        trial.check(abs(part.mean() - 1) < 6 / np.sqrt(3 * count), f"the mean is {part.mean()}, expected 1")


def normal_sizes(trial: Trial) -> None:
    """The size is a number of Python or NumPy, in a tuple, list or array too; draws do not change the state of NumPy's
    generator, and are not changed by it."""
    sizes: list[Any] = [np.int64(40), (np.int32(40), 2), [40, np.int64(1)], np.asarray([4, 10]), 40]

    def body(standard_normal: Callable[..., Any]) -> Any:
        found = []
        for seed in (1, 2):
            tf.random.set_seed(24)
            np.random.seed(seed)
            found.append([standard_normal(size) for size in sizes])
        return found, np.random.random_sample()

    trial.repeatable = False
    state = np.random.get_state()
    try:
        (first, second), after = trial.call_inside(body)
    finally:
        np.random.set_state(state)
    trial.equal(after, np.random.RandomState(2).random_sample())
    trial.equal([list(each.shape) for each in first], [[40], [40, 2], [40, 1], [4, 10], [40]])
    trial.equal(second, trial.numpy(first))
    draws = np.concatenate([np.ravel(each) for each in trial.numpy(first)])
    trial.check(np.unique(draws).size == draws.size, "two calls have the same draws")
    trial.check(0.7 < draws.std() < 1.3, f"the standard deviation is {draws.std()}, expected 1")

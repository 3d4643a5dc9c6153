"""Values at chosen places: parameters that are not finite, parts of variables, views that the host returns, draws."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.graph_runs import check_distinct
from runners.tensorflow.cases.layouts import view
from runners.tensorflow.cases.subjects import SUBJECTS, slopes


def values(trial: Trial, subject: str, given: Sequence[Any], dtype: str, limits: Sequence[float] = ()) -> None:
    """The output for chosen values, also NaN and infinities in each argument; with ``limits``, it is within them."""
    about = SUBJECTS[subject]
    hosts = [np.asarray(np.asarray(each, "float64"), dtype) for each in given]
    with np.errstate(all="ignore"):
        expected = np.asarray(about.compute(*[host.astype("float64") for host in hosts]))
    output = trial.call_inside(about.call, *map(trial.tensor, hosts))
    tolerance = {"float16": 1e-2, "float32": 2e-4, "float64": 1e-9}[dtype]
    trial.close(output, expected, tolerance, 1e-30 if dtype != "float16" else 1e-3, dtype=dtype)
    if limits:
        found = trial.numpy(output)
        trial.check(((found >= limits[0]) & (found <= limits[1])).all(), f"expected values in {limits}, got {found}")


def gradient_of_nan(trial: Trial, subject: str, whole_row: bool = False) -> None:
    """NaN in the last input gives NaN as its gradient, there or in the whole row, and changes no other row."""
    about = SUBJECTS[subject]
    hosts = about.hosts(trial, "float64")
    expected = slopes(about, hosts, np.ones_like(np.asarray(about.compute(*hosts))))[-1]
    hosts[-1][1, 0] = np.nan
    expected[1, slice(None) if whole_row else 0] = np.nan

    def body(function: Callable[..., Any], *inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs[-1])
            output = about.call(function, *inputs)
        return output, tape.gradient(output, inputs[-1])

    output, slope = trial.call_inside(body, *map(trial.tensor, hosts))
    trial.close(output, np.asarray(about.compute(*hosts)), 1e-9, 1e-9, dtype="float64")
    trial.close(slope, expected, 1e-6, 1e-6, dtype="float64")


def gradient_at_bounds(trial: Trial, dtype: str) -> None:
    """A value at a bound gives its gradient once: to the value, to the bound, or shared."""
    host = np.asarray([-1.0, 0.0, 1.0, 1.0, -1.0], dtype)
    weights = trial.random(5, dtype=dtype, seed=1, low=1, high=2)
    inputs = [trial.tensor(each) for each in (host, np.full(5, -1.0, dtype), np.full(5, 1.0, dtype))]
    back = trial.tensor(weights)

    def body(clip: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            output = clip(*inputs)
        return output, tape.gradient(output, inputs, back)

    output, found = trial.call_inside(body)
    trial.exact(output, host.astype("float64"), dtype)
    trial.close(tf.add_n(found), weights.astype("float64"), dtype=dtype)


def gradient_of_one_branch(trial: Trial, condition: bool) -> None:
    """The branch that is not taken adds nothing to the gradient, though its own is infinite or NaN there."""
    host = np.asarray([0.0, 4.0, -1.0, 0.25], "float64")
    values, pred = trial.tensor(host), trial.tensor(np.asarray(condition))

    def body(smart_cond: Callable[..., Any]) -> Any:
        def slope(x: Any, chosen: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                branches = [lambda: 3.0 * x * x, lambda: tf.sqrt(x) / x]
                output = smart_cond(chosen, *branches[:: 1 if condition else -1])
            return output, tape.gradient(output, x)

        return slope(values, pred), tf.function(slope, autograph=False)(values, pred)

    for output, slope in trial.call_inside(body):
        trial.close(output, 3 * host**2, dtype="float64")
        trial.close(slope, 6 * host, dtype="float64")


def variable_in_parts(trial: Trial, dtype: str) -> None:
    """Each second, each third, the last and, backwards, all elements of an axis are assigned; what lies between
    stays."""
    host, other = (trial.random(6, 7, 1, 5, dtype=dtype, seed=number) for number in (1, 2))
    variable, new = trial.call(trial.tensor(host)), trial.tensor(other)
    expected = host.copy()
    for places in (
        (slice(None, None, 2), slice(1, 6, 3)),
        (slice(None, None, -2), slice(None), slice(None), slice(1, 3)),
        (slice(1, 4), Ellipsis, slice(None, None, 4)),
        (Ellipsis, -1),
        (-2, 3),
    ):
        variable[places].assign(new[places])
        expected[places] = other[places]
        trial.exact(variable, expected, dtype)
        variable[places].assign(trial.tensor(host)[places])
        expected[places] = host[places]
        trial.exact(variable, expected, dtype)


def variable_of_many(trial: Trial, dtype: str, axis: int) -> None:
    """Of more than 65,536 rows or columns, the last are updated, added to and read like the first."""
    shape, rows, last = (
        ([65541, 2], [65540, 3, 65536], np.s_[65530:]) if axis == 0 else ([2, 65541], [1], np.s_[:, 65537:])
    )
    host, update = (trial.random(*each, dtype=dtype, seed=3) for each in (shape, (len(rows), shape[1])))
    variable, indices = trial.call(trial.tensor(host)), trial.tensor(np.asarray(rows))
    expected = host.copy()
    variable.scatter_add(tf.IndexedSlices(trial.tensor(update), indices))
    expected[rows] += update
    trial.close(variable, expected.astype("float64"), dtype=dtype)
    variable[last].assign(tf.zeros_like(variable)[last])
    expected[last] = 0
    trial.close(variable, expected.astype("float64"), dtype=dtype)
    trial.close(variable.sparse_read(indices), expected[rows].astype("float64"), dtype=dtype)


def host_returns_views(trial: Trial, layout: str, dtype: str) -> None:
    """A function of the host may return a view of any layout: the tensor has its values, and the memory stays."""
    host = trial.random(5, 4, 3, dtype=dtype, seed=5)
    made = view(trial.numpy(trial.tensor(host, dtype)), layout)
    before = made.base.copy()
    output = trial.call(lambda values: made, [trial.tensor(host, dtype)], trial.dtype(dtype))
    trial.exact(output, made.astype("float64"), dtype)
    trial.equal(made.base, before)


def draws_of_axes(trial: Trial, shape: Sequence[int], gamma: bool = False, dtype: str = "float64") -> None:
    """Draws are finite, and those of two calls and at all places of each axis are different."""
    tf.random.set_seed(trial.seed(6))
    trial.repeatable = False
    options = {"alpha": trial.tensor(np.asarray(2.5, dtype)), "dtype": trial.dtype(dtype)} if gamma else {}
    found = [trial.call(shape, **options) for _ in range(2)]
    for each in found:
        check_dtype(trial.dtype_name(each), dtype)
        trial.equal(list(each.shape), list(shape))
    draws = np.stack(trial.numpy(found)).astype("float64")
    check_distinct(trial, draws)
    mean, variance = (2.5, 2.5) if gamma else (0.0, 1.0)
    allowed = 6 / np.sqrt(draws.size)
    off = abs(draws.mean() - mean) / np.sqrt(variance), abs(draws.var() / variance - 1) / 3
    trial.check(max(off) < allowed + 2e-3 * (dtype == "float16"), f"the moments are off by {off}, allowed {allowed}")


def gamma_in_function(trial: Trial, dtype: str) -> None:
    """In a tf.function each call draws other numbers; the same seed in the same place repeats them."""
    alphas = trial.tensor(np.asarray([0.5, 3.0], dtype))
    trial.repeatable = False

    def body(draw: Callable[..., Any]) -> Any:
        tf.random.set_seed(trial.seed(7))
        make = tf.function(lambda: draw([50, 20], alphas, dtype=trial.dtype(dtype)), autograph=False)
        return [make(), make()]

    found = [np.stack(trial.numpy(trial.call_inside(body))) for _ in range(2)]
    trial.equal([list(found[0].shape), found[0].dtype.name], [[2, 50, 20, 2], dtype])
    trial.equal(found[1], found[0])
    check_distinct(trial, found[0])
    means = found[0].astype("float64").mean((0, 1, 2))
    trial.check((abs(means - [0.5, 3.0]) < 6 * np.sqrt([0.5 / 2000, 3.0 / 2000])).all(), f"the means are {means}")


def sets_of_many(trial: Trial, rows: int) -> None:
    """Each of more than 65,536 sets has its own common value, beside values of one side."""
    own = np.arange(rows)
    first, second = np.stack([own, own - rows], 1), np.stack([own + 2 * rows, own], 1)
    output = trial.call(trial.tensor(first), trial.tensor(second))
    trial.exact(output.values, own, "int64")
    trial.exact(output.indices, np.stack([own, 0 * own], 1), "int64")
    trial.close(output.dense_shape, [rows, 1], dtype="int64")

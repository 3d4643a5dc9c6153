"""Placeholders, Session.run and Tensor.eval: feeds that are views of other memory, and random numbers of each run."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.layouts import view
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


def _fetched(trial: Trial, how: str, session: Any, tensor: Any, feeds: Any = None) -> Any:
    """One timed call of ``Session.run`` or of ``Tensor.eval``."""
    if how == "eval":
        return trial.call(tensor, feeds, session)
    return trial.call(session, tensor, feeds) if feeds else trial.call(session, tensor)


def fed_views(trial: Trial, how: str, layout: str, dtype: str = "float32") -> None:
    """An array of any layout is fed with its own values, and neither it nor the memory around it changes; what is
    fetched stays when it is fed again."""
    hosts = [view(trial.random(5, 4, 3, dtype=dtype, seed=number), layout) for number in (1, 2)]
    memory = [host.base for host in hosts]
    before = [each.copy() for each in memory]
    with building(trial) as graph:
        if how != "placeholder":
            x = v1.placeholder(trial.dtype(dtype), [None, 4, 3])
    if how == "placeholder":
        x = call_building(trial, graph, trial.dtype(dtype), [None, 4, 3])
    with building(trial, graph):
        moved = tf.transpose(x + x, [2, 0, 1])
    session = v1.Session(graph=graph)
    fetch = run if how == "placeholder" else lambda *args: _fetched(trial, how, *args[1:])
    found = [fetch(trial, session, moved, {x: host}) for host in hosts]
    for each, host in zip(found, hosts):
        close(trial, each, 2 * np.transpose(host, [2, 0, 1]).astype("float64"), dtype)
    trial.equal(memory, before)


def fed_many(trial: Trial, how: str, shape: Sequence[int], dtype: str) -> None:
    """More than 65,536 rows, and up to six axes, are fed and fetched whole."""
    host = trial.random(*shape, dtype=dtype, seed=3)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), [None, *shape[1:]])
        y = x[::-1] + x
    found = _fetched(trial, how, v1.Session(graph=graph), y, {x: host})
    close(trial, found, host[::-1].astype("float64") + host, dtype)


def drawn_again(trial: Trial, how: str, shape: Sequence[int]) -> None:
    """Each run draws other numbers, none twice along any axis; a new session of a graph with a seed repeats them."""
    with building(trial) as graph:
        v1.set_random_seed(trial.seed(5))
        draws = [v1.random_normal(shape), v1.random_uniform(shape, dtype=tf.float64)]
    trial.repeatable = False
    rows = []
    for _ in range(2):
        session = v1.Session(graph=graph)
        rows.append([[np.asarray(_fetched(trial, how, session, each)) for each in draws] for _ in range(2)])
    for first, second in rows:
        trial.equal([each.dtype.name for each in first], ["float32", "float64"])
        for one, two in zip(first, second):
            trial.equal([list(one.shape), list(two.shape)], [list(shape)] * 2)
            check_distinct(trial, np.stack([one, two]))
        # Of the second draws, which are uniform: six standard errors of the mean.
        uniform = np.stack([first[1], second[1]])
        off = abs(float(uniform.mean()) - 0.5)
        trial.check(uniform.min() >= 0 and uniform.max() < 1, "a draw is not in its range")
        trial.check(off < 6 * 0.289 / np.sqrt(uniform.size), f"the mean of the draws is off by {off:.3g}")
    trial.equal(rows[1], rows[0])


def drawn_in_step(trial: Trial, how: str) -> None:
    """A tensor with a seed draws the same sequence by ``Session.run`` and by ``Tensor.eval``, alone, computed with and
    in a list; the sequences of other tensors stay where they are."""
    with building(trial) as graph:
        v1.set_random_seed(trial.seed(5))
        draws = [
            v1.random_uniform([4], seed=3),
            v1.random_normal([2, 3]) * 2.0 + 1.0,
            tf.random.uniform([5], 0, 1000, tf.int32, seed=4),
            v1.truncated_normal([], seed=5, dtype=tf.float64),
        ]
    order = [0, 1, 0, 2, 3, 3, 1, 0]
    trial.repeatable = False
    one, two = v1.Session(graph=graph), v1.Session(graph=graph)
    found = [_fetched(trial, how, one, draws[place]) for place in order]
    for each, place in zip(found, order):
        trial.equal(each, two.run(draws[place]) if how == "eval" else draws[place].eval(session=two))


def fed_whole(trial: Trial, how: str, dtype: str) -> None:
    """The ends of the range, what is not finite and the digits of each dtype are fed as they are: in arrays, lists and
    numbers, to a placeholder and to another tensor."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        values = [info.min, info.max, info.max - 1, info.max // 2 + 1, info.max // 3, 0, 1, info.min + 1]
    else:
        info = np.finfo(dtype)
        values = [0.1, -1 / 3, info.max, info.min, info.tiny, np.nan, np.inf, -np.inf, -0.0, 1 + info.eps]
    host = np.asarray(values, dtype)
    if kind == "c":
        host = host + np.asarray(1j, dtype) * host.real[::-1]
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype))
        y = tf.identity(x)
        z = tf.identity(y)
    session = v1.Session(graph=graph)
    trial.repeatable = False
    # TensorFlow 2.21 feeds lists with numbers of 64 bits by float64.
    lists = [] if dtype == "uint64" else [host.tolist()]
    for value in (host, host[::-1], *lists, host.reshape(2, -1), *host[:2], *host[:2].tolist()):
        expected = np.asarray(value, dtype)
        for fed, fetched in ((x, y), (y, z)):
            feeds = {fed: value} if fed is x else {x: np.zeros([3], dtype), fed: value}
            found = np.asarray(_fetched(trial, how, session, fetched, feeds))
            trial.equal(found.dtype.name, dtype)
            trial.exact(found, expected)


def check_distinct(trial: Trial, draws: Any) -> None:
    """Draws are finite, and no entry of any axis is like another one."""
    draws = np.asarray(draws, "float64")
    trial.check(np.isfinite(draws).all(), f"{int((~np.isfinite(draws)).sum())} draws are not finite")
    for axis in range(draws.ndim):
        flat = np.moveaxis(draws, axis, 0).reshape(draws.shape[axis], -1)
        same = (flat[1:] == flat[:-1]).mean(1)
        # Of many draws in half or single precision some are equal by chance.
        most = float(same.max(initial=0.0) if len(flat) < 1000 else same.mean())
        trial.check(most < 0.01, f"{most:.3f} of the draws at a place of axis {axis} are those before")


def times_zero(trial: Trial, how: str, shape: Sequence[int | None], first: bool, dtype: str) -> None:
    """A product with a constant zero, the ``first`` or the second factor, is NaN where the other one is NaN or
    infinite; the placeholder has the ``shape``."""
    host = np.asarray([np.nan, 2.5, np.inf, -np.inf, 0.0], dtype)
    with building(trial) as graph:
        x = v1.placeholder(trial.dtype(dtype), shape)
        zero = tf.constant(0.0, trial.dtype(dtype))
        y = tf.multiply(zero, x) if first else tf.multiply(x, zero)
    found = _fetched(trial, how, v1.Session(graph=graph), y, {x: host})
    close(trial, found, [np.nan, 0.0, np.nan, np.nan, 0.0], dtype)


def many_fetches(trial: Trial, count: int) -> None:
    """Each of many fetches is at its place, in lists and in nested dictionaries in any order of their keys."""
    host = trial.random(count, 3, seed=1)
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [count, 3])
        rows = tf.unstack(x + x)
    fetches = {"z": {"b": rows[0], "a": rows}, "a": {"c": rows[-1], "b": rows[1]}}
    found = trial.call(v1.Session(graph=graph), fetches, {x: host})
    places = [*found["z"]["a"], found["z"]["b"], found["a"]["c"], found["a"]["b"]]
    for value, row in zip(places, [*host, host[0], host[-1], host[1]]):
        close(trial, value, 2 * row.astype("float64"), "float32")

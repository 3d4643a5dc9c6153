"""Which generators of random numbers a draw moves, and how far."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

Call = Callable[..., Any]


def steps(trial: Trial, name: str) -> None:
    """A draw takes one seed from the general stream of seeds, however many numbers it has, also none; with a seed of
    its own, also 0, it takes none. TensorFlow's global generator and NumPy's stay where they are, and neither they nor
    their seeds count."""
    alphas, wide = trial.tensor(np.asarray([0.5, 3.0], "float32")), trial.tensor(np.asarray([0.5, 3.0]))
    of_stream, of_seed = _gamma_calls(alphas, wide) if name == "gamma" else (_NORMAL_CALLS, [])
    with trial.on_host():
        generator = tf.random.get_global_generator()

    def once(call: Call, function: Call, others: int) -> Any:
        with trial.on_host():
            generator.reset_from_seed(others)
        np.random.seed(others)
        tf.random.set_seed(23)
        drawn = call(function)
        left = [list(tf.compat.v1.get_seed(None)), trial.numpy(generator.state), np.random.get_state()[1:3]]
        return drawn, left

    def body(function: Call) -> Any:
        return [[once(call, function, others) for others in (5, 6)] for call in (*of_stream, *of_seed)]

    trial.repeatable = False
    state = np.random.get_state()
    try:
        found = trial.call_inside(body)
        moved = [
            [once(call, tf.compat.v1.get_seed, others)[1] for others in (5, 6)]
            for call in (lambda get_seed: (), lambda get_seed: get_seed(None))
        ]
    finally:
        np.random.set_state(state)
    for number, ((one, left_of_one), (two, left_of_two)) in enumerate(found):
        trial.equal(one, trial.numpy(two))
        for left, expected in zip((left_of_one, left_of_two), moved[number < len(of_stream)]):
            trial.equal(left, expected)


def seeds_count(trial: Trial) -> None:
    """Both the general seed and that of the call, also 0 and negative ones, change what is drawn, in eager code, a
    tf.function and a TensorFlow 1 graph; the same two repeat it, and a second call goes on."""
    seeds = [0, 1, -1, 12345678]

    def drawn(gamma: Call, seed: Any) -> list[Any]:
        return [gamma([30], 2.0, seed=seed) for _ in range(2)]

    def eagerly(gamma: Call, general: int, seed: Any) -> Any:
        tf.random.set_seed(general)
        return drawn(gamma, seed)

    def traced(gamma: Call, general: int, seed: Any) -> Any:
        tf.random.set_seed(general)
        draw = tf.function(lambda: gamma([30], 2.0, seed=seed))
        return [draw(), draw()]

    def in_graph(gamma: Call, general: int, seed: Any) -> Any:
        with tf.Graph().as_default() as graph, tf.device(trial.device):
            tf.random.set_seed(general)
            one = gamma([30], 2.0, seed=seed)
        with tf.compat.v1.Session(graph=graph) as session:
            return [session.run(one), session.run(one)]

    def body(gamma: Call) -> Any:
        ways = (eagerly, traced, in_graph)
        # In a graph the number of operations stands in for a seed that is not given: it may be one of the others.
        given = {eagerly: [None, *seeds]}
        return [[[way(gamma, g, s) for g in (3, 3, 4)] for s in given.get(way, seeds)] for way in ways]

    trial.repeatable = False
    for of_way in trial.numpy(trial.call_inside(body)):
        different = []
        for first, again, other in of_way:
            trial.equal(again, first)
            different += [*first, *other]
        for number, one in enumerate(different):
            for two in different[:number]:
                trial.check((one != two).mean() > 0.9, "other seeds gave the same draws")


_NORMAL_CALLS: list[Call] = [
    lambda f: f(),
    lambda f: f(()),
    lambda f: f(0),
    lambda f: f((3, 0)),
    lambda f: f(7),
    lambda f: f(size=[3, 2]),
]


def _gamma_calls(alphas: Any, wide: Any) -> tuple[list[Call], list[Call]]:
    of_stream: list[Call] = [
        lambda f: f([], 2.0),
        lambda f: f([0], alphas),
        lambda f: f([3], alphas, 2.0),
        lambda f: f(shape=[2, 2], alpha=wide, beta=wide, dtype=tf.float64),
        lambda f: f([2], np.asarray([0.5, 2.0], "float16"), dtype=tf.float16),
    ]
    of_seed: list[Call] = [
        lambda f: f([3], alphas, seed=4),
        lambda f: f([3], alphas, None, tf.float32, 0),
        lambda f: f([0], alphas, seed=4),
        lambda f: f([2, 2], wide, wide, tf.float64, seed=-7, name="drawn"),
    ]
    return of_stream, of_seed


def general_seeds(trial: Trial, name: str) -> None:
    """Each general seed, also 0, a negative or a large one, gives draws of the distribution, and others than each other
    seed; the same seed gives the same again, in eager code and a tf.function."""
    seeds = [0, 1, -1, 7, 123456789, -77]
    once: Call = (lambda f: f([400], 4.0)) if name == "gamma" else (lambda f: f([400]))
    mean, deviation = (4, 2) if name == "gamma" else (0, 1)

    def body(function: Call) -> Any:
        found = []
        for seed in seeds + seeds:
            tf.random.set_seed(seed)
            found += [once(function), tf.function(lambda: once(function))()]
        return found

    trial.repeatable = False
    drawn = trial.numpy(trial.call_inside(body))
    count = 2 * len(seeds)
    for number, one in enumerate(drawn[:count]):
        trial.equal(drawn[count + number], one)
        # Six standard errors of the mean of 400.
        trial.check(abs(one.mean() - mean) < 0.3 * deviation, f"the mean is {one.mean()}, expected {mean}")
        trial.check(0.6 < one.std() / deviation < 1.4, f"the standard deviation is {one.std()}, expected {deviation}")
        for two in drawn[number + 2 : count : 2]:
            trial.check((one != two).mean() > 0.9, "other seeds gave the same draws")

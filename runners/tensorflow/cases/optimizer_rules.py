"""tf.keras.optimizers.experimental.Adadelta: weights without decay or gradient, rates that are assigned, and what the
configuration and the variables have."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.optimizers import close_steps, expected_steps

_RATE, _EPSILON, _DECAY = 0.5, 1e-3, 0.2


def without_decay(trial: Trial, by: str) -> None:
    """Weights that are excluded, by themselves or by a part of their name, are not decayed; all others are."""
    hosts, slopes = ([trial.random(3, seed=seed + number) for number in range(3)] for seed in (1, 4))

    def body(adadelta: Callable[..., Any]) -> Any:
        names = ("kernel", "first_bias", "second_bias")
        weights = [tf.Variable(trial.tensor(host), name=name) for host, name in zip(hosts, names)]
        optimizer = adadelta(_RATE, epsilon=_EPSILON, weight_decay=_DECAY)
        optimizer.exclude_from_weight_decay(**({"var_names": ["bias"]} if by == "name" else {"var_list": weights[1:]}))
        optimizer.build(weights)
        optimizer.apply_gradients([(trial.tensor(slope), weight) for slope, weight in zip(slopes, weights)])
        return weights

    for weight, host, slope, decay in zip(trial.call_inside(body), hosts, slopes, (_DECAY, 0.0, 0.0)):
        start = host.astype("float64") * (1 - _RATE * decay)
        (expected,) = expected_steps(start, [slope.astype("float64")], lambda step: _RATE, 0.95, _EPSILON)
        close_steps(trial, weight, expected, "float32")


def without_gradient(trial: Trial) -> None:
    """A weight that has no gradient stays, those before and after it are moved, and the step is counted once; in a
    later step it can have one."""
    hosts, slopes = ([trial.random(3, seed=seed + number) for number in range(3)] for seed in (7, 10))

    def body(adadelta: Callable[..., Any]) -> Any:
        weights = [tf.Variable(trial.tensor(host)) for host in hosts]
        optimizer = adadelta(_RATE, epsilon=_EPSILON)
        optimizer.build(weights)
        given = [trial.tensor(slope) for slope in slopes]
        optimizer.apply_gradients(list(zip([given[0], None, given[2]], weights)))
        first = [tf.convert_to_tensor(weight) for weight in weights]
        optimizer.apply_gradients([(given[1], weights[1])])
        return first, tf.convert_to_tensor(weights[1]), int(optimizer.iterations)

    first, later, count = trial.call_inside(body)
    trial.equal(count, 2)
    moved = [
        expected_steps(host, [slope.astype("float64")], lambda step: _RATE, 0.95, _EPSILON)[0]
        for host, slope in zip(hosts, slopes)
    ]
    for weight, expected in zip((*first, later), (moved[0], hosts[1], moved[2], moved[1])):
        close_steps(trial, weight, expected, "float32")


def assigned_rate(trial: Trial) -> None:
    """A rate that is assigned holds from the next step on, and is in the configuration with all other options; an
    optimizer of this configuration goes on with them."""
    host, slope = trial.random(4, seed=13), trial.random(4, seed=14)

    def body(adadelta: Callable[..., Any]) -> Any:
        weight, other = tf.Variable(trial.tensor(host)), tf.Variable(trial.tensor(host))
        optimizer = adadelta(_RATE, rho=0.75, epsilon=_EPSILON, weight_decay=_DECAY)
        optimizer.build([weight])
        optimizer.apply_gradients([(trial.tensor(slope), weight)])
        optimizer.learning_rate = 0.25
        optimizer.apply_gradients([(trial.tensor(slope), weight)])
        again = type(optimizer).from_config(optimizer.get_config())
        again.build([other])
        again.apply_gradients([(trial.tensor(slope), other)])
        return weight, other, optimizer.get_config(), float(optimizer.learning_rate), optimizer.variables

    weight, other, kept, rate, variables = trial.call_inside(body)
    wide, start = slope.astype("float64"), host.astype("float64")
    plain = expected_steps(np.zeros(4), [wide, wide], lambda step: (_RATE, 0.25)[step], 0.75, _EPSILON)
    first = start * (1 - _RATE * _DECAY) + plain[0]
    close_steps(trial, weight, first * (1 - 0.25 * _DECAY) + plain[1] - plain[0], "float32")
    close_steps(trial, other, start * (1 - 0.25 * _DECAY) + plain[0] / 2, "float32")
    given = {"learning_rate": 0.25, "rho": 0.75, "epsilon": _EPSILON, "weight_decay": _DECAY, "clipvalue": None}
    trial.close([kept[key] or 0.0 for key in given], [value or 0.0 for value in given.values()], 1e-6, 0.0)
    trial.equal(rate, 0.25)
    shapes = [tuple(each.shape) for each in (variables() if callable(variables) else variables)]
    trial.equal(shapes.count((4,)), 2)
    trial.check(() in shapes, "the number of steps is no variable of the optimizer")


def scheduled_rate(trial: Trial) -> None:
    """The configuration keeps a schedule, for whose rate none can be assigned."""
    host, slope = trial.random(4, seed=15), trial.random(4, seed=16)
    halved = tf.keras.optimizers.schedules.ExponentialDecay(2.0, decay_steps=1, decay_rate=0.5)

    def body(adadelta: Callable[..., Any]) -> Any:
        weight = tf.Variable(trial.tensor(host))
        optimizer = adadelta(halved, epsilon=_EPSILON)
        again = type(optimizer).from_config(optimizer.get_config())
        again.build([weight])
        for _ in range(2):
            again.apply_gradients([(trial.tensor(slope), weight)])
        return weight

    wide = [slope.astype("float64")] * 2
    expected = expected_steps(host, wide, lambda step: 2.0 * 0.5**step, 0.95, _EPSILON)[-1]
    close_steps(trial, trial.call_inside(body), expected, "float32")
    trial.raises_inside(["TypeError"], "learningrateschedule", lambda made: setattr(made(halved), "learning_rate", 0.5))


def given_weights(trial: Trial, traced: bool) -> None:
    """With the weights of another optimizer, as arrays, an optimizer goes on as that one does, and has its number of
    steps; the other one and the arrays stay as they were."""
    host, slope = trial.random(4, seed=17), trial.random(4, seed=18)

    def values(optimizer: Any) -> list[Any]:
        variables = optimizer.variables
        return [
            np.array(trial.numpy(tf.convert_to_tensor(each)))
            for each in (variables() if callable(variables) else variables)
        ]

    def body(adadelta: Callable[..., Any]) -> Any:
        first, second = (adadelta(_RATE, epsilon=_EPSILON) for _ in range(2))
        weights = [tf.Variable(trial.tensor(host)) for _ in range(2)]
        for optimizer, weight in zip((first, second), weights):
            optimizer.build([weight])
        steps = [
            lambda o=o, w=w: o.apply_gradients([(trial.tensor(slope), w)]) for o, w in zip((first, second), weights)
        ]
        steps = [tf.function(step) for step in steps] if traced else steps
        steps[0]()
        kept = values(first)
        weights[1].assign(weights[0])
        second.set_weights(kept)
        same = values(second)
        for _ in range(2):
            steps[1]()
        return weights, kept, same, values(first), int(second.iterations)

    (one, other), kept, same, still, count = trial.call_inside(body)
    for before, *others in zip(kept, same, still):
        trial.equal(others, [before, before])
    trial.equal(count, 3)
    wide = [slope.astype("float64")] * 3
    expected = expected_steps(host, wide, lambda step: _RATE, 0.95, _EPSILON)
    close_steps(trial, one, expected[0], "float32")
    close_steps(trial, other, expected[2], "float32")

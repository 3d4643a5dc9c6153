"""Many values that are saved, looked up, parsed or printed, special ones among them: each one is there, as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.cases.parsing import feature_of, serialized_example
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1

_SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 1e-45, -3.4028235e38, 16777217.0, 1 / 3]


def _hosts(count: int) -> list[Any]:
    """Small arrays of float64 and float32 in turn."""
    kinds = ("float64", "float32")
    return [np.asarray([_SPECIAL[n % len(_SPECIAL)], n], kinds[n // len(_SPECIAL) % 2]) for n in range(count)]


def _same(trial: Trial, found: Any, host: Any) -> None:
    array = np.asarray(found)
    trial.equal(array.dtype.name, host.dtype.name)
    trial.exact(array, host)


def checkpoints(trial: Trial, count: int, before: int) -> None:
    """Checkpoints of a training that goes on from a large step have its number and all variables, those that became
    NaN or infinite too."""
    hosts, folder = _hosts(count), new_folder()
    with building(trial) as graph:
        step = v1.get_variable(
            "global_step",
            initializer=np.int64(before),
            trainable=False,
            use_resource=True,
            collections=[v1.GraphKeys.GLOBAL_STEP, v1.GraphKeys.GLOBAL_VARIABLES],
        )
        weights = [v1.get_variable(f"w{n}", initializer=np.zeros(2, host.dtype)) for n, host in enumerate(hosts)]
        train = tf.group(step.assign_add(1), *[each.assign(host) for each, host in zip(weights, hosts)])
    hook = trial.call(str(folder), save_steps=2)
    with beside(graph), v1.train.SingularMonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            session.run(train)
    v1.summary.FileWriterCache.clear()
    steps = [before, before + 2, before + 3]
    trial.equal(sorted(int(file.stem.split("-")[-1]) for file in folder.glob("model.ckpt-*.index")), steps)
    for number in steps:
        reader = tf.train.load_checkpoint(str(folder / f"model.ckpt-{number}"))
        trial.equal(int(reader.get_tensor("global_step")), number)
        for n, host in enumerate(hosts):
            _same(trial, reader.get_tensor(f"w{n}"), host if number > before else np.zeros(2, host.dtype))


def model(trial: Trial, count: int) -> None:
    """A model of many weights, inputs and outputs serves the values of its session; saved again after they changed, it
    serves the new ones."""
    hosts = _hosts(count)
    with building(trial) as graph:
        weights = [v1.get_variable(f"w{n}", initializer=host, use_resource=True) for n, host in enumerate(hosts)]
        inputs = {f"x{n}": v1.placeholder(host.dtype, [2]) for n, host in enumerate(hosts)}
        outputs = {f"w{n}": tf.identity(weight) for n, weight in enumerate(weights)}
        outputs.update({f"y{n}": 2.0 * inputs[f"x{n}"] for n in range(count)})
        change = [weight.assign(weight[::-1]) for weight in weights]
        start = v1.global_variables_initializer()
    trial.repeatable = False
    folders = [str(new_folder() / "model") for _ in range(2)]
    with beside(graph), v1.Session() as session:
        session.run(start)
        returned = [trial.call(session, folders[0], inputs, outputs)]
        session.run(change)
        returned.append(trial.call(session, folders[1], inputs, outputs))
    trial.equal(returned, [None, None])
    for order, folder in zip((1, -1), folders):
        with tf.device(None):
            served = tf.saved_model.load(folder).signatures["serving_default"]
            found = served(**{f"x{n}": tf.constant(np.asarray([n, -1], host.dtype)) for n, host in enumerate(hosts)})
        trial.equal(len(found), 2 * count)
        for n, host in enumerate(hosts):
            _same(trial, found[f"w{n}"], host[::order])
            _same(trial, found[f"y{n}"], np.asarray([2 * n, -2], host.dtype))


def table(trial: Trial) -> None:
    """Values that are not finite, zeros of both signs and all digits are found under keys that differ by one, and a
    table of the same arrays with other values has these."""
    keys = np.asarray([2**53, 2**53 + 1, -(2**53) - 1, -1, 0, 2**63 - 1, -(2**63), 2**32, 1])
    values = np.asarray([*_SPECIAL, 5e-324])

    def body(initializer: Callable[..., Any]) -> Any:
        given, order = values.copy(), keys.copy()
        default = tf.constant(-7.0, tf.float64)
        first = tf.lookup.StaticHashTable(initializer(order, given), default).lookup(tf.constant(keys))
        given[...], order[...] = values[::-1], np.roll(keys, 2)
        second = tf.lookup.StaticHashTable(initializer(order, given), default)
        return first, second.lookup(tf.constant(np.roll(keys, 2))), second.lookup(tf.constant(keys + 0))

    trial.repeatable = False
    first, second, by_key = trial.call_inside(body)
    trial.exact(first, values, "float64")
    trial.exact(second, values[::-1], "float64")
    trial.exact(by_key, np.roll(values[::-1], -2), "float64")


def features(trial: Trial, count: int) -> None:
    """Each of many features of the context and of the lists has its own values and its own default."""
    given = {f"c{n}": feature_of([_SPECIAL[n % 8], n], "float32") for n in range(0, count, 2)}
    lists = {f"s{n}": [feature_of([n, 2**53 + n], "int64")] * (n % 3 + 1) for n in range(count)}
    found, sequences = trial.call(
        serialized_example(trial, given, lists),
        {f"c{n}": tf.io.FixedLenFeature([2], tf.float32, [_SPECIAL[(n + 1) % 8], -n]) for n in range(count)},
        {f"s{n}": tf.io.FixedLenSequenceFeature([2], tf.int64) for n in range(count)},
    )
    trial.equal([len(found), len(sequences)], [count, count])
    for n in range(count):
        expected = [_SPECIAL[(n + 1) % 8], -n] if n % 2 else [_SPECIAL[n % 8], n]
        trial.exact(found[f"c{n}"], np.asarray(expected, "float32"), "float32")
        trial.exact(sequences[f"s{n}"], np.asarray([[n, 2**53 + n]] * (n % 3 + 1)), "int64")


def printed(trial: Trial, count: int) -> None:
    """Each of many tensors, numbers and words is printed, in order; variables that have changed are printed as they
    are then."""
    floats, variable = tf.Variable([1.5, -0.0]), tf.Variable([3, -4])
    given = [[trial.tensor(np.asarray([n, -n])), n, f"w{n}"][n % 3] for n in range(count)]
    texts = [[f"[{n} {-n}]", str(n), f"w{n}"][n % 3] for n in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "printed.txt"

        def body(write: Callable[..., Any]) -> Any:
            returned = []
            for _ in range(2):
                returned.append(write(*given, variable, floats, output_stream=f"file://{path}"))
                variable.assign_add([1, 1])
                floats.assign([np.inf, 0.25])
            return returned

        trial.repeatable = False
        trial.equal(trial.call_inside(body), [None, None])
        lines = path.read_text(encoding="utf-8").splitlines()
    wanted = [" ".join([*texts, *last]) for last in (("[3 -4]", "[1.5 -0]"), ("[4 -3]", "[inf 0.25]"))]
    trial.check(lines == wanted, f"expected {wanted}, got {lines}")

"""tf.estimator.LoggingTensorHook: the kinds of tensors that it takes, and what it logs of arrays."""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.hooks import logged
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1

_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "dictionary": lambda tensors: {"z": tensors[0], "b": tensors[1].name, "a": tensors[2]},
    "tuple": lambda tensors: (tensors[2].name, tensors[1].name, tensors[0].name),
}


def _parts(given: Any) -> list[Any]:
    return [*given, *given.values()] if isinstance(given, dict) else list(given)


def arrays(trial: Trial, kind: str) -> None:
    """A dictionary is logged in the order of its tags, other containers in their own; small numbers of arrays are shown
    without exponents. The elapsed time is in seconds. The container and NumPy's options of printing stay."""
    rows = [np.asarray([1e-5, 0.5], "float32"), np.asarray([[7, -8]]), np.asarray([1.5, -1e-7])]
    with tf.Graph().as_default() as graph, tf.device(trial.device):
        tensors = [tf.constant(row, name=name) for row, name in zip(rows, ("one", "two", "three"))]
    given = _KINDS[kind](tensors)
    printing, parts = str(np.get_printoptions()), _parts(given)
    with logged() as lines:
        hook = trial.call(given, every_n_iter=1)
        with beside(graph), v1.train.SingularMonitoredSession(hooks=[hook]) as session:
            begin = time.monotonic()
            session.run(tensors[0])
            session.run(tensors[0])
            most = time.monotonic() - begin
    trial.equal(str(np.get_printoptions()), printing)
    kept = len(parts) == len(_parts(given)) and all(one is other for one, other in zip(parts, _parts(given)))
    trial.check(kept, "the container was changed")
    tags = ("a", "b", "z") if kind == "dictionary" else ("three:0", "two:0", "one:0")
    texts = [np.array2string(row, suppress_small=True) for row in rows[::-1]]
    wanted = ", ".join(f"{tag} = {text}" for tag, text in zip(tags, texts))
    found = [line for line in lines if " = " in line]
    trial.equal([line.split(" (")[0] for line in found], [wanted, wanted])
    seconds = float(found[1].split(" (")[1].split()[0])
    trial.check(0 <= seconds <= most + 0.001, f"{seconds} seconds were logged, of at most {most}")


def formatted(trial: Trial, kind: str) -> None:
    """The formatter gets the values, once for each time, under the tags of a dictionary or under the tensors or names
    that were listed; what it returns is logged as it is, at the level INFO."""
    given: list[dict[Any, Any]] = []
    with building(trial) as graph:
        row = np.asarray([1e-5, 2.5], "float64")
        tensors = [tf.constant(row, name="one"), tf.constant(np.int64(2**53 + 1), name="two")]
        pair = tf.split(tf.constant([7, 8]), 2, name="pair")
    kinds: dict[str, Any] = {
        "dictionary": {"z": tensors[0], "a": "two:0", "b": "pair:1"},
        "names": ["two:0", "one:0", "pair:1"],
        "tensors": [tensors[1], pair[1], tensors[0]],
    }

    def formatter(values: Any) -> str:
        given.append(dict(values))
        return f"100% {len(given)} %s"

    with logged() as lines, beside(graph):
        hook = trial.call(kinds[kind], every_n_iter=2, formatter=formatter)
        trial.repeatable = False
        with v1.train.SingularMonitoredSession(hooks=[hook]) as session:
            for _ in range(3):
                session.run(tensors[0])
    trial.equal(len(given), 2)
    trial.equal([line for line in lines if line.startswith("100")], ["100% 1 %s", "100% 2 %s"])
    expected = {"one": row, "two": np.asarray(2**53 + 1), "pair": np.asarray([8], "int32")}
    sources = {"z": "one", "a": "two", "b": "pair"}
    for values in given:
        trial.check(
            len(values) == 3 and all(any(tag is key for key in values) for tag in kinds[kind]), f"tags: {values}"
        )
        for tag, value in values.items():
            name = sources.get(tag) if kind == "dictionary" else (tag if kind == "names" else tag.name).split(":")[0]
            wanted = expected[str(name)]
            trial.equal((value, str(np.asarray(value).dtype)), (wanted, str(wanted.dtype)))

"""tf.estimator.LoggingTensorHook without a formatter: the digits of what it logs."""

from __future__ import annotations

import re

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.hooks import logged
from runners.tensorflow.graph_mode import beside

v1 = tf.compat.v1


def digits(trial: Trial, count: int) -> None:
    """Each of many numbers is logged by its name with all digits of its dtype, also NaN and infinities; NumPy prints
    as before."""
    kinds = [np.float64(1 / 3), np.float64(1 + 2**-52), np.int64(2**53 + 1), np.float64(np.nan), np.float64(-np.inf)]
    kinds += [np.float32(0.1), np.float64(1e-310), np.int32(-(2**31)), np.float64(-0.0), np.float64(1e300)]
    values = [kinds[n % len(kinds)] for n in range(count)]
    graph = tf.Graph()
    with graph.as_default(), tf.device(trial.device):
        tensors = {f"t{n:03}": tf.constant(np.asarray(value)) for n, value in enumerate(values)}
    before = np.get_printoptions()
    with logged() as lines:
        hook = trial.call(tensors, every_n_iter=1)
        with beside(graph), v1.train.SingularMonitoredSession(hooks=[hook]) as session:
            session.run(tensors["t000"])
    trial.equal(str(np.get_printoptions()), str(before))
    found = re.findall(r"(t\d+) = ([^\s,]+)", " ".join(lines))
    trial.equal([tag for tag, _ in found], list(tensors))
    for (tag, text), value in zip(found, values):
        trial.check(repr(type(value)(text)) == repr(value), f"{tag} is {value!r}, it logged {text}")

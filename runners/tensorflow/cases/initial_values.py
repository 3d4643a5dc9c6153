"""tf.compat.v1.global_variables_initializer: variables whose initial values are random."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from runners.core.testing.compare import EPSILON
from runners.core.testing.distribution import check_draws
from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, run

v1 = tf.compat.v1

_SHAPE = (40, 50)


def drawn(trial: Trial, kind: str, dtype: str) -> None:
    """Variables of one shape, dtype and random initializer get numbers of their own, and others when they are
    initialized again. With a seed of the graph, another session draws the same."""
    options = {"minval": -1.0, "maxval": 1.0} if kind == "uniform" else {}
    initializer = {
        "normal": v1.random_normal_initializer,
        "uniform": v1.random_uniform_initializer,
        "truncated": v1.truncated_normal_initializer,
    }[kind](**options)
    with building(trial) as graph:
        v1.set_random_seed(trial.seed(11))
        made = [
            v1.get_variable(name, _SHAPE, trial.dtype(dtype), initializer, use_resource=True)
            for name in ("one", "two", "three")
        ]
    start = call_building(trial, graph)
    rows = []
    for _ in range(2):
        with v1.Session(graph=graph) as session:
            for _ in range(2):
                run(trial, session, start)
                rows.append([np.asarray(part, "float64").ravel() for part in session.run(made)])
    draws = np.stack(rows[0] + rows[1])
    for each in draws:
        if kind == "truncated":
            trial.check(abs(each).max() <= 2 and 0.8 < each.std() < 0.96, "the draws are not those of the initializer")
        else:
            parameters = {"low": -1.0, "high": 1.0} if kind == "uniform" else {}
            check_draws(each, kind, parameters, 4 * EPSILON[dtype])
    # Six standard errors: more in one of 15 pairs once in 30 million times.
    off = abs(np.corrcoef(draws) - np.eye(len(draws))).max()
    trial.check(off < 6 / np.sqrt(draws.shape[1]), f"variables are correlated by {off:.3g}")
    trial.equal([rows[2], rows[3]], [rows[0], rows[1]])

"""tf.compat.v1.variable_scope: many variables of one scope, with random initial values."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def drawn(trial: Trial, kind: str, count: int) -> None:
    """All variables of one shape in a scope with a random initializer, also in an inner scope, have draws of their own,
    other ones in each session; an outer default is there again afterwards."""
    initializers = {"normal": v1.random_normal_initializer, "uniform": v1.random_uniform_initializer}
    start = initializers[kind](dtype=tf.float64) if kind != "default" else None

    def body(variable_scope: Callable[..., Any]) -> Any:
        with building(trial) as graph:
            with variable_scope("outer", initializer=v1.constant_initializer(np.inf), use_resource=True):
                with variable_scope("many", initializer=start, dtype=tf.float64) as scope:
                    if start is None:
                        scope.set_initializer(None)
                    made = [v1.get_variable(f"v{n}", [6, 6]) for n in range(count)]
                    with variable_scope("inner"):
                        made.append(v1.get_variable("v0", [6, 6]))
                last = v1.get_variable("last", [2])
            return graph, made, last

    trial.repeatable = False
    graph, made, last = trial.call_inside(body)
    trial.equal([made[0].name, made[count].name], ["outer/many/v0:0", "outer/many/inner/v0:0"])
    with graph.as_default():
        initialize = v1.global_variables_initializer()
    found = []
    for _ in range(2):
        with v1.Session(graph=graph) as session:
            session.run(initialize)
            found.append(session.run([*made, last]))
    draws = np.stack([*found[0][:-1], *found[1][:-1]])
    trial.equal((draws.dtype.name, draws.shape), ("float64", (2 * count + 2, 6, 6)))
    trial.check(np.unique(draws).size == draws.size, "two variables have the same draws")
    spread = {"normal": 1.0, "uniform": 12**-0.5, "default": 6**-0.5}[kind]
    trial.check(0.8 < draws.std() / spread < 1.2, f"the standard deviation is {draws.std()}, expected {spread}")
    trial.equal(found[0][-1], np.full(2, np.inf, "float32"))

"""tf.compat.v1.Tensor.eval: its result belongs to the caller, the feeds stay the caller's, and what cannot be fed."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def belong_to_caller(trial: Trial) -> None:
    """A result can be changed without a change of the variable, the constant or the fed array behind it, or of the next
    result; the dict of feeds is as it was, and a scalar is a number of NumPy."""
    host = trial.random(3, 4, seed=1)
    with building(trial) as graph:
        fed = v1.placeholder(tf.float32, [3, 4])
        constant = tf.constant(host)
        variable = v1.get_variable("v", initializer=host, use_resource=True)
        tensors = [tf.identity(fed), constant, variable.value(), fed]
        total = tf.reduce_sum(constant) * 0.0
    trial.repeatable = False
    with v1.Session(graph=graph) as session:
        session.run(variable.initializer)
        for tensor in tensors:
            given = host.copy()
            feeds = {fed: given}
            first = trial.call(tensor, feeds, session)
            kept = first.copy()
            trial.equal((type(first), first.flags.writeable), (np.ndarray, True))
            if tensor is not fed:
                first += 1
            second = trial.call(tensor, feeds, session)
            for found in (kept, second, given):
                trial.equal(found, host)
            trial.equal(len(feeds), 1)
            trial.check(feeds[fed] is given, "the dict of feeds was changed")
        scalar = trial.call(total, session=session)
        trial.equal((type(scalar), float(scalar)), (np.float32, 0.0))


def refuses_feeds(trial: Trial, what: str) -> None:
    """A tensor is no value that can be fed, what is in another graph cannot be fed, a closed session evaluates nothing,
    and neither does no session."""
    with building(trial) as graph:
        x = v1.placeholder(tf.float32, [2])
        value, y = tf.constant([1.0, 2.0]), x * 2.0
    with building(trial):
        other = v1.placeholder(tf.float32, [2])
    session, closed = v1.Session(graph=graph), v1.Session(graph=graph)
    closed.close()
    kinds, word, args = {
        "tensor": (["TypeError"], "tensor", ({x: value}, session)),
        "other-graph": (["TypeError", "ValueError"], "graph", ({x: [1.0, 2.0], other: [1.0, 2.0]}, session)),
        "closed": (["RuntimeError"], "closed", ({x: [1.0, 2.0]}, closed)),
        "no-session": (["ValueError"], "session", ({x: [1.0, 2.0]},)),
        "text": (["ValueError"], "string", ({x: ["a", "b"]}, session)),
    }[what]
    trial.raises(kinds, word, y, *args)

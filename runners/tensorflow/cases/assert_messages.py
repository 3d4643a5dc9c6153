"""tf.debugging.assert_less in graphs and traced functions: the error has the message and as many elements as asked."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building

v1 = tf.compat.v1


def when_run(trial: Trial, how: str, summarize: int) -> None:
    """The error that comes when the assertion is run has the message, the condition, and the first elements of both
    sides; a run in which the assertion holds has none."""
    low, high = np.arange(501, 509), np.full(8, 900)
    wrong = np.asarray([*high[:-1], 508])

    def body(assert_less: Callable[..., Any]) -> Any:
        def check(x: Any, y: Any) -> Any:
            assertion = assert_less(x, y, message="out of order", summarize=summarize)
            with tf.control_dependencies([] if assertion is None else [assertion]):
                return x + y

        session = None
        if how == "graph":
            with building(trial) as graph, tf.device(None):
                fed = [v1.placeholder(tf.int64, [None]) for _ in range(2)]
                total = check(*fed)
            session = v1.Session(graph=graph)
        traced: Callable[..., Any] = tf.function(check, autograph=False)

        def run(y: Any) -> Any:
            if session is not None:
                return session.run(total, dict(zip(fed, (low, y))))
            return traced(tf.constant(low), tf.constant(y)).numpy()

        before = run(high)
        try:
            run(wrong)
        except tf.errors.InvalidArgumentError as error:
            return before, error.message
        return before, ""

    before, message = trial.call_inside(body)
    trial.equal(before, low + high)
    # What follows the traceback.
    text = message[message.rfind("assertion failed") :]
    for word in ("out of order", "did not hold element-wise"):
        trial.check(word in text, f"the message has no {word!r}: {message!r}")
    trial.equal([number for number in low if str(number) in text.split("[y (")[0]], low[:summarize])
    trial.equal(text.split("[y (")[1].count("900"), min(summarize, 7))

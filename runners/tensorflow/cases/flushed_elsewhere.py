"""tf.summary.flush: what else is set for summaries has no effect on it, and is not changed by it."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.event_files import EventLog, write


def not_recording(trial: Trial) -> None:
    """What was written before is flushed where nothing is recorded. The default step and whether summaries
    are recorded stay as they were."""
    given, default = EventLog(), EventLog()
    number = trial.tensor(np.float32(2.5))
    step = tf.summary.experimental.get_step()

    def body(flush: Callable[..., Any]) -> Any:
        tf.summary.experimental.set_step(7)
        try:
            with given.writer.as_default():
                write([number])
                with default.writer.as_default(), tf.summary.record_if(False):
                    nothing = flush(given.writer)
                    kept = tf.summary.experimental.get_step(), bool(tf.summary.should_record_summaries())
                    with tf.summary.record_if(True):
                        tf.summary.write("own", number)
                    flush()
                    return nothing, kept, bool(tf.summary.should_record_summaries()), given.steps(), default.steps()
        finally:
            tf.summary.experimental.set_step(step)

    trial.repeatable = False
    trial.equal(trial.call_inside(body), (None, (7, False), False, [0], [7]))

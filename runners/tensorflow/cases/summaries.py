"""tf.summary.flush: buffered events are on disk afterwards, as the writer's file shows.

The writers buffer all events in memory. Leaving ``as_default`` flushes too, so the file is read before that.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.event_files import NEVER_MS, QUEUE, EventLog, write
from runners.tensorflow.graph_mode import run

v1 = tf.compat.v1
Flush = Callable[..., Any]


def _check(trial: Trial, log: EventLog, expected: Sequence[Any], dtype: str, tag: str = "value") -> None:
    found = log.on_disk()
    trial.equal([written.step for written in found], list(range(len(expected))))
    trial.equal({written.tag for written in found}, {tag} if expected else set())
    for written, value in zip(found, expected):
        trial.equal(tf.as_dtype(written.value.dtype).name, dtype)
        trial.equal(np.asarray(written.value, value.dtype), value)


def _flush(trial: Trial, *args: Any, **kwargs: Any) -> None:
    """Flush eagerly, and check that the call returns None."""
    returned = trial.call(*args, **kwargs)
    trial.check(returned is None, f"an eager call returned {returned!r}")


def writes_out(trial: Trial, dtype: str, shape: Sequence[int], count: int = 3) -> None:
    """All events buffered before are in the file afterwards, in order, with their values."""
    log = EventLog()
    tensors = [trial.tensor(trial.random(*shape, dtype=dtype, seed=seed), dtype) for seed in range(count)]
    with log.writer.as_default():
        write(tensors)
        trial.equal(log.steps(), [])
        _flush(trial, log.writer)
        _check(trial, log, trial.numpy(tensors), dtype)


def texts(trial: Trial) -> None:
    """Events of strings are written too."""
    log = EventLog()
    words = ["Gerät", ""]
    with log.writer.as_default():
        write([trial.tensor(word, dtype="string") for word in words], tag="words")
        trial.equal(log.steps(), [])
        _flush(trial, writer=log.writer, name="ignored")
        trial.equal([written.value.item() for written in log.on_disk()], [word.encode() for word in words])


def default_writer(trial: Trial) -> None:
    """Without a writer the innermost default writer is flushed; without a default writer nothing happens."""
    inner, outer = EventLog(), EventLog()
    numbers = [trial.tensor(np.float32(number)) for number in (1.5, -2.0)]
    _flush(trial)
    with outer.writer.as_default():
        write(numbers)
        with inner.writer.as_default():
            write(numbers)
            trial.equal((inner.steps(), outer.steps()), ([], []))
            _flush(trial)
            trial.equal((inner.steps(), outer.steps()), ([0, 1], []))
        _flush(trial, None)
        _check(trial, outer, [np.float32(1.5), np.float32(-2.0)], "float32")


def only_the_given(trial: Trial) -> None:
    """A given writer is flushed instead of the default one."""
    given, default = EventLog(), EventLog()
    numbers = [trial.tensor(np.asarray([number, number + 3], "int64")) for number in (4, 5, 6)]
    with given.writer.as_default():
        write(numbers)
        with default.writer.as_default():
            write(numbers)
            trial.equal((given.steps(), default.steps()), ([], []))
            _flush(trial, given.writer)
            trial.equal(default.steps(), [])
            _check(trial, given, trial.numpy(numbers), "int64")


def again(trial: Trial) -> None:
    """Each flush adds what was written since the last one; a flush without new events changes nothing."""
    log = EventLog()
    number = trial.tensor(np.float64(0.25))
    seen = []
    with log.writer.as_default():
        for first, count in ((0, 1), (1, 0), (1, 2), (3, 0)):
            write([number] * count, first)
            seen.append(log.steps())
            _flush(trial, log.writer)
            seen.append(log.steps())
    trial.equal(seen, [[], [0], [0], [0], [0], [0, 1, 2], [0, 1, 2], [0, 1, 2]])


def in_function(trial: Trial, default: bool = False) -> None:
    """In a tf.function, traced once, events are in the file after a call flushes, and not before."""
    log = EventLog()
    trial.repeatable = False
    values = [trial.tensor(np.float32(number)) for number in (1.0, 4.0, 9.0, 16.0)]
    steps = [trial.tensor(np.int64(step)) for step in range(4)]
    kinds: list[str] = []

    def body(flush: Flush) -> Any:
        @tf.function
        def write(value: Any, step: Any) -> Any:
            tf.summary.write("value", tf.sqrt(value), step=step)

            def due() -> Any:
                kinds.append(_kind(flush() if default else flush(log.writer)))
                return True

            return tf.cond(step % 3 == 2, due, lambda: False)

        counts = []
        with log.writer.as_default():
            for value, step in zip(values, steps):
                write(value, step)
                counts.append(len(log.steps()))
        return counts

    trial.equal(trial.call_inside(body), [0, 0, 3, 3])
    trial.equal(kinds, ["FlushSummaryWriter"])
    trial.equal([float(written.value) for written in log.on_disk()], [1.0, 2.0, 3.0, 4.0])


def _kind(operation: Any) -> Any:
    # Check at once, because an operation lives no longer than its graph.
    return operation.type if isinstance(operation, tf.Operation) else type(operation)


def in_graph(trial: Trial, default: bool) -> None:
    """In a graph it returns an operation that flushes when a session runs it, not before."""
    folder = Path(tempfile.mkdtemp(prefix="summaries-"))
    log = object.__new__(EventLog)
    log.folder = folder
    host = trial.random(4, seed=3)
    graph = tf.Graph()

    def body(flush: Flush) -> Any:
        with graph.as_default():
            writer = tf.summary.create_file_writer(str(folder), max_queue=QUEUE, flush_millis=NEVER_MS)
            with writer.as_default(step=0):
                with tf.device(trial.device):
                    value = tf.constant(host)
                written = tf.summary.write("value", value)
                return writer.init(), written, flush() if default else flush(writer)

    trial.repeatable = False
    start, written, operation = trial.call_inside(body)
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
    with v1.Session(graph=graph) as session:
        session.run(start)
        session.run(written)
        trial.equal(log.steps(), [])
        trial.check(run(trial, session, operation) is None, "an operation has no value")
        _check(trial, log, [host], "float32")


def without_writer_in_graph(trial: Trial) -> None:
    """In a graph without a writer it returns an operation that does nothing."""
    graph = tf.Graph()

    def body(flush: Flush) -> Any:
        with graph.as_default():
            return flush()

    operation = trial.call_inside(body)
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {operation!r}")
    trial.equal(operation.type, "NoOp")
    trial.check(operation.graph is graph, "the operation belongs to another graph")


def closed(trial: Trial) -> None:
    """A closed writer has nothing to flush: its file is unchanged, and another writer can still be flushed."""
    first, second = EventLog(), EventLog()
    number = trial.tensor(np.int32(7))
    expected = [np.int32(7), np.int32(8)]
    with first.writer.as_default():
        write([number, number + 1])
    first.writer.close()
    _flush(trial, first.writer)
    _check(trial, first, expected, "int32")
    with second.writer.as_default():
        write([number, number + 1])
        trial.equal(second.steps(), [])
        _flush(trial, second.writer)
        _check(trial, second, expected, "int32")


def special_values(trial: Trial, count: int) -> None:
    """Events with NaN, infinities, zeros of both signs and all digits are on disk as they were, at steps beyond 2**53;
    of many writers the one that is given is flushed, and what a variable was when it was written."""
    logs = [EventLog() for _ in range(count)]
    first = 2**53 + 1
    hosts = [np.asarray([value, 1 / 3]) for value in (np.nan, np.inf, -np.inf, -0.0, 5e-324)]
    variable = tf.Variable(trial.tensor(hosts[0]))
    for log in logs:
        with log.writer.as_default():
            for step, host in enumerate(hosts, first):
                variable.assign(trial.tensor(host))
                tf.summary.write("value", variable, step=step)
    # Leaving the scope has flushed them: what is written from here on is not yet on disk.
    for number in (count - 1, 0):
        with logs[number].writer.as_default():
            tf.summary.write("more", variable, step=first)
            trial.equal(len(logs[number].on_disk()), len(hosts))
            _flush(trial, logs[number].writer)
            found = logs[number].on_disk()
        trial.equal([written.step for written in found], [*range(first, first + len(hosts)), first])
        for written, host in zip(found, [*hosts, hosts[-1]]):
            trial.exact(written.value, host)

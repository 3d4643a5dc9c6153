"""tf.compat.v1.TextLineReader.restore_state: all readers share this method, though only some can be restored.

A reader of lines cannot be restored, as documented. The identity reader, which can, shows that the method works.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import building, call_building, close, run

v1 = tf.compat.v1


class _Work:
    """A reader with a queue of work, and the operations for its records and its state."""

    def __init__(self, trial: Trial, graph: tf.Graph, kind: str, items: Sequence[str]) -> None:
        with building(trial, graph):
            self.reader = getattr(v1, kind)()
            queue = v1.FIFOQueue(99, [tf.string], shapes=())
            with tf.control_dependencies([queue.enqueue_many([items])]):
                # After the queue is closed, a read that finds nothing fails; otherwise it would wait forever.
                self.fill = queue.close()
            self.next = self.reader.read(queue)
            self.counts = self.reader.num_records_produced(), self.reader.num_work_units_completed()
            if kind == "IdentityReader":
                self.state = self.reader.serialize_state()


def _operation(trial: Trial, operation: Any, graph: tf.Graph, reader: Any, state: Any) -> None:
    trial.check(isinstance(operation, tf.Operation), f"expected an operation, got {type(operation).__name__}")
    trial.equal(operation.type, "ReaderRestoreStateV2")
    trial.check(operation.graph is graph, "the operation belongs to another graph")
    trial.check(operation.inputs[0] is reader.reader_ref, "the operation restores another reader")
    trial.check(state is None or operation.inputs[1] is state, "the operation restores another state")


def _counts(trial: Trial, session: Any, work: _Work, expected: int) -> None:
    # For the identity reader each piece of work is one record.
    for found in session.run(work.counts):
        close(trial, found, expected, "int64")


def restores(trial: Trial, saved_after: int) -> None:
    """A restored reader counts from the saved number of records; the queue continues."""
    items = [f"work {number}" for number in range(8)]
    graph = tf.Graph()
    work = _Work(trial, graph, "IdentityReader", items)
    with building(trial, graph):
        state = v1.placeholder(tf.string, [])
    restore = call_building(trial, graph, work.reader, state)
    _operation(trial, restore, graph, work.reader, state)
    with v1.Session(graph=graph) as session:
        session.run(work.fill)
        for _ in range(saved_after):
            session.run(work.next)
        saved = session.run(work.state)
        for _ in range(3):
            session.run(work.next)
        _counts(trial, session, work, saved_after + 3)
        trial.check(run(trial, session, restore, {state: saved}) is None, "an operation has no value")
        _counts(trial, session, work, saved_after)
        trial.equal(session.run(work.state), saved)
        trial.equal(list(session.run(work.next)), [items[saved_after + 3].encode()] * 2)
        _counts(trial, session, work, saved_after + 1)


def transfers(trial: Trial, read: int) -> None:
    """The state of one reader can be given to another of its kind, as a tensor of the same graph."""
    graph = tf.Graph()
    first = _Work(trial, graph, "IdentityReader", ["a", "b", "c", "d"])
    second = _Work(trial, graph, "IdentityReader", ["x", "y", "z"])
    restore = call_building(trial, graph, second.reader, first.state, name="restored")
    _operation(trial, restore, graph, second.reader, first.state)
    trial.equal(restore.name.split("_")[0], "restored")
    with v1.Session(graph=graph) as session:
        session.run([first.fill, second.fill])
        for _ in range(read):
            session.run(first.next)
        session.run(second.next)
        _counts(trial, session, second, 1)
        run(trial, session, restore)
        _counts(trial, session, second, read)
        _counts(trial, session, first, read)
        trial.equal(list(session.run(second.next)), [b"y", b"y"])
        _counts(trial, session, second, read + 1)


def of_lines(trial: Trial, lines: Sequence[str], read: int) -> None:
    """For a reader of lines the operation can be created but not run: as documented it is not implemented, and the
    reader then reads its next file from the beginning."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.txt"
        path.write_text("\n".join(lines), encoding="utf-8")
        graph = tf.Graph()
        work = _Work(trial, graph, "TextLineReader", [str(path)] * 2)
        state = b"any"
        restore = call_building(trial, graph, work.reader, state)
        _operation(trial, restore, graph, work.reader, None)
        trial.equal(tf.get_static_value(restore.inputs[1]), state)
        trial.check(not work.reader.supports_serialize, "expected an error: a reader of lines cannot be restored")
        expected = [line.encode() for line in lines]
        with v1.Session(graph=graph) as session:
            session.run(work.fill)
            trial.equal([session.run(work.next)[1] for _ in range(read)], expected[:read])
            close(trial, session.run(work.counts[0]), np.int64(read), "int64")
            try:
                run(trial, session, restore)
            except tf.errors.UnimplementedError as error:
                trial.check(error.op is restore, f"another operation failed: {error.op}")
            else:
                trial.check(False, "a reader of lines was restored")
            trial.equal([session.run(work.next)[1] for _ in lines], expected)


def refuses(trial: Trial, what: str) -> None:
    """What is not a single text is no state, and a text that no reader has written cannot be restored."""
    with tf.Graph().as_default():
        reader = v1.IdentityReader()
        given, word = {"number": (3, "string"), "vector": ([b"a", b"b"], "rank"), "nonsense": (b"nonsense", "state")}[
            what
        ]

        def body(restore_state: Any) -> Any:
            with v1.Session() as session:
                return session.run(restore_state(reader, given))

        trial.raises_inside(["InvalidArgumentError", "TypeError", "ValueError"], word, body)


def refuses_shapes(trial: Trial, shape: Sequence[int], known: bool) -> None:
    """A state that is no scalar is an error, though each of its elements is a state that a reader has written: when the
    operation is made if its shape is known, otherwise when it is run. The reader then keeps its own state."""
    graph = tf.Graph()
    work = _Work(trial, graph, "IdentityReader", ["a", "b", "c", "d"])
    with v1.Session(graph=graph) as session:
        session.run(work.fill)
        session.run(work.next)
        saved = session.run(work.state)
        session.run(work.next)
        with building(trial, graph):
            state = v1.placeholder(tf.string, shape if known else None)

        def body(restore_state: Any, dims: Sequence[int] = shape) -> Any:
            with building(trial, graph):
                restore = restore_state(work.reader, state)
            return session.run(restore, {state: np.full(dims, saved, object)})

        trial.raises_inside(["InvalidArgumentError", "ValueError"], "rank" if known else "scalar", body)
        _counts(trial, session, work, 2)
        if not known:
            # The same operation takes a scalar.
            trial.repeatable = False
            trial.call_inside(body, [])
            _counts(trial, session, work, 1)


def side_by_side(trial: Trial) -> None:
    """Two readers of one graph are restored in turn, each to the state that it is given, also to the same one twice."""
    graph = tf.Graph()
    works = [_Work(trial, graph, "IdentityReader", [f"{name}{number}" for number in range(6)]) for name in "ab"]
    with building(trial, graph):
        state = v1.placeholder(tf.string, [])
    trial.repeatable = False
    restores = [call_building(trial, graph, work.reader, state) for work in works]
    with v1.Session(graph=graph) as session:
        saved = []
        for work in works:
            session.run(work.fill)
        for work in (works[0], works[1], works[1]):
            session.run(work.next)
            saved.append(session.run(work.state))
        for number, place, expected in ((0, 2, [2, 2]), (1, 0, [2, 1]), (0, 0, [1, 1]), (0, 2, [2, 1]), (0, 2, [2, 1])):
            run(trial, session, restores[number], {state: saved[place]})
            for work, count in zip(works, expected):
                _counts(trial, session, work, count)
        trial.equal(session.run(works[0].next)[1], b"a1")
        _counts(trial, session, works[0], 3)
        _counts(trial, session, works[1], 1)


def several_operations(trial: Trial, kind: str) -> None:
    """Each call makes an operation of its own for its reader and its state, also the next one for the same reader. It
    runs after what it is made to depend on."""
    graph = tf.Graph()
    with building(trial, graph):
        with tf.device(None):
            readers = [getattr(v1, kind)(name=name) for name in ("one", "two", "three")]
        before = [tf.no_op(name=f"before{number}") for number in range(2)]
        with tf.device(None):
            last = tf.constant("d")

    def body(restore_state: Any) -> Any:
        with building(trial, graph):
            made = [restore_state(readers[number], state) for number, state in order]
            with tf.control_dependencies(before):
                dependent = [restore_state(reader, last) for reader in readers]
            return made, dependent

    order = [(0, "a"), (1, "b"), (0, "c"), (2, "a"), (1, "b"), (0, "a")]
    trial.repeatable = False
    made, dependent = trial.call_inside(body)
    trial.equal(len({operation.name for operation in (*made, *dependent)}), len(order) + len(readers))
    for operation, (number, state) in zip(made, order):
        _operation(trial, operation, graph, readers[number], None)
        trial.equal(tf.get_static_value(operation.inputs[1]), state.encode())
        trial.equal(list(operation.control_inputs), [])
    for operation, reader in zip(dependent, readers):
        _operation(trial, operation, graph, reader, last)
        trial.equal(sorted(each.name for each in operation.control_inputs), [each.name for each in before])


def in_scopes(trial: Trial) -> None:
    """The operation has the given name, or its own, in the scopes around it, and a number if the name was used. It is
    in no collection, and on the device of its reader."""
    graph = tf.Graph()
    with building(trial, graph), tf.device(None):
        reader = v1.TextLineReader()

    def body(restore_state: Any) -> Any:
        with building(trial, graph), tf.device(None):
            before = {name: graph.get_collection(name) for name in graph.collections}
            with tf.name_scope("part"), tf.name_scope("inner"):
                made = [restore_state(reader, "a", name="own"), restore_state(reader, "b", "own")]
                made.append(restore_state(state="c", name=None, self=reader))
            made += [restore_state(reader, "d"), restore_state(reader, "e"), restore_state(reader, "f", name="own")]
            return made, before, {name: graph.get_collection(name) for name in graph.collections}

    trial.repeatable = False
    made, before, after = trial.call_inside(body)
    kind = "ReaderRestoreStateV2"
    names = ["part/inner/own", "part/inner/own_1", f"part/inner/{kind}", kind, f"{kind}_1", "own"]
    trial.equal([operation.name for operation in made], names)
    trial.equal((after, len(made[0].outputs)), (before, 0))
    for operation, state in zip(made, "abcdef"):
        _operation(trial, operation, graph, reader, None)
        trial.equal(tf.get_static_value(operation.inputs[1]), state.encode())
        trial.equal(operation.device, reader.reader_ref.device)


def states(trial: Trial) -> None:
    """A state can be bytes of any value, text, which is encoded, or an array of NumPy."""
    graph = tf.Graph()
    with building(trial, graph), tf.device(None):
        reader = v1.TextLineReader()
    given = [b"", b"a\0b", bytes(range(256)), "größe 漢", np.asarray(b"of array"), np.asarray("text", object)]
    expected = [b"", b"a\0b", bytes(range(256)), "größe 漢".encode(), b"of array", b"text"]
    trial.repeatable = False

    def body(restore_state: Any) -> Any:
        with building(trial, graph), tf.device(None):
            return [restore_state(reader, state) for state in given]

    for operation, state in zip(trial.call_inside(body), expected):
        _operation(trial, operation, graph, reader, None)
        trial.check(tf.get_static_value(operation.inputs[1]) == state, f"the state {state!r} became another one")

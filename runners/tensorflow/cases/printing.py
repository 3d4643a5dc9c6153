"""tf.print: its output is what it writes, to a file or to standard error, and must be exact."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.printed import check_written, kind_of, new_file, print_and_check

v1 = tf.compat.v1


def text(
    trial: Trial, values: Any, dtype: str, expected: str, options: Mapping[str, Any] | None = None, before: str = ""
) -> None:
    """A tensor, after a word if there is one, is written once as expected.

    Values can be given as text, for nan and inf.
    """
    file = new_file()
    given = [*([before] if before else []), trial.tensor(np.asarray(values), dtype)]
    print_and_check(trial, *given, output_stream=f"file://{file}", **(options or {}))
    check_written(trial, file, expected)


def large(trial: Trial, shape: Sequence[int], summarize: int) -> None:
    """For each axis of a large tensor the first and last elements are written, one line for each row."""
    file = new_file()
    host = np.arange(np.prod(shape), dtype="int32").reshape(shape)
    print_and_check(trial, trial.tensor(host), output_stream=f"file://{file}", summarize=summarize)

    def ends(items: Sequence[Any]) -> list[Any]:
        return [*items[:summarize], "...", *items[-summarize:]]

    rows = [row if isinstance(row, str) else "[" + " ".join(map(str, ends(row.tolist()))) + "]" for row in ends(host)]
    check_written(trial, file, "[" + "\n ".join(rows) + "]\n")


def all_elements(trial: Trial, size: int) -> None:
    """With ``summarize=-1`` each element of a long vector is written."""
    file = new_file()
    trial.repeatable = False  # Each call writes some hundred kilobytes.
    host = np.random.RandomState(1).permutation(size).astype("int64")
    print_and_check(trial, trial.tensor(host), output_stream=f"file://{file}", summarize=-1)
    check_written(trial, file, "[" + " ".join(map(str, host.tolist())) + "]\n")


def structures(trial: Trial) -> None:
    """Tensors in lists, tuples and dictionaries are written in their places, with the Python values around them."""
    file = new_file()
    numbers, single = trial.tensor(np.asarray([3, 1, 2], "int32")), trial.tensor(np.float32(1.5))
    nested = {"b": numbers, "a": [single, (7, "word")]}
    print_and_check(trial, "nested:", nested, [None, True, 2.5], output_stream=f"file://{file}")
    check_written(trial, file, "nested: {'a': [1.5, (7, 'word')], 'b': [3 1 2]} [None, True, 2.5]\n")


def composites(trial: Trial) -> None:
    """A sparse tensor is written with its indices, values and shape, a variable with its value."""
    file, other = new_file(), new_file()
    indices = trial.tensor(np.asarray([[0, 1], [2, 0]], "int64"))
    sparse = tf.SparseTensor(indices, trial.tensor(np.asarray([7.5, 8.0], "float32")), [3, 4])
    print_and_check(trial, sparse, output_stream=f"file://{file}")
    written = file.read_text()
    # A single sparse tensor is written in quotation marks, which is not documented.
    trial.equal(written.replace("'", ""), "SparseTensor(indices=[[0 1]\n [2 0]], values=[7.5 8], shape=[3 4])\n")
    print_and_check(trial, tf.Variable(trial.tensor(np.asarray([4, 9], "int64"))), output_stream=f"file://{other}")
    check_written(trial, other, "[4 9]\n")


def strings(trial: Trial) -> None:
    """Several string tensors are quoted; a Python word and a single string tensor are not. UTF-8 is kept."""
    file = new_file()
    words, single = trial.tensor(["a", "b c", ""], dtype="string"), trial.tensor("Gerät", dtype="string")
    print_and_check(trial, words, single, "plain", output_stream=f"file://{file}")
    check_written(trial, file, '["a" "b c" ""] "Gerät" plain\n')
    other = new_file()
    print_and_check(trial, single, output_stream=f"file://{other}", end="!")
    check_written(trial, other, "Gerät!")


def appends(trial: Trial, dtype: str) -> None:
    """Each call appends to the file, in order."""
    file = new_file()
    trial.repeatable = False
    for number in (5, 3, 8):
        print_and_check(
            trial, "step", trial.tensor(np.asarray(number), dtype), output_stream=f"file://{file}", sep="=", end=";"
        )
    check_written(trial, file, "step=5;step=3;step=8;")


def in_function(trial: Trial) -> None:
    """In a tf.function, traced once for any length, it writes the tensors' values at every call, in order."""
    file = new_file()
    trial.repeatable = False
    tensors = [trial.tensor(np.arange(size, dtype="int32") * 2 + 1) for size in (3, 0, 8)]
    kinds: list[Any] = []

    def body(tf_print: Callable[..., Any]) -> Any:
        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def report(values: Any) -> Any:
            kinds.append(kind_of(tf_print("given:", values, output_stream=f"file://{file}")))
            kinds.append(kind_of(tf_print("total:", tf.reduce_sum(values), output_stream=f"file://{file}")))
            return values + 1

        return [report(tensor) for tensor in tensors]

    outputs = trial.call_inside(body)
    check_written(
        trial,
        file,
        "given: [1 3 5]\ntotal: 9\ngiven: []\ntotal: 0\ngiven: [1 3 5 ... 11 13 15]\ntotal: 64\n",
    )
    trial.equal(kinds, ["PrintV2"] * 2)
    for output, tensor in zip(outputs, tensors):
        trial.close(output, trial.numpy(tensor) + 1, dtype="int32")


def in_branch(trial: Trial) -> None:
    """In a conditional of a tf.function only the selected branch writes; in a loop every iteration writes."""
    file = new_file()
    trial.repeatable = False
    kinds: list[Any] = []
    bounds = [trial.tensor(np.int32(bound)) for bound in (2, -3)]

    def body(tf_print: Callable[..., Any]) -> Any:
        @tf.function
        def count(bound: Any) -> Any:
            def said(*words: Any) -> Any:
                kinds.append(kind_of(tf_print(*words, output_stream=f"file://{file}")))
                return bound

            tf.cond(bound > 0, lambda: said("up to", bound), lambda: said("nothing for", bound))

            def turn(i: Any) -> Any:
                said("turn", i)
                return (i + 1,)

            return tf.while_loop(lambda i: i < bound, turn, (tf.constant(0),))[0]

        return [count(bound) for bound in bounds]

    trial.equal(trial.call_inside(body), [2, 0])
    trial.equal(kinds, ["PrintV2"] * 3)
    check_written(trial, file, "up to 2\nturn 0\nturn 1\nnothing for -3\n")


def in_graph(trial: Trial) -> None:
    """In a graph it returns an operation that writes only when a session runs it, or runs what depends on it."""
    file = new_file()
    graph = tf.Graph()

    def body(tf_print: Callable[..., Any]) -> Any:
        with graph.as_default(), tf.device(trial.device):
            x = v1.placeholder(tf.float32, [None], "x")
            operation = tf_print("x is", x, output_stream=f"file://{file}", name="shown")
            with tf.control_dependencies([operation]):
                return x, operation, tf.identity(x * 2.0), x * 3.0

    x, operation, behind, beside = trial.call_inside(body)
    trial.equal((type(operation) is tf.Operation, operation.type), (True, "PrintV2"))
    with v1.Session(graph=graph) as session:
        values = np.asarray([0.5, -1.0], "float32")
        trial.check(not file.exists(), "something was written while the graph was built")
        session.run(x, feed_dict={x: values})
        trial.check(not file.exists(), "something was written by a run that did not ask for it")
        trial.check(session.run(operation, feed_dict={x: values}) is None, "an operation has no value")
        check_written(trial, file, "x is [0.5 -1]\n")
        trial.equal(session.run(behind, feed_dict={x: values[:1]}), [1.0])
        check_written(trial, file, "x is [0.5 -1]\nx is [0.5]\n")
        trial.equal(beside.shape.as_list(), [None])


def standard_error(trial: Trial) -> None:
    """Without a stream it writes to the process's standard error."""
    trial.repeatable = False  # Repeated calls would write between the framework's own messages.
    values = trial.tensor(np.asarray([2, 7, 1, 8], "int64"))
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            print_and_check(trial, "digits", values)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        found = file.read().decode(errors="replace")
    trial.check("digits [2 7 1 8]\n" in found, f"got {found!r}")


def gradient(trial: Trial) -> None:
    """It does not change a gradient that flows past it: d sum(x^3) / dx = 3 x^2."""
    file = new_file()
    trial.repeatable = False
    host = np.asarray([0.5, -2.0, 3.0], "float64")
    values = trial.tensor(host)
    kinds: list[Any] = []

    def body(tf_print: Callable[..., Any]) -> Any:
        @tf.function
        def slope(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                square = x * x
                kinds.append(kind_of(tf_print(square, output_stream=f"file://{file}", summarize=-1)))
                total = tf.reduce_sum(square * x)
            return tape.gradient(total, x)

        return slope(values)

    trial.close(trial.call_inside(body), 3 * host**2, dtype="float64")
    check_written(trial, file, "[0.25 4 9]\n")
    trial.equal(kinds, ["PrintV2"] * 1)

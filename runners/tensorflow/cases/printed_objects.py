"""tf.print: Python objects around tensors, and texts that look like a pattern."""

from __future__ import annotations

import collections
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.printed import check_written, new_file

Pair = collections.namedtuple("Pair", ["first", "second"])


def _given(one: Any, row: Any) -> list[tuple[Any, str]]:
    """Arguments, and what is written for each."""
    # Other keys than sorted ones get each other's tensors in 2.11 and in 2.21.
    ordered = collections.OrderedDict([("a", row), ("m", 3), ("z", one)])
    return [
        (None, "None"),
        (Pair(one, [row, None]), "Pair(first=5, second=[[1 2 3], None])"),
        (ordered, "OrderedDict([('a', [1 2 3]), ('m', 3), ('z', 5)])"),
        ({"z": 1, "a": {2: row, 1: ()}}, "{'a': {1: (), 2: [1 2 3]}, 'z': 1}"),
        (np.asarray([4, 5]), "array([4, 5])"),
        (True, "True"),
        (0.1, "0.1"),
        (10**30, "1" + 30 * "0"),
        (b"a\xff", "b'a\\xff'"),
        ({7}, "{7}"),
        ([], "[]"),
        ([one, (row,), "it's"], '[5, ([1 2 3],), "it\'s"]'),
        ("{} {0} {a} {{}} %s %d %%", "{} {0} {a} {{}} %s %d %%"),
        ("line\nline\ttab \\ 'quoted' \"twice\" drei ä", "line\nline\ttab \\ 'quoted' \"twice\" drei ä"),
        ("", ""),
        (one, "5"),
    ]


def objects(trial: Trial, how: str) -> None:
    """Each object is written as pprint does, in one line of its own arguments, with the tensors inside in their places;
    texts are written as they are. Keys of dictionaries are sorted. So it is eagerly, in a tf.function and with each
    object alone: ``how``."""
    file = new_file()
    one, row = trial.tensor(np.asarray(5, "int32")), trial.tensor(np.asarray([1, 2, 3], "int64"))
    stream = f"file://{file}"
    trial.repeatable = False

    def body(tf_print: Callable[..., Any]) -> None:
        def written(one: Any, row: Any) -> None:
            given = [value for value, _ in _given(one, row)]
            if how == "alone":
                for value in given:
                    tf_print(value, output_stream=stream, end=";\n")
            else:
                tf_print(*given, output_stream=stream, sep="|", end=";\n")

        call = tf.function(written, autograph=False) if how == "function" else written
        call(one, row)

    trial.call_inside(body)
    texts = [text for _, text in _given(None, None)]
    check_written(trial, file, "".join(f"{text};\n" for text in texts) if how == "alone" else "|".join(texts) + ";\n")


def alone(trial: Trial) -> None:
    """A variable without axes, and a ragged tensor or an array that is the only argument, are written as their
    values."""
    file = new_file()
    stream = f"file://{file}"
    trial.repeatable = False
    variable = tf.Variable(trial.tensor(np.asarray(2.5, "float32")))
    with trial.on_host():
        rows = tf.ragged.constant([[1, 2], [], [3]])
    for value in (variable, rows, np.asarray([[1.5, 2.0]]), np.float64(0.5), [variable], {"a": rows}):
        trial.call(value, output_stream=stream)
    variable.assign(trial.tensor(np.asarray(-7.0, "float32")))
    trial.call(variable, variable, output_stream=stream)
    number = repr(np.float64(0.5))
    lines = ["2.5", "[[1, 2], [], [3]]", "array([[1.5, 2. ]])", number, "[2.5]", "{'a': [[1, 2], [], [3]]}", "-7 -7"]
    check_written(trial, file, "".join(f"{line}\n" for line in lines))


def ends(trial: Trial) -> None:
    """What is between the arguments and at the end may be empty, long, or look like a pattern; nothing to write leaves
    the end alone. A file that is there grows, one for each name."""
    files = [new_file(), new_file()]
    streams = [f"file://{file}" for file in files]
    one = trial.tensor(np.asarray(1.5, "float32"))
    trial.repeatable = False
    written = ""
    for sep, end in (("", ""), (" ", "\n"), ("%s", "%d"), ("\n", "\n\n"), (", ", "")):
        trial.call("a", one, 3, output_stream=streams[0], sep=sep, end=end)
        trial.call(one, output_stream=streams[0], sep=sep, end=end)
        trial.call(output_stream=streams[0], sep=sep, end=end)
        written += sep.join(("a", "1.5", "3")) + end + "1.5" + end + end
    trial.call("b", output_stream=streams[1])
    check_written(trial, files[0], written)
    check_written(trial, files[1], "b\n")

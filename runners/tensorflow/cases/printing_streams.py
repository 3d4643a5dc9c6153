"""tf.print: the streams and levels of logging that it writes to, and numbers and structures of all kinds."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.printed import check_written, kind_of, new_file, print_and_check

_LEVELS = {"info": "I", "warning": "W", "error": "E"}


def _written(trial: Trial, descriptor: int, *given: Any, **options: Any) -> str:
    """Return what a call writes to a stream of the process."""
    trial.repeatable = False  # Repeated calls would write between the framework's own messages.
    with tempfile.TemporaryFile() as file:
        kept = os.dup(descriptor)
        os.dup2(file.fileno(), descriptor)
        try:
            print_and_check(trial, *given, **options)
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)
        file.seek(0)
        return file.read().decode(errors="replace")


def streams(trial: Trial) -> None:
    """It writes to standard output or to standard error, and not to the other one."""
    values = trial.tensor(np.asarray([2, 7, 1, 8], "int64"))
    options = {"sep": "|", "end": "#", "summarize": 1}
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        found = _written(trial, descriptor, "digits", values, output_stream=stream, **options)
        trial.check("digits|[2 ... 8]#" in found, f"got {found!r}")
        found = _written(trial, 3 - descriptor, "digits", values, output_stream=stream, **options)
        trial.check("digits" not in found, f"it wrote to the other stream too: {found!r}")


def levels(trial: Trial) -> None:
    """With a level of logging the text is a line of the log, with the letter of the level."""
    values = trial.tensor(np.asarray([0.5, -2.0], "float32"))
    for level, letter in _LEVELS.items():
        if _LEVELS_SHOWN[letter] < int(os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0")):
            continue
        stream = getattr(tf.compat.v1.logging, level)
        found = _written(trial, 2, "shown at", level, values, output_stream=stream)
        line = next((line for line in found.splitlines() if "shown at" in line), "")
        trial.check(line.endswith(f"shown at {level} [0.5 -2]"), f"got {found!r}")
        trial.check(f" {letter} " in line or line.startswith(letter), f"the level {letter} is not in {line!r}")


_LEVELS_SHOWN = {"I": 0, "W": 1, "E": 2}


def numbers(trial: Trial) -> None:
    """The ends of the integers and of the floating numbers, complex numbers and zeros of both signs are written with
    their digits."""
    file = new_file()
    ends = [np.iinfo(dtype) for dtype in ("int64", "uint8", "int16")]
    given: list[Any] = [trial.tensor(np.asarray([each.min, each.max], each.dtype)) for each in ends]
    given += [trial.tensor(np.asarray(values, "float32")) for values in ([1e-30, -3e38], [0.0, -0.0], [0.1, 123456.0])]
    given.append(trial.tensor(np.asarray([-np.inf, 1.5], "float16"), "float16"))
    print_and_check(trial, *given, output_stream=f"file://{file}", sep="\n")
    integers = "[-9223372036854775808 9223372036854775807]\n[0 255]\n[-32768 32767]\n"
    check_written(trial, file, integers + "[1e-30 -3e+38]\n[0 -0]\n[0.1 123456]\n[-inf 1.5]\n")


def kinds(trial: Trial) -> None:
    """Variables and ragged tensors inside of structures, empty structures, numbers as keys and other objects are
    written in their places, each tensor with its own ends."""
    file = new_file()
    variable = tf.Variable(trial.tensor(np.arange(5, dtype="int32")))
    rows = tf.ragged.constant([[1, 2, 3], [], [4]])
    matrix = trial.tensor(np.arange(9, dtype="int64").reshape(3, 3))
    print_and_check(
        trial, {2: variable, 1: [rows, {}]}, (), matrix, 1 + 2j, output_stream=f"file://{file}", summarize=1
    )
    expected = "{1: [[[1, ..., 3], ..., [4]], {}], 2: [0 ... 4]} () [[0 ... 2]\n ...\n [6 ... 8]] (1+2j)\n"
    check_written(trial, file, expected)


_FLOATS = {"float64": 1e-15, "float32": 1.2e-7, "float16": 5e-4, "bfloat16": 4e-3}
_RANGES = {"float64": 300, "float32": 37, "float16": 4, "bfloat16": 37}


def digits(trial: Trial, dtype: str, in_function: bool = False) -> None:
    """The digits written are those of the tensor's own dtype: read again, they are the same numbers up to the last
    digit, very large and very small ones too."""
    file = new_file()
    if dtype in _FLOATS:
        exponents = np.linspace(-_RANGES[dtype], _RANGES[dtype], 40)
        host = trial.random(40, dtype="float64", seed=1, low=1.0, high=6.0) * 10.0**exponents
        host = np.concatenate([host, -host[::3], np.asarray([1 / 3, 0.1, 2.0**11 + 1, -1e-4, 1 + 2.0**-10])])
    else:
        info = np.iinfo(dtype)
        near = [2**bit + step for bit in (24, 31, 32, 53, 62) for step in (-1, 0, 1) if 2**bit < info.max]
        host = np.asarray([info.min, info.max, info.max - 1, 7, *near], dtype)
    tensor = trial.tensor(host, dtype)
    options = {"output_stream": f"file://{file}", "summarize": -1}
    made: list[Any] = []

    def body(function: Any) -> Any:
        def call(x: Any) -> None:
            made.append(kind_of(function(x, x[1], [x], **options)))

        (tf.function(call, autograph=False) if in_function else call)(tensor)

    trial.repeatable = False
    trial.call_inside(body)
    trial.equal(made, ["PrintV2"] if in_function else [type(None)])
    found = np.asarray(file.read_text().replace("[", " ").replace("]", " ").split())
    if dtype not in _FLOATS:
        trial.equal(found.tolist(), [str(number) for number in [*host.tolist(), host[1], *host.tolist()]])
        return
    held = np.asarray(trial.numpy(tensor)).astype("float64")
    expected = np.concatenate([held, held[1:2], held])
    trial.close(found.astype("float64"), expected, rtol=_FLOATS[dtype], atol=0.0)

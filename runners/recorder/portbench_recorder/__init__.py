"""Records which functions of PyTorch, JAX or TensorFlow a program calls, and with what: shapes, dtypes, ranges.

    import portbench_recorder
    portbench_recorder.start("mymodel")     # before the program imports its framework
    ...
    portbench_recorder.stop()               # or at the end of the process

``portbench record -o mymodel -- python train.py`` does this in every process of a program that it starts, and ``pytest
--portbench-record=mymodel`` in pytest. Needs Python 3.8 and nothing else. Whatever goes wrong in here is counted and
named in the recording; it never reaches the program.
"""

from __future__ import annotations

import os
from pathlib import Path

from portbench_recorder import hooks, recording

FOLDER_VARIABLE = "PORTBENCH_RECORD"
"""The folder of the recording, for the processes of a program that ``portbench record`` starts."""

STEPS_VARIABLE = "PORTBENCH_RECORD_STEPS"
VALUES_VARIABLE = "PORTBENCH_RECORD_VALUES"

_active: recording.Recording | None = None


def start(folder: str | Path, steps: int | None = None, values: bool = False) -> None:
    """Records all calls from now on into ``folder``, which is created.

    Ends after ``steps`` steps of an optimizer, or calls of ``step``. With ``values``, arrays of up to 64 elements are
    kept literally; otherwise no value of the program is kept, only facts such as the range. Does nothing if a
    recording runs already. Raises OSError where the folder cannot be created.
    """
    global _active
    if _active is not None:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    _active = recording.Recording(Path(folder).absolute(), steps, values)
    hooks.install(_active)


def is_active() -> bool:
    """Whether a recording runs in this process."""
    return _active is not None


def start_from_environment() -> None:
    """As ``start``, with what ``portbench record`` left in the environment. Does nothing without it."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        steps = os.environ.get(STEPS_VARIABLE, "")
        start(folder, int(steps) if steps.isdigit() else None, bool(os.environ.get(VALUES_VARIABLE)))


def step() -> None:
    """Tells the recording that a step of the program ended, for programs without an optimizer of the framework."""
    if _active is not None:
        _active.step()


def stop() -> None:
    """Ends the recording and writes what it has."""
    global _active
    if _active is not None:
        _active.end()
        _active = None

"""What cases of tf.print share: files that it writes to, and checks of what it wrote and returned.

The files stay in the run's temporary folder: repeated calls for the steady time write to them too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from runners.core.testing.trial import Trial


def new_file() -> Path:
    """The path of a file that is not there yet, in a folder of its own."""
    return Path(tempfile.mkdtemp(prefix="print-")) / "printed.txt"


def check_written(trial: Trial, file: Path, expected: str) -> None:
    """Check that a file has a text, and nothing else."""
    # Read as bytes, so that line ends are not translated.
    found = file.read_bytes().decode() if file.exists() else None
    trial.check(found == expected, f"expected {expected!r}, got {found!r}")


def kind_of(operation: Any) -> Any:
    """The type of an operation of a graph by its name; of anything else its class.

    Call it at once: an operation lives no longer than its graph.
    """
    return operation.type if isinstance(operation, tf.Operation) else type(operation)


def print_and_check(trial: Trial, *given: Any, **options: Any) -> None:
    """Print eagerly, and check that the call returns None."""
    output = trial.call(*given, **options)
    trial.check(output is None, f"an eager call returned {output!r}")

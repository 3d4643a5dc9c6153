"""Runs a program under the recorder of ``runners/recorder`` and makes the manifests of what it called."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType

from portbench.errors import BadInput, NothingRan, PortbenchError, RunFailed
from portbench.formats.documents import Document, read_document
from portbench.record.folder import prepare
from portbench.util.processes import signals_handled_by
from portbench.util.repository import Checkout
from portbench.util.strict_json import shown
from portbench.util.text import escape_control

_START = "Write the program as you would start it, after --: portbench record -o mymodel -- python train.py"
_WITHOUT = "Is it a Python program of PyTorch, JAX or TensorFlow? With -S, -I or -E it starts without the recorder."


@dataclass(frozen=True)
class Recorded:
    """What a program called: its exit status as a shell gives it, and the manifests, one of each framework."""

    status: int
    manifests: tuple[Document, ...]


def default_folder(command: Sequence[str]) -> Path:
    """``train-recording`` for ``python train.py``, in the working folder."""
    script, module = _script(command)
    name = Path(script).stem or module.rpartition(".")[2] or Path(command[0]).name
    return Path(f"{name}-recording")


def _title(command: Sequence[str]) -> str:
    """``python train.py``: without folders, and without arguments, which may hold what is nobody's business."""
    script, module = _script(command)
    words = [script and Path(script).name, module and f"-m {module}"]
    return " ".join(filter(None, [Path(command[0]).name, *words]))


def _script(command: Sequence[str]) -> tuple[str, str]:
    """The first script or module that a command names, whichever comes first."""
    for before, word in pairwise(command):
        if before == "-m":
            return "", word
        if word.endswith(".py"):
            return word, ""
    return "", ""


def record(
    command: Sequence[str], folder: Path, checkout: Checkout, steps: int | None = None, values: bool = False
) -> Recorded:
    """Runs ``command`` and records all its Pythons into ``folder``, in place of an earlier recording there.

    Raises BadInput where the folder holds something else or the command cannot be started; NothingRan where it called
    no framework, or RunFailed if it also failed, with its exit status.
    """
    prepare(folder)
    status = _run(command, folder, checkout, steps, values)
    written = subprocess.run(
        [sys.executable, "-m", "portbench_recorder", str(folder), _title(command)],
        env=os.environ | {"PYTHONPATH": str(checkout.runners / "recorder")},
        capture_output=True,
        text=True,
    )
    if written.returncode:
        raise _not_recorded(folder, written.stderr, status)
    paths = [Path(line) for line in written.stdout.splitlines()]
    return Recorded(status, tuple(read_document(path, "manifest") for path in paths))


def _not_recorded(folder: Path, said: str, status: int) -> PortbenchError:
    lines = said.strip().splitlines() or ["no manifest could be made"]
    why = escape_control(lines[-1].removeprefix("error: "))
    if status:
        remedy = "Make it work without portbench first: what is above is its own output."
        return RunFailed(f"the program ended with exit status {status}; {why}", remedy, status)
    return NothingRan(why, _WITHOUT if "no call of a framework" in why else "Record the program again.")


def _run(command: Sequence[str], folder: Path, checkout: Checkout, steps: int | None, values: bool) -> int:
    """Runs the program with its own streams; a signal ends it and is waited for, so that it writes what it recorded."""
    recorder = checkout.runners / "recorder"
    path = [str(recorder / "startup"), str(recorder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path),
        "PORTBENCH_RECORD": str(folder.absolute()),
        "PORTBENCH_RECORD_STEPS": str(steps or ""),
        "PORTBENCH_RECORD_VALUES": "1" if values else "",
    }
    try:
        process = subprocess.Popen(command, env=environment)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{shown(Path(command[0]))} cannot be started: {why}", _START) from error

    def pass_on(number: int, frame: FrameType | None) -> None:
        # A terminal sends Ctrl-C to the program, too.
        if number != signal.SIGINT:
            process.send_signal(number)

    with signals_handled_by(pass_on):
        status = process.wait()
    return status if status >= 0 else 128 - status

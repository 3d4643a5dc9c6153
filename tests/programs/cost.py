"""What recording costs whole programs of this folder: user CPU time and peak memory, without and with it.

    python -m tests.programs.cost --python jax=ENV/bin/python [--python torch=...] [PROGRAM ...]

Prints a Markdown table. Most of a short program's cost is a process's own: importing the recorder, describing each new
signature, and keeping whole programs; tests/programs/torch_cost.py measures single steps.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.paths import ROOT
from tests.programs.table import PROGRAMS, names_of

_RECORDER = ROOT / "runners" / "recorder"


class Used(NamedTuple):
    """What a process used: user CPU seconds, and the peak of its resident memory in MiB."""

    seconds: float
    mebibytes: float


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--python", action="append", default=[], metavar="FRAMEWORK=PYTHON")
    given = parser.parse_intermixed_args(arguments)
    pythons = dict(each.split("=", 1) for each in given.python)
    print("| program | CPU | with the recorder | ratio | memory | with the recorder | more |\n|" + " --- |" * 7)
    for name in given.programs or names_of(pythons):
        command = [pythons[name.partition("_")[0]], str(PROGRAMS / f"{name}.py")]
        plain = used(command, {})
        with tempfile.TemporaryDirectory() as folder:
            paths = os.pathsep.join(map(str, (_RECORDER / "startup", _RECORDER)))
            recorded = used(command, {"PYTHONPATH": paths, "PORTBENCH_RECORD": folder})
        cells = [
            f"{plain.seconds:.1f} s",
            f"{recorded.seconds:.1f} s",
            f"{recorded.seconds / plain.seconds:.2f}",
            f"{plain.mebibytes:.0f} MiB",
            f"{recorded.mebibytes:.0f} MiB",
            f"{recorded.mebibytes - plain.mebibytes:.0f} MiB",
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def used(command: Sequence[str], variables: Mapping[str, str]) -> Used:
    """Runs a program with one thread of OpenMP. Ends this program if it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1", **variables}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[-1]}: ended with {process.returncode}")
    return Used(usage.ru_utime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main(sys.argv[1:])

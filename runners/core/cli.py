"""``python -m runners``: parses arguments, runs a manifest or lists functions, and reports an error once."""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import signal
import sys
from pathlib import Path
from typing import NoReturn, Sequence

from runners.core import manifest
from runners.core.enumeration import library, listing
from runners.core.errors import BadInput, Interrupted, RunnerError
from runners.core.process import supervisor
from runners.core.process.progress import Progress
from runners.core.process.settings import Settings
from runners.core.testing import names
from runners.core.testing.mutants import MUTANTS

FRAMEWORKS = ("torch", "tensorflow", "jax", "fake")
DEVICES = ("cpu", "gpu", "tpu", "xla")
PREDICTED = ("tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x", "gpu-predicted", "rocm-predicted")
"""Absent devices: how a test would end is predicted (see runners.core.prediction)."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a manifest on one device, or lists functions. Exits with status 0 if the file was written, else
    with that of the error."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.out is None and not options.list:
        parser.error("the following arguments are required: --out")
    progress = Progress(options.progress)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        if options.enumerate:
            _enumerate(options, progress)
        elif options.list:
            progress.listed(manifest.read(options.manifest, options.framework, options.function, options.test))
        else:
            settings = _settings(options)
            plan = manifest.read(options.manifest, settings.framework, options.function, options.test)
            supervisor.run(settings, plan, progress)
    except RunnerError as error:
        progress.error(error)
        sys.exit(error.exit_status)
    except Interrupted:
        progress.interrupted()
        sys.exit(Interrupted.exit_status)
    except BrokenPipeError:
        # The reader of the progress has ended.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(Interrupted.exit_status)
    sys.exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runners",
        description="Run every test of a manifest on one device, time it, and write one run file.",
    )
    add = parser.add_argument
    add("--framework", choices=FRAMEWORKS, required=True)
    add("--device", choices=(*DEVICES, *PREDICTED), required=True)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--manifest", type=Path, metavar="FILE", help="the functions and their tests")
    task.add_argument("--enumerate", action="store_true", help="list the framework's public functions and run nothing")
    add("--list", action="store_true", help="list the selected tests of the manifest and run nothing")
    add("--out", type=Path, metavar="DIR", help="folder for the run file and, until then, its journal")
    add("--version", help="the framework version that is expected")
    add("--as-study", action="store_true", help="with --enumerate: by the paper's rule, as far as it is known")
    add("--methods", action="store_true", help="with --enumerate: also methods of public classes")
    add("--function", action="append", default=[], metavar="GLOB", help="only functions that match; repeatable")
    add("--test", action="append", default=[], metavar="GLOB", help="only tests of this id, or that match; repeatable")
    add("--runs", type=int, default=3, metavar="N", help="passes over the manifest, in fresh processes (default: 3)")
    add(
        "--protocol",
        choices=("cold", "steady", "both"),
        default="both",
        help="what is timed: first call, steady state or both (default: both)",
    )
    add("--timeout", type=float, default=900.0, metavar="S", help="limit of one test in seconds (default: 900)")
    add(
        "--steady-budget",
        type=float,
        default=0.1,
        metavar="S",
        help="seconds for the steady state of a call (default: 0.1)",
    )
    add(
        "--memory", metavar="SIZE", help="limit of a test with everything it starts: bytes, or 500M, 2G (default: none)"
    )
    add(
        "--sync",
        choices=("complete", "as-published"),
        default="complete",
        help="what ends a timed region: all work is done (default), or the call that the paper used",
    )
    add("--shuffle", type=int, metavar="SEED", help="run the tests in another order, the same for the same seed")
    add(
        "--mutant",
        choices=MUTANTS,
        help="mutate each function in this way, to see which tests notice (portbench mutation-test)",
    )
    add("--resume", action="store_true", help="continue the unfinished run in DIR, if it is the same run")
    add("--machine", default=os.environ.get("PORTBENCH_MACHINE") or platform.node() or "unnamed", metavar="NAME")
    add("--progress", choices=("text", "json", "none"), default="text")
    return parser


def _enumerate(options: argparse.Namespace, progress: Progress) -> None:
    settings = listing.Settings(
        options.framework, options.device, options.version, options.out, options.as_study, options.methods
    )
    variables = names.framework(options.framework).variables(options.device)
    path, functions = listing.write_list(settings, library.of_framework(options.framework), variables)
    progress.end(path, {"functions": functions})


def _settings(options: argparse.Namespace) -> Settings:
    if options.runs < 1:
        raise BadInput(f"--runs {options.runs}: expected at least 1")
    for name in ("timeout", "steady_budget"):
        value = getattr(options, name)
        if not (math.isfinite(value) and value > 0):
            raise BadInput(f"--{name.replace('_', '-')} {value:g}: expected a positive number of seconds")
    if options.device in PREDICTED and options.mutant:
        raise BadInput(
            f"--mutant {options.mutant}: {options.device} computes no values, so no test can notice a mutant"
        )
    return Settings(
        framework=options.framework,
        device=options.device,
        version=options.version,
        out=options.out,
        machine=options.machine,
        protocol=options.protocol,
        runs=options.runs,
        timeout_s=options.timeout,
        steady_budget_s=options.steady_budget,
        selection=(*options.function, *(manifest.TEST + test for test in options.test)),
        resume=options.resume,
        shuffle=options.shuffle,
        mutant=options.mutant,
        sync=options.sync,
        memory_bytes=_bytes(options.memory),
    )


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,15})([KMGT]?)", text)
    if not found:
        raise BadInput(f"--memory {text}: expected a number of bytes, or a number with K, M, G or T, such as 2G")
    return int(found[1]) << 10 * " KMGT".index(found[2] or " ")


def _interrupt(number: int, frame: object) -> None:
    # A second signal must not stop the cleanup.
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_IGN)
    raise Interrupted

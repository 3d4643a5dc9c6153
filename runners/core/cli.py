"""``python -m runners``: parses arguments, runs a manifest or lists functions, and reports an error once."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import platform
import re
import signal
import sys
from pathlib import Path
from typing import NoReturn, Sequence

from runners.core import documents, environment, manifest
from runners.core.collection import collecting
from runners.core.enumeration import listing
from runners.core.errors import BadInput, DeviceUnavailable, Interrupted, RunnerError
from runners.core.mutants.names import MUTANTS
from runners.core.prediction import gpus, tpus
from runners.core.process import processes, sandbox, supervisor
from runners.core.process.progress import Progress
from runners.core.process.settings import Settings
from runners.core.public import library, names
from runners.core.selection import MOST_SHARDS, Selection

FRAMEWORKS = ("torch", "tensorflow", "jax", "fake")
DEVICES = ("cpu", "gpu", "tpu", "xla", "pjrt", "privateuse1", "pluggable")
PREDICTED = (*tpus.MODELS, *gpus.MODELS, "gpu-predicted", "rocm-predicted", "mps-predicted")
"""Absent devices: how a test would end is predicted (see runners.core.prediction)."""

MOST_RUNS = 10_000
LONGEST_TIMEOUT_S = 24 * 86_400.0
"""The system's clock of waits ends after 2^31 milliseconds."""
LONGEST_BUDGET_S = 86_400.0
LONGEST_NAME = 200


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a manifest on one device, or lists functions. Exits with status 0 if the file was written, else
    with that of the error."""
    parser = _parser()
    options = parser.parse_args(arguments)
    # An image names its defaults, so that other arguments can be added to them.
    runs_nothing = options.enumerate or options.collect is not None
    if options.manifest is None and not runs_nothing and "PORTBENCH_MANIFEST" in os.environ:
        options.manifest = Path(os.environ["PORTBENCH_MANIFEST"])
    if options.out is None and "PORTBENCH_OUT" in os.environ:
        options.out = Path(os.environ["PORTBENCH_OUT"])
    if options.manifest is None and not runs_nothing:
        parser.error("one of the arguments --manifest --enumerate --collect is required")
    if options.out is None and not options.list:
        parser.error("the following arguments are required: --out")
    progress = Progress(options.progress)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        if options.enumerate:
            _enumerate(options, progress)
        elif options.collect is not None:
            _collect(options, progress)
        elif options.list:
            selected = manifest.read(options.manifest, options.framework, _selection(options), options.protocol)
            progress.listed(selected)
        else:
            settings = _settings(options)
            # Whoever reads the progress may be killed while a test hangs, and then nothing is written for long.
            processes.signal_when_unread(1, signal.SIGTERM)
            plan = manifest.read(options.manifest, settings.framework, _selection(options), settings.protocol)
            warning = environment.outdated()
            if warning:
                progress.warn(warning)
            supervisor.run(settings, plan, progress)
    except RunnerError as error:
        progress.error(error)
        sys.exit(error.exit_status)
    except Interrupted:
        with contextlib.suppress(BrokenPipeError):
            progress.interrupted()
        _stop_writing_if_unread()
        sys.exit(Interrupted.exit_status)
    except BrokenPipeError:
        # The reader of the progress has ended.
        _stop_writing_if_unread()
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
    _add_tasks(parser)
    add("--list", action="store_true", help="list the selected tests of the manifest and run nothing")
    add("--out", type=Path, metavar="DIR", help="folder for the run file and, until then, its journal")
    add("--version", help="the framework version that is expected")
    add(
        "--samples",
        type=int,
        default=3,
        metavar="N",
        help="with --collect: the most of an entry in a dtype (default: 3)",
    )
    add("--as-study", action="store_true", help="with --enumerate: by the paper's rule, as far as it is known")
    add("--methods", action="store_true", help="with --enumerate: also methods of public classes")
    add("--function", action="append", default=[], metavar="GLOB", help="only functions that match; repeatable")
    add("--exclude", action="append", default=[], metavar="GLOB", help="no functions that match; repeatable")
    add("--test", action="append", default=[], metavar="GLOB", help="only tests of this id, or that match; repeatable")
    add("--shard", metavar="K/N", help="only the K-th of N parts of these tests")
    _add_protocol(parser)
    add("--shuffle", type=int, metavar="SEED", help="run the tests in another order, the same for the same seed")
    add(
        "--mutant",
        action="append",
        default=[],
        choices=MUTANTS,
        help="mutate each function in this way, to see which tests notice (portbench mutation-test); repeatable. "
        "Writes a run file of the real functions, and one for each mutant",
    )
    add(
        "--own-mutants",
        type=Path,
        metavar="FILE",
        help="a Python file of mutants in place of --mutant: a run file for each, until a test has noticed it",
    )
    add("--time-budget", type=float, metavar="S", help="with --mutant: skip the tests that do not fit in S seconds")
    add(
        "--sandbox",
        choices=sandbox.MODES,
        default="auto",
        help="confine the tests: of manifests from elsewhere, as far as the system can (auto, the default), of none, "
        "or of all, and do not run if the system cannot (required)",
    )
    add("--private-names", action="store_true", help="allow names that the framework does not call public")
    add("--resume", action="store_true", help="continue the unfinished run in DIR, if it is the same run")
    add("--machine", default=os.environ.get("PORTBENCH_MACHINE") or platform.node() or "unnamed", metavar="NAME")
    add("--progress", choices=("text", "json", "none"), default="text")
    return parser


def _add_protocol(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--runs", type=int, default=3, metavar="N", help="passes over the timed tests, in fresh processes (default: 3)")
    add(
        "--protocol",
        choices=("cold", "steady", "both", "scaling"),
        default="both",
        help="what is timed: first call, steady state, both (default), or the steady state of tests with sizes",
    )
    add("--timeout", type=float, default=900.0, metavar="S", help="limit of one test in seconds (default: 900)")
    add(
        "--steady-budget", type=float, default=0.1, metavar="S", help="seconds for a call's steady state (default: 0.1)"
    )
    add("--memory", metavar="SIZE", help="limit of a test with all that it starts: bytes, 500M, 2G (default: none)")
    add(
        "--lanes",
        type=int,
        metavar="N",
        help="at most so many tests that are not timed at the same time (default: as cores and memory allow)",
    )
    add(
        "--sync",
        choices=("complete", "as-published"),
        default="complete",
        help="what ends a timed region: all work is done (default), or the call that the paper used",
    )
    add(
        "--cold",
        choices=("test", "process"),
        default="test",
        help="what a first call is the first of: its test (default), or its process: each test has one of its own",
    )


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--manifest", type=Path, metavar="FILE", help="the functions and their tests")
    task.add_argument("--enumerate", action="store_true", help="list the framework's public functions and run nothing")
    task.add_argument(
        "--collect",
        metavar="SOURCE,...",
        help="make a manifest of the samples that installed packages hold, and run nothing else",
    )


def _enumerate(options: argparse.Namespace, progress: Progress) -> None:
    settings = listing.Settings(
        options.framework, options.device, options.version, options.out, options.as_study, options.methods
    )
    variables = names.framework(options.framework).variables(options.device)
    path, functions = listing.write_list(settings, library.of_framework(options.framework), variables)
    progress.end(path, {"functions": functions})


def _collect(options: argparse.Namespace, progress: Progress) -> None:
    if not 1 <= options.samples <= collecting.MOST_SAMPLES:
        raise BadInput(f"--samples {_short(options.samples)}: expected 1 to {collecting.MOST_SAMPLES}")
    names_of_sources = list(dict.fromkeys(filter(None, options.collect.split(","))))
    if not names_of_sources:
        raise BadInput("--collect names no source", "Name one, such as opinfo.")
    settings = collecting.Settings(
        options.framework, options.version, options.out, names_of_sources, options.samples, options.function
    )
    variables = names.framework(options.framework).variables(options.device)
    path, tests = collecting.write_manifest(
        settings, library.of_framework(options.framework), variables, progress.stepped
    )
    progress.end(path, {"tests": tests})


def _settings(options: argparse.Namespace) -> Settings:
    if not 1 <= options.runs <= MOST_RUNS:
        raise BadInput(f"--runs {_short(options.runs)}: expected 1 to {MOST_RUNS}")
    for name, most in (("timeout", LONGEST_TIMEOUT_S), ("steady_budget", LONGEST_BUDGET_S)):
        value = getattr(options, name)
        if not (math.isfinite(value) and 0 < value <= most):
            raise BadInput(
                f"--{name.replace('_', '-')} {value:g}: expected a positive number of seconds, at most {most:g}"
            )
    if options.shuffle is not None and not -(2**63) <= options.shuffle < 2**63:
        raise BadInput(f"--shuffle {_short(options.shuffle)}: expected a whole number of at most 64 bits")
    if options.lanes is not None and options.lanes < 1:
        raise BadInput(f"--lanes {options.lanes}: expected 1 or more")
    machine = documents.escaped(options.machine)
    if not 1 <= len(machine) <= LONGEST_NAME:
        raise BadInput(
            f"--machine has {len(machine)} characters, expected 1 to {LONGEST_NAME}",
            "Without the option, PORTBENCH_MACHINE is the name of the machine, or else its host name.",
        )
    _check_predicted(options.framework, options.device)
    if options.time_budget is not None and not (math.isfinite(options.time_budget) and options.time_budget > 0):
        raise BadInput(f"--time-budget {options.time_budget:g}: expected a positive number of seconds")
    _check_mutants(options)
    return Settings(
        framework=options.framework,
        device=options.device,
        version=options.version,
        out=options.out,
        machine=machine,
        protocol=options.protocol,
        runs=options.runs,
        timeout_s=options.timeout,
        steady_budget_s=options.steady_budget,
        selection=_selection(options).recorded(),
        resume=options.resume,
        shuffle=options.shuffle,
        mutants=tuple(dict.fromkeys(options.mutant)),
        own_mutants=options.own_mutants,
        time_budget_s=options.time_budget,
        sync=options.sync,
        cold=options.cold,
        memory_bytes=_bytes(options.memory),
        lanes=options.lanes,
        sandbox=options.sandbox,
        private_names=options.private_names,
    )


def _check_mutants(options: argparse.Namespace) -> None:
    if not (options.mutant or options.own_mutants):
        return
    given = f"--mutant {options.mutant[0]}" if options.mutant else f"--own-mutants {options.own_mutants}"
    if options.mutant and options.own_mutants:
        raise BadInput(f"{given}: expected --mutant or --own-mutants, found both")
    if options.runs != 1 or options.protocol != "cold" or options.resume:
        raise BadInput(f"{given}: expected --runs 1 --protocol cold, and no --resume")
    if options.device in PREDICTED:
        raise BadInput(f"{given}: {options.device} computes no values, so no test can notice a mutant")


def _check_predicted(framework: str, device: str) -> None:
    """Raises DeviceUnavailable if the packages here cannot predict this device: an image may serve other devices."""
    known = names.framework(framework).PREDICTED
    if device in PREDICTED and device not in known:
        raise DeviceUnavailable(
            f"{framework} in this environment cannot predict {device}, only {', '.join(known)}",
            f"Use a version that can: 'portbench targets' lists them, and {framework.upper()}_VERSION names one for "
            "docker compose.",
        )


def _selection(options: argparse.Namespace) -> Selection:
    return Selection(options.function, options.exclude, options.test, _shard(options.shard))


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,4})/([1-9][0-9]{0,4})", text)
    if not found or not int(found[1]) <= int(found[2]) <= MOST_SHARDS:
        raise BadInput(f"--shard {_short(text)}: expected K/N with 1 <= K <= N <= {MOST_SHARDS}, such as 1/4")
    return int(found[1]), int(found[2])


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,15})([KMGT]?)", text)
    if not found:
        raise BadInput(f"--memory {_short(text)}: expected a number of bytes, or one with K, M, G or T, such as 2G")
    count = int(found[1]) << 10 * " KMGT".index(found[2] or " ")
    if count >= 2**63:
        raise BadInput(f"--memory {text}: expected fewer than {2**33}G")
    return count


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _stop_writing_if_unread() -> None:
    """The interpreter writes what is left at its end, which must not fail then."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _interrupt(number: int, frame: object) -> None:
    # A second signal must not stop the cleanup.
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_IGN)
    raise Interrupted

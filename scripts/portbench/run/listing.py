"""Which tests a plan would run: the runner lists them as it selects them in a run. Needs no environment of a target."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from portbench.errors import RunFailed
from portbench.run.events import Failed, Listed, parse_event
from portbench.run.model import RunnerArguments, RunPlan
from portbench.targets.catalog import Target
from portbench.util.processes import run_captured, tail
from portbench.util.text import escape_control, pluralize


@dataclass(frozen=True)
class Selected:
    """What would run on a target."""

    target: str
    runs: int
    listed: Listed

    @property
    def tests(self) -> int:
        """The number of tests."""
        return sum(map(len, self.listed.tests.values()))

    def results(self, full_id: str) -> int:
        """The number of results of a test, ``function::test``: one if it is not timed, else one in each run."""
        return 1 if full_id in self.listed.untimed else self.runs


def list_tests(plan: RunPlan) -> list[Selected]:
    """The tests that the plan selects for each target. Raises RunFailed where the runner refuses the manifest."""
    listed = {
        framework: _listed(plan, next(target for target in plan.targets if target.framework == framework), arguments)
        for framework, arguments in plan.arguments.items()
    }
    return [
        Selected(target.name, plan.arguments[target.framework].options.runs, listed[target.framework])
        for target in plan.targets
    ]


def _listed(plan: RunPlan, target: Target, arguments: RunnerArguments) -> Listed:
    options = arguments.options
    argv = [sys.executable, "-m", "runners", "--framework", target.framework, "--device", target.device, "--list"]
    argv += ["--manifest", str(arguments.manifest), "--protocol", options.protocol, "--progress", "json"]
    argv += [word for name in options.functions for word in ("--function", name)]
    argv += [word for name in options.excluded for word in ("--exclude", name)]
    argv += [word for name in options.tests for word in ("--test", name)]
    argv += ["--shard", options.shard] if options.shard else []
    done = run_captured(argv, cwd=plan.checkout.root)
    for event in map(parse_event, done.stdout.splitlines()):
        if isinstance(event, Listed):
            return event
        if isinstance(event, Failed):
            raise RunFailed(event.message, event.remedy, done.returncode)
    raise RunFailed(f"the runner ended with exit status {done.returncode}\n{tail(done.stderr)}")


def print_selected(selected: list[Selected], each_test: bool, console: Console) -> None:
    """Prints a line for each target and below it the functions; with ``each_test`` the tests, as --test takes them."""
    for one in selected:
        found = one.listed
        size = (
            f"{pluralize(len(found.tests), 'function')}, {pluralize(one.tests, 'test')}, {pluralize(one.runs, 'run')}"
        )
        once = f" ({len(found.untimed):,} untimed tests run once)" if found.untimed and one.runs > 1 else ""
        _line(console, f"{one.target}: {size} of manifest {found.manifest}{once}")
        for function, tests in found.tests.items():
            lines = [f"{function}::{test}" for test in tests]
            for line in lines if each_test else [f"{function}  {pluralize(len(tests), 'test')}"]:
                _line(console, f"  {line}")
        for function in found.uncurated:
            _line(console, f"  {function}  no tests yet")


def as_data(selected: list[Selected]) -> list[dict[str, Any]]:
    """The selection as plain data."""
    return [
        {
            "target": one.target,
            "manifest": one.listed.manifest,
            "runs": one.runs,
            "functions": len(one.listed.tests),
            "tests": one.tests,
            "untimed": len(one.listed.untimed),
            "selected": {function: list(tests) for function, tests in one.listed.tests.items()},
            "without_tests": list(one.listed.uncurated),
        }
        for one in selected
    ]


def _line(console: Console, text: str) -> None:
    console.print(Text(escape_control(text)), soft_wrap=True)

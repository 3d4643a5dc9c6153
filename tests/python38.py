"""Runs the runner's unit tests under Python 3.8, the oldest that a runner must work with.

    python -m tests.python38 -m pytest -m "not slow"

Left out is tests/unit/runner/process/test_faults.py: full disks, kills at random moments and clocks depend on the
kernel, not on the version of Python, and test_journal.py has a few of them.

The environment is that of the fake framework, which is pinned to Python 3.8 and holds pytest and pytest-xdist for this.
"""

from __future__ import annotations

import subprocess
import sys

from portbench.errors import PortbenchError
from portbench.targets.catalog import find_targets
from portbench.targets.environments import create_environment
from portbench.util.repository import find_checkout
from tests.paths import ROOT

FAULTS = "tests/unit/runner/process/test_faults.py"


def main() -> int:
    (target,) = find_targets(["fake-cpu"], find_checkout())
    try:
        python = create_environment(target, print)
    except PortbenchError as error:
        print(f"error: {error}\n{error.remedy}", file=sys.stderr)
        return error.exit_status
    arguments = [*(sys.argv[1:] or ["-m", "pytest"]), "-p", "no:cacheprovider", "--ignore", FAULTS, "tests/unit/runner"]
    return subprocess.run([str(python), *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())

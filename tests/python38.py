"""Runs the runner's unit tests under Python 3.8, the oldest that a runner must work with.

    python -m tests.python38 -m pytest -m "not slow"

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


def main() -> int:
    (target,) = find_targets(["fake-cpu"], find_checkout())
    try:
        python = create_environment(target, print)
    except PortbenchError as error:
        print(f"error: {error}\n{error.remedy}", file=sys.stderr)
        return error.exit_status
    arguments = sys.argv[1:] or ["-m", "pytest"]
    return subprocess.run([str(python), *arguments, "-p", "no:cacheprovider", "tests/unit/runner"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())

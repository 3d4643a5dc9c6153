"""``python -m tests.unit.runner.process.two_lanes``: the runner on a machine with two cores and memory for two lanes,
which opens one for each test that is not timed."""

from __future__ import annotations

import os

from runners.core import cli, environment
from runners.core.process import lanes

if __name__ == "__main__":
    os.sched_getaffinity = lambda process: {0, 1}  # type: ignore[assignment]
    environment.free_memory_bytes = lambda: 1 << 40
    lanes.TESTS_OF_ONE = 1
    cli.main()

"""Runs checks of an adapter, each in a fork of one process that has imported the framework: like the runner's workers.

The programs that define checks call ``run_each``; the fixture ``check_device`` reads what it prints.
"""

from __future__ import annotations

import json
import os
import tempfile
import traceback
from collections.abc import Callable


def run_each(checks: dict[str, Callable[[], None]]) -> None:
    """Prints a JSON object: of each check its traceback, empty where it passed. A check that dies says how."""
    print(json.dumps({name: failure_of(check) for name, check in checks.items()}))


def failure_of(check: Callable[[], None]) -> str:
    with tempfile.TemporaryFile("w+") as said:
        process = os.fork()
        if process == 0:
            status = 1
            try:
                check()
                status = 0
            except BaseException:
                traceback.print_exc(file=said)
                said.flush()
            finally:
                os._exit(status)
        _, status = os.waitpid(process, 0)
        said.seek(0)
        return (said.read() or f"it ended with status {status}") if status else ""

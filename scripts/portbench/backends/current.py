"""Runs a target in the user's own Python: $PORTBENCH_PYTHON, else the first python3 or python on PATH.

portbench's own environment is passed over unless the framework is installed in it: an activated one comes first on PATH
and is hardly ever what the user means. Any version of the framework will do, unless the target names one.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from portbench.backends import Arguments, Command
from portbench.errors import TargetUnavailable
from portbench.targets.catalog import Target
from portbench.util.repository import Checkout


@dataclass(frozen=True)
class Current:
    """The backend ``current``."""

    checkout: Checkout
    name: str = "current"

    def blocker(self, target: Target) -> TargetUnavailable | None:
        """Why no Python can be used, or None."""
        if _python(target) is None:
            return TargetUnavailable(
                f"no Python for {target.name}: PORTBENCH_PYTHON names none that can be started, and PATH holds none "
                f"but portbench's own, in which {target.framework} is not installed",
                f"Set PORTBENCH_PYTHON to the Python of an environment with {target.framework} in it.",
            )
        return None

    def is_missing(self, target: Target) -> bool:
        """Nothing is created."""
        return False

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Creates nothing; says which Python it is."""
        name = target.name if target.version_named else target.service
        say(f"{name} runs in {_python(target)}")

    def command(self, target: Target, arguments: Arguments) -> Command:
        """The user's Python with the user's environment variables."""
        argv = [str(_python(target)), "-m", "runners", "--framework", target.framework, "--device", target.device]
        if target.version_named:
            argv += ["--version", target.version]
        argv += arguments.argv(str(arguments.manifest), str(arguments.out))
        # With PYTHONSAFEPATH Python does not find runners/ in the working folder.
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
        return Command(argv, self.checkout.root, {**kept, "PORTBENCH_BACKEND": self.name, "PYTHONUNBUFFERED": "1"})


def _python(target: Target) -> Path | None:
    named = os.environ.get("PORTBENCH_PYTHON")
    if named:
        found = shutil.which(named)
        return Path(found).absolute() if found else None
    return next((path for path in _on_path() if _has(target.framework) or not _is_own(path)), None)


def _on_path() -> Iterator[Path]:
    for folder in os.get_exec_path():
        for name in ("python3", "python"):
            path = Path(folder, name).absolute()
            if os.access(path, os.X_OK) and path.is_file():
                yield path


def _is_own(path: Path) -> bool:
    return path.parent.resolve() == Path(sys.prefix, "bin").resolve()


def _has(framework: str) -> bool:
    return framework == "fake" or importlib.util.find_spec(framework) is not None

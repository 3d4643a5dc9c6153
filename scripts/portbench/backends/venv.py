"""Runs a target in a virtual environment made from its lock: the same packages as its image, without Docker.

A target on a device that programs are compiled for also has the environment of the compiler (see
runners.core.prediction.compiling).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from portbench.backends import Arguments, Command
from portbench.devices import COMPILED_DEVICES, PREDICTED_DEVICES, PREDICTED_GPUS
from portbench.errors import TargetUnavailable
from portbench.targets import environments
from portbench.targets.catalog import Target, needed_environments
from portbench.targets.pinning import lock_finding
from portbench.util.findings import Findings, blocker
from portbench.util.repository import Checkout


@dataclass(frozen=True)
class Venv:
    """The backend ``venv``."""

    checkout: Checkout
    name: str = "venv"

    def findings(self, target: Target) -> Findings:
        """Checks the lock, which a target with only an image does not have."""
        yield lock_finding(target, self.checkout.root)

    def blocker(self, target: Target) -> TargetUnavailable | None:
        """The first error of ``findings``, or None."""
        return blocker(self.findings(target))

    def is_missing(self, target: Target) -> bool:
        """Whether one of the target's environments does not exist yet."""
        return not all(map(environments.environment_exists, needed_environments(target, self.checkout)))

    def prepare(self, target: Target, say: Callable[[str], None]) -> None:
        """Creates the missing environments."""
        for each in needed_environments(target, self.checkout):
            environments.create_environment(each, say)

    def command(self, target: Target, arguments: Arguments) -> Command:
        """The environment's Python, without variables that point to the user's other Pythons."""
        python = environments.python_of(target)
        argv = [str(python), "-m", "runners", "--framework", target.framework, "--device", target.device]
        argv += ["--version", target.version, *arguments.argv(str(arguments.manifest), str(arguments.out))]
        kept = {key: value for key, value in os.environ.items() if not _misleads_python(key)}
        path = f"{python.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
        if target.device in COMPILED_DEVICES:
            kept.setdefault("PORTBENCH_COMPILE_CACHE", str(environments.cache_folder() / "compiled"))
            variable = f"PORTBENCH_{'GPU' if target.device in PREDICTED_GPUS else 'TPU'}_COMPILER"
            kept[variable] = str(environments.python_of(needed_environments(target, self.checkout)[-1]))
        if target.device in PREDICTED_DEVICES:
            kept.setdefault("PORTBENCH_KERNELS", str(environments.kernel_list(target.framework, target.version).parent))
        own = {"PORTBENCH_BACKEND": self.name, "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1"}
        return Command(argv, self.checkout.root, {**kept, "PATH": path, **own})


def _misleads_python(variable: str) -> bool:
    return variable.startswith("PYTHON") or variable in ("VIRTUAL_ENV", "CONDA_PREFIX")

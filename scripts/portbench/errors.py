"""Every error of the host that a user can cause, each with its exit status.

Any module below the command line raises them. ``portbench.cli.main`` shows the message and remedy without a traceback.
Exit status 1 means that a check failed (``--check`` and others); 2 is wrong usage or input; the others are below.
"""

from __future__ import annotations


class PortbenchError(Exception):
    """The base class. ``str(error)`` says what is wrong and where; ``remedy`` says what to do about it."""

    exit_status = 2

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class UnknownTarget(PortbenchError):
    """A target name that is not in images/."""


class BadInput(PortbenchError):
    """A file or an argument that is not valid, or a file of an unsupported version."""


class Contradiction(PortbenchError):
    """Run files that cannot be in one study. The message names the key and both values."""


class TargetUnavailable(PortbenchError):
    """The device, the Python or the container engine that a target needs is not available."""

    exit_status = 3


class NothingRan(PortbenchError):
    """A run or a study without a single usable result."""

    exit_status = 4


class StorageFailed(PortbenchError):
    """A file could not be read or written: disk full, no permission."""

    exit_status = 5


class EnvironmentFailed(PortbenchError):
    """An environment or image could not be created, or the framework in it does not start."""

    exit_status = 6


class RunFailed(PortbenchError):
    """A runner ended with an error. Has the runner's exit status."""

    def __init__(self, message: str, remedy: str = "", exit_status: int = 1) -> None:
        super().__init__(message, remedy)
        self.exit_status = exit_status


class Interrupted(PortbenchError):
    """Ctrl-C or SIGTERM. Everything was stopped in order, and the finished results are kept."""

    exit_status = 130

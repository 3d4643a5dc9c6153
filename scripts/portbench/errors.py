"""Every failure that a user can cause on the host, each with its exit status and its remedy.

Raised anywhere below the command line and shown once, by ``portbench.cli.main``, as one message without a traceback.
Exit status 1 is a verdict (``--check`` and the like), 2 is wrong usage (click's own), the rest stand here.
"""

from __future__ import annotations


class PortbenchError(Exception):
    """Base of all: ``str(error)`` says what is wrong and where; ``remedy`` says what to do about it."""

    exit_status = 2

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class UnknownTarget(PortbenchError):
    """A target's name that images/ does not hold."""


class BadInput(PortbenchError):
    """A manifest, run file or study that is not what its schema says, or another version of it."""


class Contradiction(PortbenchError):
    """Run files that cannot be in one study: the message names the key and both values."""


class TargetUnavailable(PortbenchError):
    """The device, the Python or the container engine that a target needs is not here."""

    exit_status = 3


class NothingRan(PortbenchError):
    """A run or a study without a single result to speak of."""

    exit_status = 4


class StorageFailed(PortbenchError):
    """A file could not be read or written: disk full, no permission."""

    exit_status = 5


class EnvironmentFailed(PortbenchError):
    """An environment or image could not be made, or the framework in it does not start."""

    exit_status = 6


class RunFailed(PortbenchError):
    """A runner ended with an error of its own; takes over its exit status."""

    def __init__(self, message: str, remedy: str = "", exit_status: int = 1) -> None:
        super().__init__(message, remedy)
        self.exit_status = exit_status


class Interrupted(PortbenchError):
    """Ctrl-C or SIGTERM: everything was stopped in order, and what was finished is kept."""

    exit_status = 130

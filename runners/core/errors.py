"""Every failure that a user can cause in a runner, with its exit status.

Raised anywhere in the supervisor and shown once, by ``runners.core.cli.main``. What goes wrong inside a test is not
here: that is a result, and travels as data.
"""

from __future__ import annotations


class RunnerError(Exception):
    """Base of all: ``str(error)`` says what is wrong and where; ``remedy`` what to do about it."""

    exit_status = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class BadInput(RunnerError):
    """A manifest, option or journal that cannot be used as it is."""

    exit_status = 2


class DeviceUnavailable(RunnerError):
    """The target's device is absent or held by somebody else. Raised by an adapter's ``open_device``."""

    exit_status = 3


class NothingRan(RunnerError):
    """Not one test of the manifest could be run here."""

    exit_status = 4


class StorageFailed(RunnerError):
    """The output folder cannot be written: disk full, no permission."""

    exit_status = 5


class FrameworkFailed(RunnerError):
    """The framework cannot be imported, is another version, or its workers do not start."""

    exit_status = 6


class Interrupted(BaseException):
    """SIGINT or SIGTERM came. A BaseException, so that no handler for errors swallows it."""

    exit_status = 130

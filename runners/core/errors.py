"""Every error that a user can cause in a runner, with its exit status.

Raised anywhere in the supervisor and shown once, by ``runners.core.cli.main``. An error inside a test is not here: it
is a result, and therefore data.
"""

from __future__ import annotations


class RunnerError(Exception):
    """Base of all errors: ``str(error)`` says what is wrong and where, ``remedy`` what to do about it."""

    exit_status = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class BadInput(RunnerError):
    """A manifest, option or journal that cannot be used."""

    exit_status = 2


class DeviceUnavailable(RunnerError):
    """The target's device is absent or held by another process. Raised by an adapter's ``open_device``."""

    exit_status = 3


class NothingRan(RunnerError):
    """No test of the manifest can run here."""

    exit_status = 4


class StorageFailed(RunnerError):
    """The output folder cannot be written: disk full, no permission."""

    exit_status = 5


class FrameworkFailed(RunnerError):
    """The framework cannot be imported, has another version, or its workers do not start."""

    exit_status = 6


class StartKilled(FrameworkFailed):
    """A zygote or worker was ended by a signal while it started: the next one may start."""


class UnusableResult(Exception):
    """A result that does not fit the format of run files: ``mistake`` says where, ``text`` is the result."""

    recorded_as = "runners.core.errors.UnusableResult"

    def __init__(self, mistake: str, text: str) -> None:
        super().__init__(mistake)
        self.mistake = mistake
        self.text = text


class Interrupted(BaseException):
    """SIGINT or SIGTERM arrived. A BaseException, so that no handler of errors catches it."""

    exit_status = 130


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def shortened(message: str, limit: int = 300) -> str:
    """The beginning and the end of a long message."""
    return message if len(message) <= limit else message[: limit // 2] + " ... " + message[-limit // 2 :]

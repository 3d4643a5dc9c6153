"""The results of checks of this machine: a fact that is as it should be, or what is wrong and how to fix it.

The checks are in ``portbench.doctor`` and in the backends. They are generators: ``portbench run`` stops at the first
error and does not pay for the other checks, and ``portbench doctor`` shows all of them with the same messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from portbench.errors import PortbenchError, StorageFailed, TargetUnavailable

Findings = Iterator["Finding"]


@dataclass(frozen=True)
class Finding:
    """One line of a diagnosis. An "error" keeps the target from running, a "warning" does not."""

    subject: str
    verdict: Literal["ok", "warning", "error"]
    message: str
    """A complete sentence part that does not need the subject."""
    remedy: str = ""
    about_storage: bool = False
    """Whether the error concerns a disk or folder. Such errors have their own exit status."""

    @property
    def failure(self) -> PortbenchError:
        """The exception to raise for this finding."""
        error = StorageFailed if self.about_storage else TargetUnavailable
        return error(self.message, self.remedy)


def ok(subject: str, message: str) -> Finding:
    """A finding that is as it should be."""
    return Finding(subject, "ok", message)


def warning(subject: str, message: str, remedy: str = "") -> Finding:
    """A finding that is not as it should be, but does not keep the target from running."""
    return Finding(subject, "warning", message, remedy)


def error(subject: str, message: str, remedy: str, about_storage: bool = False) -> Finding:
    """A finding that keeps the target from running, with the remedy."""
    return Finding(subject, "error", message, remedy, about_storage)


def first_error(findings: Iterable[Finding]) -> Finding | None:
    """The first error, or None. Runs no check after it."""
    return next((finding for finding in findings if finding.verdict == "error"), None)


def blocker(findings: Iterable[Finding]) -> TargetUnavailable | None:
    """The first error as the exception to raise, or None."""
    found = first_error(findings)
    return TargetUnavailable(found.message, found.remedy) if found else None

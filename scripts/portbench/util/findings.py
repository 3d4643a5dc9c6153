"""What a check of this machine finds: a fact that is as it should be, or what is wrong and how to mend it.

The checks stand in ``portbench.doctor`` and in the backends. They are generators, so that who needs only the first
obstacle (``portbench run``) does not pay for the rest, and who wants all (``portbench doctor``) gets the same words.
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
    """Stands alone, without the subject."""
    remedy: str = ""
    about_storage: bool = False
    """Whether the error is one of disk or folder, which has an exit status of its own."""

    @property
    def failure(self) -> PortbenchError:
        """The error to raise for it."""
        error = StorageFailed if self.about_storage else TargetUnavailable
        return error(self.message, self.remedy)


def ok(subject: str, message: str) -> Finding:
    """As it should be."""
    return Finding(subject, "ok", message)


def warning(subject: str, message: str, remedy: str = "") -> Finding:
    """Not as it should be, but no obstacle."""
    return Finding(subject, "warning", message, remedy)


def error(subject: str, message: str, remedy: str, about_storage: bool = False) -> Finding:
    """An obstacle, with what to do about it."""
    return Finding(subject, "error", message, remedy, about_storage)


def first_error(findings: Iterable[Finding]) -> Finding | None:
    """The first obstacle, or None. Looks no further than it."""
    return next((finding for finding in findings if finding.verdict == "error"), None)


def blocker(findings: Iterable[Finding]) -> TargetUnavailable | None:
    """The first obstacle as the error to raise, or None."""
    found = first_error(findings)
    return TargetUnavailable(found.message, found.remedy) if found else None

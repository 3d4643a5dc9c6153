"""How a case ends where it neither passes nor finds another value than was expected."""

from __future__ import annotations


class Skip(Exception):
    """The test cannot run on this target; the message says why."""


class MisusedTrial(Exception):
    """A case broke the rules: it timed nothing, checked nothing, or timed something other than its function."""

    recorded_as = "runners.core.trial.MisusedTrial"


class Accepted(Exception):
    """The function accepted what it must refuse, or refused it with another error."""

    recorded_as = "runners.core.trial.Accepted"

"""The fake framework: what counts as public when its functions are listed."""

from __future__ import annotations

from runners.core.public.library import StudyRule

SUBMODULES = False
LEFT_OUT = ()
SHOWN = ()

STUDY = StudyRule()

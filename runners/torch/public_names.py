"""PyTorch: what counts as public when its functions are listed."""

from __future__ import annotations

from runners.core.enumeration.library import StudyRule

SUBMODULES = True
LEFT_OUT = ("torch._vendor", "torch.utils.hipify", "torch.utils.model_dump", "torch.ops", "torch.classes")
"""Scripts of other projects, and modules that create names on access."""
SHOWN = ()

STUDY = StudyRule(refused=("torch._",), methods=True)

"""PyTorch: what counts as public when its functions are listed."""

from __future__ import annotations

from typing import Collection

from runners.core.public.library import StudyRule

SUBMODULES = True
LEFT_OUT = ("torch._vendor", "torch.utils.hipify", "torch.utils.model_dump", "torch.ops", "torch.classes")
"""Scripts of other projects, and modules that create names on access."""
SHOWN = ()


def also_public() -> Collection[str]:
    """The names that PyTorch itself lists as its functions and methods, such as torch.nn.functional.conv2d, which its
    module does not show as its own."""
    import torch.overrides as overrides

    functions = [each for group in overrides.get_overridable_functions().values() for each in group]
    return {name for name in map(overrides.resolve_name, functions) if name and "._" not in name}


STUDY = StudyRule(refused=("torch._",), methods=True)

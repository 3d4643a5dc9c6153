"""What the examples in PyTorch's docstrings take for granted, and which mutations of calls PyTorch knows."""

from __future__ import annotations

from typing import Any

from runners.core.testing import derived_calls

MODULES = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "np": "numpy",
    "numpy": "numpy",
    "math": "math",
}
"""The modules that examples name without an import."""

MUTATIONS = derived_calls.MUTATIONS


def prepare() -> None:
    """Makes tensors without values hold zeros: what is in their memory would get into the manifest."""
    import torch

    def zeroed(make: Any) -> Any:
        def made(*args: Any, **kwargs: Any) -> Any:
            # Not seen by the recorder.
            with torch._C.DisableTorchFunction():
                return make(*args, **kwargs).zero_()

        return made

    for name in ("empty", "empty_like", "empty_strided", "empty_permuted"):
        setattr(torch, name, zeroed(getattr(torch, name)))
    torch.Tensor.new_empty = zeroed(torch.Tensor.new_empty)

"""What opens a device of any backend: one small computation, whose failure is one sentence."""

from __future__ import annotations

import torch

from runners.core.errors import DeviceUnavailable, first_line


def compute_once(device: torch.device, failed: str) -> None:
    """Computes on the device and reads the result back. Raises DeviceUnavailable, which begins with ``failed``."""
    try:
        (torch.ones(8, device="cpu").to(device) + 1).cpu()
    except RuntimeError as error:
        raise DeviceUnavailable(f"{failed}: {first_line(error)}") from error

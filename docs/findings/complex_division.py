"""torch-2.9.0-xla: complex numbers divided by a number lose their imaginary part, and are not complex any more."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([1 + 2j, 3 - 1j])
print("CPU", (x / 2).tolist())
print("XLA", (x.to(torch_xla.device()) / 2).tolist())

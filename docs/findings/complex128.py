"""torch-2.9.0-xla: a complex128 tensor loses its imaginary part on the way to the device."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([3 + 4j], dtype=torch.complex128)
print("CPU", x.tolist())
print("XLA", x.to(torch_xla.device()).tolist())

"""torch-2.9.0-xla: the diagonal of the first two axes is that of the last two."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.arange(8).reshape(2, 2, 2)
print("CPU", torch.diagonal(x).tolist())
print("XLA", torch.diagonal(x.to(torch_xla.device())).tolist())

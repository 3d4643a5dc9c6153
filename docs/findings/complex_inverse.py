"""torch-2.9.0-xla: the inverse of a complex matrix is wrong: its diagonal is conjugated."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([[1 + 1j, 0], [0, 2j]])
print("CPU", torch.inverse(x).tolist())
print("XLA", torch.inverse(x.to(torch_xla.device())).tolist())

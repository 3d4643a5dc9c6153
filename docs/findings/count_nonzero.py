"""torch-2.9.0-xla: what is counted along an axis of a bool tensor is a bool."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([[True, False], [True, True]])
print("CPU", torch.count_nonzero(x, dim=0).tolist())
print("XLA", torch.count_nonzero(x.to(torch_xla.device()), dim=0).tolist())

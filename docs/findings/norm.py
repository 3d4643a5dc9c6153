"""torch-2.9.0-xla: the largest and the smallest absolute value of any tensor are 1."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([3.0, -7.0, 2.0])
for name, device in (("CPU", "cpu"), ("XLA", torch_xla.device())):
    y = x.to(device)
    print(name, torch.norm(y, float("inf")).item(), torch.norm(y, float("-inf")).item())

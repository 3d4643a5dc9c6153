"""torch-2.9.0-xla: batch normalization keeps the variance of the batch where it should keep that of the population."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([[1.0], [3.0]])
for name, device in (("CPU", "cpu"), ("XLA", torch_xla.device())):
    norm = torch.nn.BatchNorm1d(1, momentum=1.0).to(device)
    norm(x.to(device))
    trained = norm.eval()(x.to(device))
    print(name, "variance", norm.running_var.item(), "evaluated", [round(y, 3) for y in trained.flatten().tolist()])

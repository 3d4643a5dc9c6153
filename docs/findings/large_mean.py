"""torch-2.9.0-xla: batch normalization of numbers with a large mean and a small spread."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

x = torch.tensor([[1000.0], [1001.0], [1002.0], [1003.0]])
for name, device in (("CPU", "cpu"), ("XLA", torch_xla.device())):
    for mean in (0.0, 3000.0):
        output = torch.nn.BatchNorm1d(1).to(device)((x + mean).to(device))
        print(name, mean + 1001.5, [round(value, 3) for value in output[:, 0].tolist()])

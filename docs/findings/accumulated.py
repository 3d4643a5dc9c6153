"""torch-2.9.0-xla: gradients that are added up over several backward passes through a sum are wrong."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

for name, device in (("CPU", "cpu"), ("XLA", torch_xla.device())):
    weight = torch.zeros(2, device=device, requires_grad=True)
    gradients = []
    for _ in range(4):
        weight.sum().backward()
        gradients.append(weight.grad[0].item())
    print(name, gradients)

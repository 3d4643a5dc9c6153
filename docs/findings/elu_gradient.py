"""torch-2.9.0-xla: the gradient of ELU is wrong for negative inputs, and keeps the first alpha of the process."""

import os

os.environ.setdefault("PJRT_DEVICE", "CPU")
import torch
import torch_xla

xla = torch_xla.device()


def gradient(device, alpha):
    x = torch.tensor([-2.0, -1.0, 0.5], device=device, requires_grad=True)
    torch.nn.functional.elu(x, alpha).sum().backward()
    return [round(value, 4) for value in x.grad.tolist()]


for alpha in (1.0, 2.0):
    print("alpha", alpha, "CPU", gradient("cpu", alpha))
    print("alpha", alpha, "XLA", gradient(xla, alpha))

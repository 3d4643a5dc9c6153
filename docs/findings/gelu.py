"""torch-2.15.0-cpu: GELU of infinity is not a number, and overflows before it."""

import torch

x = torch.tensor([3.3e38, float("inf")])
print("float32", torch.nn.functional.gelu(x).tolist())
print("float64", torch.nn.functional.gelu(x.double()).tolist())

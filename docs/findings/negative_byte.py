"""torch-2.9.0-cpu: a byte and a negative number."""

import torch

print("3 < -1 is", bool(torch.tensor(3, dtype=torch.uint8) < -1))

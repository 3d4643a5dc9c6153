"""torch-2.15.0-cpu: one draw for each of 100,000 rows of the same three weights."""

import torch

torch.manual_seed(0)
for dtype in (torch.float32, torch.float16):
    weights = torch.tensor([20000, 60000, 20000], dtype=dtype).expand(100_000, 3)
    shares = torch.bincount(torch.multinomial(weights, 1).ravel()) / 100_000
    print(dtype, [round(share, 1) for share in shares.tolist()])

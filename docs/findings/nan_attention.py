"""torch-2.15.0-cpu: attention with a query that is NaN."""

import torch

attention = torch.nn.functional.scaled_dot_product_attention
for keys in (15, 16):
    query, ones = torch.full((1, 1, 1, 8), float("nan")), torch.ones(1, 1, keys, 8)
    print(keys, "keys", attention(query, ones, ones)[0, 0, 0, 0].item())

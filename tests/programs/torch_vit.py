"""transformers: a small vision transformer, forward and backward."""

from __future__ import annotations

import sys

import torch
from transformers import ViTConfig, ViTForImageClassification


def main(steps: int) -> None:
    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8
    )
    model = ViTForImageClassification(config)
    for _ in range(steps):
        logits = model(torch.randn(2, 3, 32, 32)).logits
        logits.sum().backward()
    print(f"{tuple(logits.shape)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)

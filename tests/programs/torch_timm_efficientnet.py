"""timm: EfficientNet-B0 is trained for a few steps with an exponential average of its weights."""

from __future__ import annotations

import sys

import timm
import torch
from timm.utils import ModelEmaV3


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = timm.create_model("efficientnet_b0", pretrained=False, num_classes=10)
    average = ModelEmaV3(model)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 3, 64, 64)), torch.tensor([1, 2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)

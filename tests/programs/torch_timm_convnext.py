"""timm: ConvNeXt-Atto under autocast in bfloat16, forward and backward."""

from __future__ import annotations

import sys

import timm
import torch


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = timm.create_model("convnext_atto", pretrained=False, num_classes=10)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(torch.randn(2, 3, 64, 64))
        loss = torch.nn.functional.cross_entropy(logits.float(), torch.tensor([1, 2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)

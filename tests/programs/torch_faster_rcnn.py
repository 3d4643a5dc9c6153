"""torchvision: Faster R-CNN finds objects in an image of noise."""

from __future__ import annotations

import sys

import torch
from torchvision.models import detection


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None).eval()
    with torch.no_grad():
        for _ in range(steps):
            found = model([torch.rand(3, 160, 160)])
    print(f"{len(found[0]['boxes'])} boxes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

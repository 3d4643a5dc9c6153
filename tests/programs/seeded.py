"""A plugin of pytest: the seed that torchmetrics sets before each test, in a conftest.py that its packages lack."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def seeded() -> None:
    import torch

    torch.manual_seed(42)

"""transformers: a small BERT is trained to tell two classes apart, with AdamW and clipped gradients."""

from __future__ import annotations

import sys

import torch
from transformers import BertConfig, BertForSequenceClassification


def main(steps: int) -> None:
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=1000
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
    words = torch.randint(0, 1000, (4, 32))
    labels = torch.tensor([0, 1, 0, 1])
    for _ in range(steps):
        loss = model(words, attention_mask=torch.ones_like(words), labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)

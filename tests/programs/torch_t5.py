"""transformers: a small T5 is trained for a step, then writes a few tokens by a search with beams."""

from __future__ import annotations

import sys

import torch
from transformers import T5Config, T5ForConditionalGeneration


def main(steps: int) -> None:
    torch.manual_seed(0)
    config = T5Config(
        d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=1000, decoder_start_token_id=0
    )
    model = T5ForConditionalGeneration(config)
    words = torch.randint(1, 1000, (2, 16))
    model(input_ids=words, labels=torch.randint(1, 1000, (2, 8))).loss.backward()
    model.eval()
    for _ in range(steps):
        written = model.generate(input_ids=words, num_beams=2, max_new_tokens=6)
    print(f"{written.shape[1]} tokens")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

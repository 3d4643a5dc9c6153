"""transformers: a small Llama writes a few tokens, by sampling."""

from __future__ import annotations

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main(steps: int) -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=128,
        vocab_size=1000,
    )
    model = LlamaForCausalLM(config).eval()
    words = torch.randint(0, 1000, (1, 8))
    for _ in range(steps):
        written = model.generate(
            words, attention_mask=torch.ones_like(words), max_new_tokens=8, do_sample=True, top_p=0.9, top_k=20
        )
    print(f"{written.shape[1]} tokens")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

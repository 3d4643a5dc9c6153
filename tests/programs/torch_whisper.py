"""transformers: a small Whisper writes a few tokens of a sound of noise."""

from __future__ import annotations

import sys

import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration


def main(steps: int) -> None:
    torch.manual_seed(0)
    config = WhisperConfig(
        vocab_size=1000,
        num_mel_bins=80,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=100,
        max_target_positions=64,
        decoder_start_token_id=1,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )
    model = WhisperForConditionalGeneration(config).eval()
    sound = torch.randn(1, 80, 200)
    for _ in range(steps):
        written = model.generate(sound, max_new_tokens=6)
    print(f"{written.shape[1]} tokens")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)

"""What replaces PyTorch's attention for CPUs computes the same: run in an environment of PyTorch, raises if not."""

from __future__ import annotations

import itertools

import torch

from runners.torch import aten_programs


def main() -> None:
    torch.manual_seed(0)
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    for heads, (causal, scale, masked) in itertools.product(
        (3, 1), ((False, None, False), (True, 0.3, False), (False, None, True))
    ):
        options = {"attn_mask": torch.randn(2, 1, 5, 5) if masked else None, "scale": scale}
        query, gradient = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
        key, value = torch.randn(2, heads, 5, 8), torch.randn(2, heads, 5, 8)
        expected = attention(query, key, value, 0.0, causal, **options)
        torch.testing.assert_close(aten_programs.attention(query, key, value, 0.0, causal, **options), expected)
        given = (gradient, query, key, value, *expected, 0.0, causal)
        torch.testing.assert_close(
            aten_programs.attention_backward(*given, **options), backward(*given, **options), rtol=1e-4, atol=1e-4
        )


if __name__ == "__main__":
    main()

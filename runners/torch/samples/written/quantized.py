"""Quantized tensors: what is left of values after they are rounded to steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_X = t(3, 4)
_STEP, _ZERO = 0.05, 10
_SCALES, _ZEROS = of(0.05, 0.1, 0.02), of(0, 5, 10)


def table(call: Call) -> None:
    _tensors(call)
    _faked(call)
    _pools(call)
    _cells(call)


def _rounded(x: Any, step: Any = _STEP, zero: Any = _ZERO) -> Any:
    # The step is single in PyTorch, and values are compared in that precision.
    return (np.clip(np.rint(x / step) + zero, 0, 255) - zero) * step


def _quantized(x: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(x, _STEP, _ZERO, torch.quint8)


def _by_channel(x: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_channel(x, _SCALES, _ZEROS, 0, torch.quint8)


def _by_row(x: Any) -> Any:
    return _rounded(x, _SCALES.numpy()[:, None].astype("float64"), _ZEROS.numpy()[:, None])


def _tensors(call: Call) -> None:
    kind = torch.quint8
    call("torch.quantize_per_tensor", lambda f, x: f(x, _STEP, _ZERO, kind).dequantize(), _X, expect=_rounded)
    call("torch.quantize_per_channel", lambda f, x: f(x, _SCALES, _ZEROS, 0, kind).dequantize(), _X, expect=_by_row)
    call("torch.quantize_per_tensor_dynamic", lambda f, x: f(x, kind, False).dequantize(), _X)
    call("torch.dequantize", lambda f, x: f(_quantized(x)), _X, expect=_rounded)
    call(
        "torch.int_repr",
        lambda f, x: f(_quantized(x)),
        _X,
        expect=lambda x: np.clip(np.rint(x / _STEP) + _ZERO, 0, 255),
    )
    call("torch.q_scale", lambda f, x: f(_quantized(x)), _X, expect=_STEP)
    call("torch.q_zero_point", lambda f, x: f(_quantized(x)), _X, expect=_ZERO)
    call("torch.q_per_channel_axis", lambda f, x: f(_by_channel(x)), _X, expect=0)
    call("torch.q_per_channel_scales", lambda f, x: f(_by_channel(x)), _X, expect=_SCALES.numpy().astype("float64"))
    call("torch.q_per_channel_zero_points", lambda f, x: f(_by_channel(x)), _X, expect=np.array([0, 5, 10]))
    call("torch.empty_quantized", lambda f, x: list(f((2, 2), _quantized(x)).shape), _X, expect=[2, 2])


def _faked(call: Call) -> None:
    call(
        "torch.fake_quantize_per_tensor_affine",
        None,
        _X,
        _STEP,
        _ZERO,
        0,
        255,
        expect=lambda x, *a: _rounded(x),
        gradient=True,
    )
    zeros = _ZEROS.to(torch.int32)
    call("torch.fake_quantize_per_channel_affine", None, _X, _SCALES, zeros, 0, 0, 255, expect=lambda x, *a: _by_row(x))
    call("torch.fused_moving_avg_obs_fake_quant", _observed, _X)


def _observed(f: Any, x: torch.Tensor) -> Any:
    on, like = torch.ones(1, dtype=torch.int64), {"dtype": torch.float32}
    low, high, scale = torch.full((1,), -1.0, **like), torch.full((1,), 1.0, **like), torch.ones(1, **like)
    return f(x.float(), on, on, low, high, scale, torch.zeros(1, dtype=torch.int32), 0.01, 0, 255, 0)


def _pools(call: Call) -> None:
    for dimensions, image in ((1, t(2, 3, 8)), (2, t(2, 3, 4, 4)), (3, t(1, 2, 2, 2, 2))):
        call(
            f"torch.quantized_max_pool{dimensions}d",
            lambda f, x, n=dimensions: f(_quantized(x), [2] * n, [2] * n, [0] * n, [1] * n).dequantize(),
            image,
            expect=_pooled,
        )
    norm = "torch.quantized_batch_norm"
    image, ones = t(2, 3, 4, 4), torch.ones(3)
    call(
        norm,
        lambda f, x, w: f(_quantized(x), w, 0 * w, 0 * w, w, 0.0, _STEP, _ZERO).dequantize(),
        image,
        ones,
        expect=lambda x, w: _rounded(x),
    )


def _pooled(x: Any) -> Any:
    spatial = x.shape[2:]
    split = x.reshape(*x.shape[:2], *(part for size in spatial for part in (size // 2, 2)))
    return _rounded(split).max(tuple(range(3, split.ndim, 2)))


def _cells(call: Call) -> None:
    """Cells with weights of 8 bits."""
    x, h = t(2, 3), t(2, 4, seed=1)
    for name, kind in (("rnn_tanh", "RNNCell"), ("rnn_relu", "RNNCell"), ("gru", "GRUCell")):
        call(f"torch.quantized_{name}_cell", _cell(kind), x, h)
    call("torch.quantized_lstm_cell", _cell("LSTMCell"), x, h)


def _cell(kind: str) -> Any:
    def body(f: Any, x: torch.Tensor, h: torch.Tensor) -> Any:
        torch.manual_seed(2)
        cell = getattr(torch.nn, kind)(3, 4)
        packed = [torch.fbgemm_linear_quantize_weight(w.detach()) for w in (cell.weight_ih, cell.weight_hh)]
        weights = [torch.fbgemm_pack_quantized_matrix(each[0]) for each in packed]
        (w, wc, ws, wz), (u, uc, us, uz) = packed
        state = (h, h) if kind == "LSTMCell" else h
        biases = cell.bias_ih.detach(), cell.bias_hh.detach()
        return f(x, state, w, u, *biases, *weights, wc, uc, ws, us, wz, uz)

    return body

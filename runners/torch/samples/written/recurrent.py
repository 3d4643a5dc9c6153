"""Recurrent functions of torch, and sequences of unequal lengths (torch.nn.utils.rnn)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_INPUT, _HIDDEN = 3, 4


def table(call: Call) -> None:
    _cells(call)
    _layers(call)
    _sequences(call)


def _weights(gates: int) -> Any:
    rows = gates * _HIDDEN
    return t(rows, _INPUT, seed=1), t(rows, _HIDDEN, seed=2), t(rows, seed=3), t(rows, seed=4)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _cells(call: Call) -> None:
    x, h = t(2, _INPUT), t(2, _HIDDEN, seed=5)
    for name, step in (("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))):

        def expect(x: Any, h: Any, w: Any, u: Any, b: Any, c: Any, step: Any = step) -> Any:
            return step(x @ w.T + b + h @ u.T + c)

        call(f"torch.rnn_{name}_cell", None, x, h, *_weights(1), expect=expect, gradient=True)
    call("torch.gru_cell", None, x, h, *_weights(3), expect=_gru, gradient=True)
    call("torch.lstm_cell", lambda f, x, h, *w: [*f(x, (h, h), *w)], x, h, *_weights(4), expect=_lstm, gradient=True)


def _gru(x: Any, h: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    (r, z, n), (s, y, m) = np.split(x @ w.T + b, 3, 1), np.split(h @ u.T + c, 3, 1)
    gate = _sigmoid(z + y)
    return (1 - gate) * np.tanh(n + _sigmoid(r + s) * m) + gate * h


def _lstm(x: Any, h: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    i, f, g, o = np.split(x @ w.T + b + h @ u.T + c, 4, 1)
    cell = _sigmoid(f) * h + _sigmoid(i) * np.tanh(g)
    return [_sigmoid(o) * np.tanh(cell), cell]


def _layers(call: Call) -> None:
    x, h = t(5, 2, _INPUT), t(1, 2, _HIDDEN, seed=5)
    settings = (True, 1, 0.0, False, False, False)
    for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3)):
        call(f"torch.{name}", lambda f, x, h, *w: [*f(x, h, w, *settings)], x, h, *_weights(gates), gradient=True)
    call("torch.lstm", lambda f, x, h, *w: [*f(x, (h, h), w, *settings)], x, h, *_weights(4), gradient=True)


def _sequences(call: Call) -> None:
    u = "torch.nn.utils.rnn."
    long, short = t(3, 2), t(2, 2, seed=1)
    both = {"expect": lambda x, y: np.stack([x, np.r_[y, np.zeros((1, 2))]])}
    rnn = torch.nn.utils.rnn
    call(f"{u}pad_sequence", lambda f, x, y: f([x, y], batch_first=True), long, short, **both)
    call(
        f"{u}pack_sequence",
        lambda f, x, y: rnn.pad_packed_sequence(f([x, y]), batch_first=True)[0],
        long,
        short,
        **both,
    )
    call(
        f"{u}pad_packed_sequence",
        lambda f, x, y: f(rnn.pack_sequence([x, y]), batch_first=True)[0],
        long,
        short,
        **both,
    )
    call(
        f"{u}pack_padded_sequence",
        lambda f, x: f(x, [3, 2]).data,
        t(3, 2, 2),
        expect=lambda x: np.r_[x[0], x[1], x[2, :1]],
    )
    call(f"{u}PackedSequence", lambda f, x: f(x, torch.tensor([2, 1])).batch_sizes, t(3, 2), expect=np.array([2, 1]))
    call(f"{u}unpack_sequence", lambda f, x, y: f(rnn.pack_sequence([x, y])), long, short, expect=lambda x, y: [x, y])
    call(f"{u}unpad_sequence", lambda f, x: f(x, torch.tensor([3, 2])), t(3, 2), expect=lambda x: [x[:, 0], x[:2, 1]])
    call(f"{u}invert_permutation", None, of(2, 0, 1), expect=np.array([1, 2, 0]))

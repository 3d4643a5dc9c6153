"""torch.nn.LSTMCell, compared with the LSTM equations in NumPy."""

from __future__ import annotations

from typing import Any, Dict, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import QUOTIENTS, filled, slopes

Arrays = Dict[str, Any]


_LOW_PRECISION = {"bfloat16": {"rtol": 1.6e-2, "atol": 2e-2}}
"""bfloat16 rounds every gate to 8 bits before the next operation: errors of about 2**-7 at values of about 1."""


def lstm_cell(
    trial: Trial,
    batch: int | None,
    sizes: Sequence[int],
    dtype: str = "float32",
    bias: bool = True,
    state: bool = True,
    layout: str = "contiguous",
    special: str | None = None,
) -> None:
    """One step gives the hidden state and the cell state of the LSTM equations; without a state it starts from
    zeros. ``special`` values are in the input and in the cell state."""
    module = trial.make(*sizes, bias=bias, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype, module.hidden_size**-0.5)
    lead = [] if batch is None else [batch]
    x, h, c = (
        trial.tensor(trial.random(*lead, sizes[k], dtype=dtype, seed=seed, special=extra), dtype, layout)
        for seed, (k, extra) in enumerate(((0, special), (1, None), (1, special)))
    )
    found = trial.call_method(module, "__call__", x, (h, c)) if state else trial.call_method(module, "__call__", x)
    start = (widened(trial.numpy(h)), widened(trial.numpy(c)))
    start = start if state else (np.zeros_like(start[0]), np.zeros_like(start[1]))
    for actual, expected in zip(found, _lstm(widened(trial.numpy(x)), *start, weights)):
        trial.close(actual, expected, dtype=dtype, **_LOW_PRECISION.get(dtype, {}))


def lstm_cell_sequence(trial: Trial, steps: int, sizes: Sequence[int], dtype: str) -> None:
    """With its own state as input the cell follows the LSTM equations over a sequence."""
    module = trial.make(*sizes, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype, module.hidden_size**-0.5)
    sequence = trial.random(steps, 4, sizes[0], dtype=dtype, seed=5)
    state = None
    expected = (np.zeros((4, sizes[1])), np.zeros((4, sizes[1])))
    for step, x in enumerate(sequence):
        # Only the last step gets a steady time.
        trial.repeatable = step == steps - 1
        state = trial.call_method(module, "__call__", trial.tensor(x), state)
        expected = _lstm(widened(x), *expected, weights)
    trial.close(state[0], expected[0], dtype=dtype)
    trial.close(state[1], expected[1], dtype=dtype)


def lstm_cell_gradients(
    trial: Trial, sizes: Sequence[int], dtype: str, batch: int | None = 2, bias: bool = True, state: bool = True
) -> None:
    """The gradients of input, state and parameters match the derivatives of the LSTM equations."""
    module = trial.make(*sizes, bias=bias, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype, module.hidden_size**-0.5)
    lead = [] if batch is None else [batch]
    names = "xhc" if state else "x"
    host = {name: trial.random(*lead, sizes[name != "x"], dtype=dtype, seed=seed) for seed, name in enumerate(names, 9)}
    tensors = {name: trial.tensor(values).requires_grad_() for name, values in host.items()}
    down = trial.random(2, *lead, sizes[1], dtype=dtype, seed=12)
    zeros = {name: np.zeros((*lead, sizes[1])) for name in "hc"}
    given = [(tensors["h"], tensors["c"])] if state else []
    h, c = trial.call_method(module, "__call__", tensors["x"], *given)
    known = {**zeros, **{name: widened(values) for name, values in host.items()}}
    for actual, expected in zip((h, c), _lstm(*(known[name] for name in "xhc"), weights)):
        trial.close(actual, expected, dtype=dtype)
    (torch.stack([h, c]) * trial.tensor(down)).sum().backward()

    def loss(values: Arrays) -> float:
        return float((np.stack(_lstm(*({**zeros, **values}[name] for name in "xhc"), values)) * down).sum())

    point = {**{name: widened(values) for name, values in host.items()}, **weights}
    expected = slopes(loss, point)
    for name, tensor in [*tensors.items(), *module.named_parameters()]:
        trial.close(tensor.grad, expected[name], dtype=dtype, **QUOTIENTS.get(dtype, {}))


def lstm_cell_long_gradients(trial: Trial, batch: int, sizes: Sequence[int], dtype: str) -> None:
    """The gradients of many rows or wide layers match the chain rule, written out in float64."""
    module = trial.make(*sizes, device=trial.device, dtype=trial.dtype(dtype))
    weights = filled(trial, module, dtype, module.hidden_size**-0.5)
    widths = {"x": sizes[0], "h": sizes[1], "c": sizes[1]}
    host = {
        name: trial.random(batch, width, dtype=dtype, seed=seed) for seed, (name, width) in enumerate(widths.items())
    }
    tensors = {name: trial.tensor(values).requires_grad_() for name, values in host.items()}
    down = [trial.random(batch, sizes[1], dtype=dtype, seed=seed) for seed in (5, 6)]
    outputs = trial.call_method(module, "__call__", tensors["x"], (tensors["h"], tensors["c"]))
    torch.autograd.backward(outputs, [trial.tensor(values) for values in down])
    expected = _chain_rule(*(widened(host[name]) for name in "xhc"), weights, *map(widened, down))
    for name, tensor in [*tensors.items(), *module.named_parameters()]:
        scale = max(1.0, float(np.abs(expected[name]).max()))
        trial.close(tensor.grad / scale, expected[name] / scale, dtype=dtype)


def _chain_rule(x: Any, h: Any, c: Any, weights: Arrays, to_h: Any, to_c: Any) -> Arrays:
    gates = x @ weights["weight_ih"].T + h @ weights["weight_hh"].T + weights["bias_ih"] + weights["bias_hh"]
    enter, forget, cell, leave = np.split(gates, 4, axis=-1)
    enter, forget, cell, leave = _sigmoid(enter), _sigmoid(forget), np.tanh(cell), _sigmoid(leave)
    bent = np.tanh(forget * c + enter * cell)
    to_c = to_c + to_h * leave * (1 - bent**2)
    parts = (
        to_c * cell * enter * (1 - enter),
        to_c * c * forget * (1 - forget),
        to_c * enter * (1 - cell**2),
        to_h * bent * leave * (1 - leave),
    )
    to_gates = np.concatenate(parts, axis=-1)
    summed = to_gates.sum(0)
    return {
        "x": to_gates @ weights["weight_ih"],
        "h": to_gates @ weights["weight_hh"],
        "c": to_c * forget,
        "weight_ih": to_gates.T @ x,
        "weight_hh": to_gates.T @ h,
        "bias_ih": summed,
        "bias_hh": summed,
    }


def _lstm(x: Any, h: Any, c: Any, weights: Arrays) -> tuple[Any, Any]:
    gates = x @ weights["weight_ih"].T + h @ weights["weight_hh"].T
    gates = gates + weights.get("bias_ih", 0) + weights.get("bias_hh", 0)
    enter, forget, cell, leave = np.split(gates, 4, axis=-1)
    c = _sigmoid(forget) * c + _sigmoid(enter) * np.tanh(cell)
    return _sigmoid(leave) * np.tanh(c), c


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))

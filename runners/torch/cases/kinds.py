"""Numbers of other kinds: NumPy numbers and tensors of one number in place of Python numbers."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing import references
from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled


def numbers(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    placed: bool = False,
    kinds: Sequence[str] = ("numpy", "short", "tensor"),
) -> None:
    """NumPy numbers of both widths and tensors of one number give what the same Python numbers give on the host.

    ``made``: the function is a class, whose instance is made of these arguments. ``placed``: the function takes a
    device.
    """
    for kind in kinds:
        convert = _kinds(trial)[kind]
        given, keywords = on_device(trial, args, options)
        if placed:
            keywords["device"] = trial.device
        if made is None:
            output = trial.call(*_converted(given, convert), **_converted(keywords, convert))
        else:
            parts, _ = on_device(trial, made, {})
            module = trial.make(*_converted(parts, convert)).to(trial.device)
            filled(trial, module, "float32")
            output = trial.call_method(module, "__call__", *given, **keywords)
        with trial.on_host():
            given, keywords = on_device(trial, args, options)
            function = trial.function
            if made is not None:
                function = trial.function(*on_device(trial, made, {})[0])
                function.load_state_dict(module.state_dict())
            expected = function(*given, **keywords)
        dtype = trial.dtype_name(expected) or ""
        allowed = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {}
        trial.close(output.detach(), trial.numpy(expected.detach()), dtype=dtype, **allowed)


def _kinds(trial: Trial) -> Mapping[str, Callable[[Any], Any]]:
    return {
        "numpy": lambda number: np.int64(number) if isinstance(number, int) else np.float64(number),
        "short": lambda number: np.int32(number) if isinstance(number, int) else np.float32(number),
        "tensor": lambda number: trial.tensor(np.array(number, "int64" if isinstance(number, int) else "float64")),
    }


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _converted(each, convert) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(_converted(each, convert) for each in value)
    return convert(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def of_default(trial: Trial, numpy: str, dtypes: Sequence[str], default: str = "float64") -> None:
    """Integers and truths give numbers of the default dtype at the time of the call, which can change."""
    before = torch.get_default_dtype()
    trial.repeatable = False
    for dtype in dtypes:
        values = trial.random(3, 4, dtype=dtype, low=0, high=100)
        tensor = trial.tensor(values, dtype)
        expected = references.find("numpy", numpy)(values.astype("float64"))
        trial.close(trial.call(tensor), expected, dtype="float32")
        torch.set_default_dtype(trial.dtype(default))
        try:
            output = trial.call(tensor)
        finally:
            torch.set_default_dtype(before)
        trial.close(output, expected, dtype=default)
        trial.close(trial.call(tensor), expected, dtype="float32")

"""The functions of the fake framework. Its tensors are lists of numbers, its only device is the host."""

from __future__ import annotations

from typing import Any, Sequence

__version__ = "1.0.0"


class Tensor:
    """Numbers in a row, and their dtype."""

    def __init__(self, values: Sequence[float], dtype: str = "float64") -> None:
        self.values = list(values)
        self.dtype = dtype

    def __getitem__(self, index: int) -> float:
        return self.values[index]


def identity(value: Any) -> Any:
    """The value itself."""
    return value


def scale(tensor: Tensor, factor: float) -> Tensor:
    """Each element times a factor."""
    return Tensor([factor * value for value in tensor.values], tensor.dtype)


def quotient(tensor: Tensor, divisor: float) -> Tensor:
    """Each element over a divisor, with the infinities and NaN that floating-point division gives."""
    return Tensor([_divided(value, divisor) for value in tensor.values], tensor.dtype)


def refuse(value: Any) -> Any:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"refuse is not implemented for {type(value).__name__}")


def _divided(value: float, divisor: float) -> float:
    if divisor:
        return value / divisor
    return float("nan") if not value else float("inf") if value > 0 else float("-inf")

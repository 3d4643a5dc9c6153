"""The functions of the fake framework. Its tensors are lists of numbers, its only device is the host."""

from __future__ import annotations

from typing import Any, List

__version__ = "1.0.0"


class Tensor(List[Any]):
    """A list that knows its dtype."""

    def __init__(self, values: Any, dtype: str = "float64") -> None:
        super().__init__(values)
        self.dtype = dtype


def identity(value: Any) -> Any:
    """The value itself."""
    return value


def scale(tensor: Tensor, factor: float) -> Tensor:
    """Each element times a factor."""
    return Tensor([factor * value for value in tensor], tensor.dtype)


def quotient(tensor: Tensor, divisor: float) -> Tensor:
    """Each element over a divisor, with the infinities and NaN that floating-point division gives."""
    return Tensor([_divided(value, divisor) for value in tensor], tensor.dtype)


def refuse(value: Any) -> Any:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"refuse is not implemented for {type(value).__name__}")


def _divided(value: float, divisor: float) -> float:
    if divisor:
        return value / divisor
    return float("nan") if not value else float("inf") if value > 0 else float("-inf")

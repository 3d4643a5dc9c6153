"""The functions of the fake framework. Its tensors are lists of numbers, its devices the host and a pretended one."""

from __future__ import annotations

import itertools
import random
from typing import Any, Callable, Sequence

__version__ = "1.0.0"

HOST, DEVICE = "cpu", "xla:0"

full_precision = False
"""Whether the pretended device keeps all digits."""

operations: list[tuple[str, str]] | None = None
"""What was computed and where, while operations are traced."""

_last_digits = itertools.count()

_by_size: dict[tuple[int, float], Tensor] = {}

poison: Callable[[], None] | None = None
"""What a test has left behind: every later wait of this process calls it."""


class Tensor:
    """A list of numbers, their dtype and their location."""

    def __init__(self, values: Sequence[float], dtype: str = "float64", place: str = HOST) -> None:
        self.values = list(values)
        self.dtype = dtype
        self.place = place

    def __getitem__(self, index: int) -> float:
        return self.values[index]

    @property
    def shape(self) -> tuple[int]:
        """The number of numbers."""
        return (len(self.values),)

    def to(self, place: str) -> Tensor:
        """The same numbers elsewhere."""
        return Tensor(self.values, self.dtype, place)


class Pending(Tensor):
    """A tensor whose work has started and is finished when its values are read."""

    def __init__(self, work: Callable[[], Sequence[float]], dtype: str, place: str) -> None:
        self._work = work
        self._values: list[float] | None = None
        self.dtype = dtype
        self.place = place

    @property
    def values(self) -> list[float]:  # type: ignore[override]
        """The numbers; waits for the work."""
        if self._values is None:
            self._values = list(self._work())
        return self._values


def identity(value: Any) -> Any:
    """The value itself."""
    return value


def scale(tensor: Tensor, factor: float) -> Tensor:
    """Each element times a factor.

    >>> tensor = fake.Tensor([1.0, 2.0])
    >>> fake.scale(tensor, 3.0)
    >>> fake.scale(tensor, 3.0)
    >>> fake.scale(fake.Tensor([0.123456789, 2.0, 4.0], "float32"),
    ...            factor=0.5)
    """
    _note("scale", tensor.place)
    return Tensor([factor * value for value in tensor.values], tensor.dtype, tensor.place)


def scale_(tensor: Tensor, factor: float) -> Tensor:
    """The same, in the tensor itself."""
    tensor.values = scale(tensor, factor).values
    return tensor


def scale_without_kernel(tensor: Tensor, factor: float) -> Tensor:
    """The same, but always on the host."""
    return scale(tensor.to(HOST), factor).to(tensor.place)


def scale_half_without_kernel(tensor: Tensor, factor: float) -> Tensor:
    """The same, with the first step on the host."""
    return scale(scale_without_kernel(tensor, factor), 1.0)


def scale_as_compiled(tensor: Tensor, factor: float, compiling: str) -> Tensor:
    """The same; ``compiling`` is what the compiler of an absent device does: "aborts", "hangs", "needs all memory",
    "refuses"."""
    return scale(tensor, factor)


def scale_by_rounding(tensor: Tensor, factor: float, digits: int = 7) -> Tensor:
    """The same, with this many digits on a device that is not in full precision."""
    digits = 17 if full_precision or tensor.place == HOST else digits
    scaled = scale(tensor, factor)
    return Tensor([float(f"{value:.{digits}g}") for value in scaled.values], tensor.dtype, tensor.place)


def scale_wrongly(tensor: Tensor, factor: float) -> Tensor:
    """The same, but on a device the last element does not change."""
    scaled = scale(tensor, factor)
    if tensor.place != HOST:
        scaled.values[-1] = tensor.values[-1]
    return scaled


def scale_wrongly_in_place(tensor: Tensor, factor: float) -> None:
    """Scales the tensor itself and returns nothing."""
    tensor.values = scale_wrongly(tensor, factor).values


def scale_coarsely_in_place(tensor: Tensor, factor: float) -> None:
    """Scales the tensor itself, with three digits on a device that is not in full precision, and returns nothing."""
    tensor.values = scale_by_rounding(tensor, factor, 3).values


def scale_almost_in_place(tensor: Tensor, factor: float) -> None:
    """Scales the tensor itself, by a hundredth too much on a device in any precision, and returns nothing."""
    tensor.values = scale(tensor, factor if tensor.place == HOST else 1.01 * factor).values


def scale_once(tensor: Tensor, factor: float) -> Tensor:
    """The same at the first call with a tensor; later calls give what that one was given."""
    if getattr(tensor, "seen", False):
        return Tensor(tensor.values, tensor.dtype, tensor.place)
    tensor.seen = True  # type: ignore[attr-defined]
    return scale(tensor, factor)


def scale_by_memory(tensor: Tensor, factor: float) -> Tensor:
    """The same, from memory if a tensor of this size was scaled before, whatever its values."""
    key = len(tensor.values), factor
    return _by_size.setdefault(key, scale(tensor, factor))


def scale_into_buffer(tensor: Tensor, factor: float) -> Tensor:
    """The same, in a tensor that all calls with this size and factor share."""
    buffer = scale_by_memory(tensor, factor)
    buffer.values[:] = scale(tensor, factor).values
    return buffer


def scale_first_well(tensor: Tensor, factor: float) -> Tensor:
    """The same, but what was scaled first is more precise than what comes later."""
    key = len(tensor.values), factor
    is_first = _by_size.setdefault(key, tensor).values == tensor.values
    scaled = scale(tensor, factor)
    return scaled if is_first else Tensor([value * (1 + 1e-10) for value in scaled.values], tensor.dtype, tensor.place)


def scale_and_overwrite(tensor: Tensor, factor: float) -> Tensor:
    """The same, and sets the first element of the tensor to zero."""
    scaled = scale(tensor, factor)
    tensor.values[0] = 0.0
    return scaled


def scale_unevenly(tensor: Tensor, factor: float) -> Tensor:
    """The same, with a last digit that differs from call to call.

    >>> import socket
    >>> connection = socket.create_connection(("127.0.0.1", 9))
    >>> fake.scale_unevenly(fake.Tensor([float(connection.recv(1))]), 1.0)
    """
    scaled = scale(tensor, factor)
    scaled.values[0] *= 1 + next(_last_digits) * 2.0**-52
    return scaled


def root(tensor: Tensor) -> Tensor:
    """Square roots of each element. On a device they are negative, with seven digits unless it is in full precision.

    Examples may write files:

    ```
    with open("numbers.txt", "w") as file:
        file.write("4 9")
    with open("numbers.txt") as file:
        numbers = [float(word) for word in file.read().split()]
    fake.root(fake.Tensor(numbers))
    ```
    """
    positive = Tensor([value**0.5 for value in tensor.values], tensor.dtype, tensor.place)
    return scale_by_rounding(positive, 1.0 if tensor.place == HOST else -1.0)


def noise(tensor: Tensor) -> Tensor:
    """As many random numbers as the tensor has.

    >>> fake.scale(fake.noise(fake.Tensor([0.0, 0.0])), 2.0)
    """
    _note("noise", tensor.place)
    return Tensor([random.random() for _ in tensor.values], tensor.dtype, tensor.place)


def quotient(tensor: Tensor, divisor: float) -> Tensor:
    """Each element over a divisor, with the infinities and NaN that floating-point division gives.

    >>> fake.quotient(fake.Tensor([1.0]), 2.0)
    >>> import os, signal
    >>> os.kill(os.getpid(), signal.SIGKILL)
    """
    return Tensor([_divided(value, divisor) for value in tensor.values], tensor.dtype, tensor.place)


def execute(text: str) -> int:
    """Executes Python code: what a framework's function may do that nobody has looked at. Returns 0.

    >>> fake.execute("raise SystemExit(3)")
    """
    exec(text, {})
    return 0


def refuse(value: Any) -> Any:
    """Raises NotImplementedError.

    >>> fake.refuse(fake.Tensor([1.0]))
    """
    raise NotImplementedError(f"refuse is not implemented for {type(value).__name__}")


def refuse_on_device(tensor: Tensor) -> Tensor:
    """The tensor itself; on a device raises NotImplementedError.

    >>> fake.identity(1.0)
    """
    if tensor.place != HOST:
        raise NotImplementedError(f"refuse_on_device is not implemented for {tensor.place}")
    return tensor


def _note(name: str, place: str) -> None:
    if operations is not None:
        operations.append((name, place))


def _divided(value: float, divisor: float) -> float:
    if divisor:
        return value / divisor
    return float("nan") if not value else float("inf") if value > 0 else float("-inf")

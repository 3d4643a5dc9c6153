"""The inputs of a test: host arrays from seeds, and tensors on the target's device."""

from __future__ import annotations

import contextlib
import mmap
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Iterator, Mapping, Sequence

from runners.core.adapter import Adapter
from runners.core.result import PHASES
from runners.core.testing import tree

if TYPE_CHECKING:
    from numpy import ndarray

_OTHER_SEEDS = 1_000_000

_WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


class Inputs:
    """Makes tensors on ``device``, the framework's device object, and brings them back.

    With ``float64_mode``, tensors are float64 or complex128 even if the case asks for less precision. With
    ``other_values``, random inputs have other values of the same shapes. ``has_random_inputs`` says whether the case
    would get others with ``other_values``.
    """

    def __init__(
        self, adapter: Adapter, device: Any, phase: mmap.mmap, float64_mode: bool = False, other_values: bool = False
    ) -> None:
        self.device = device
        self.has_random_inputs = False
        self._adapter = adapter
        self._phase = phase
        self._float64_mode = float64_mode
        self._seeds_from = _OTHER_SEEDS if other_values else 0
        self._enter("inputs")

    def random(
        self,
        *shape: int,
        dtype: str = "float32",
        seed: int = 0,
        low: float | None = None,
        high: float | None = None,
        special: str | None = None,
    ) -> ndarray[Any, Any]:
        """A random host array: the same for the same arguments on every machine and version (see arrays.random).

        With ``special``, it has values at which devices differ (see arrays.with_special)."""
        from runners.core.testing import arrays

        array = arrays.random(shape, dtype, self.seed(seed), low, high)
        return arrays.with_special(array, dtype, special) if special else array  # type: ignore[no-any-return]

    def seed(self, number: int) -> int:
        """The seed to make random inputs from: the number itself, or another one if the trial has ``other_values``."""
        self.has_random_inputs = True
        return self._seeds_from + number

    def tensor(
        self,
        values: Any,
        dtype: str | None = None,
        layout: str = "contiguous",
        order: Sequence[int] | None = None,
        requires_grad: bool = False,
    ) -> Any:
        """A tensor on the target's device with the values of a host array or nested list.

        ``dtype`` may be any that the framework has, also bfloat16; the default is the array's own. ``order`` has the
        axes from the slowest to the fastest in memory. With ``requires_grad``, gradients of it are wanted.
        """
        import numpy as np

        array = np.asarray(values)
        before = self._enter("move")
        moved = self._adapter.tensor(array, self._dtype_of_mode(dtype or array.dtype.name), self.device, layout)
        if order is not None:
            moved = self._adapter.in_memory_order(moved, order)
        if requires_grad:
            moved = self._adapter.differentiable(moved)
        self._adapter.wait(moved)
        self._phase[0] = before
        return moved

    @property
    def is_on_host(self) -> bool:
        """Whether the target's device is the host's CPU."""
        return bool(self.device == self._adapter.host_device())

    def copied_to_device(self, value: Any) -> Any:
        """A nested value of the host with copies of its tensors on the target's device, with their strides where the
        device has any."""
        before = self._enter("move")
        copies = tree.mapped(lambda leaf: self._adapter.copied_to(leaf, self.device, self._dtype_of_mode), value)
        self._adapter.wait(copies)
        self._phase[0] = before
        return copies

    def dtype(self, name: str) -> Any:
        """The framework's dtype object of a name such as ``bfloat16``."""
        return self._adapter.dtype(self._dtype_of_mode(name))

    def _dtype_of_mode(self, dtype: str) -> str:
        return _WIDER.get(dtype, dtype) if self._float64_mode else dtype

    @contextlib.contextmanager
    def on_host(self, wide: bool = False, seed: int = 0) -> Iterator[None]:
        """A context in which tensors are made on the host's CPU, with ``wide`` as float64 or complex128.

        ``seed`` is that of the framework's random state.
        """
        before = self.device, self._float64_mode, self._enter("compare")
        self.device, self._float64_mode = self._adapter.host_device(), wide
        try:
            with contextlib.ExitStack() as stack:
                if wide:
                    stack.enter_context(self._adapter.float64_mode())
                stack.enter_context(self._adapter.scope(self.device))
                self._adapter.seed(seed)
                yield
        finally:
            self.device, self._float64_mode, self._phase[0] = before

    def with_gradients(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Output, gradients and arguments of a call (see runners.core.adapter.Adapter)."""
        return self._adapter.with_gradients(function, args, kwargs)

    def autocast(self, dtype: str) -> ContextManager[object]:
        """A context in which the framework chooses this dtype for calls that take it (PyTorch)."""
        return self._adapter.autocast(self.device, dtype)  # type: ignore[attr-defined, no-any-return]

    def as_function(self, found: Any) -> Callable[..., Any]:
        """A callable for what a recording names."""
        return self._adapter.as_function(found)

    def numpy(self, output: Any) -> Any:
        """Brings a (nested) output to the host: the same nesting with NumPy arrays in place of tensors."""
        before = self._enter("read_back")
        adapter = self._adapter
        read = tree.mapped(lambda leaf: leaf if adapter.dtype_name(leaf) is None else adapter.to_numpy(leaf), output)
        self._phase[0] = before
        return read

    def dtype_name(self, tensor: Any) -> str | None:
        """``float32`` and so on; None for what is no tensor."""
        return self._adapter.dtype_name(tensor)

    def _enter(self, phase: str) -> int:
        before = self._phase[0]
        self._phase[0] = PHASES.index(phase)
        return before

"""What a framework must tell the core: two plain modules that satisfy the Protocols below.

``runners/<framework>/__init__.py`` holds the facts that are needed before the framework is imported and imports
nothing of it. ``runners/<framework>/adapter.py`` imports the framework at its top and is imported only in a zygote
or worker, after ``variables(device)`` were put into the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ContextManager, Mapping, Protocol, Sequence, Union

if TYPE_CHECKING:
    from numpy import ndarray

Scalar = Union[str, int, float, bool, None]


class Framework(Protocol):
    """The facts that stand in ``runners/<framework>/__init__.py``."""

    MODULE: str
    """Name to import: ``tensorflow``."""

    NAMESPACE: str
    """First part of function names in manifests: ``tf``."""

    PACKAGES: Sequence[str]
    """Top-level packages that a function's name may lead into."""

    DEVICES: Sequence[str]
    """Devices that the adapter can open, of cpu, gpu, tpu, xla."""

    FORKS_AFTER_IMPORT: Sequence[str]
    """Devices whose workers may be forked from a parent that has imported the framework and never computed."""

    def variables(self, device: str) -> Mapping[str, str]:
        """Environment variables that must be set before the import, for this device."""


class Adapter(Protocol):
    """The functions of ``runners/<framework>/adapter.py``. A *leaf* is whatever stands in a nested output."""

    def version(self) -> str:
        """The imported framework's version, without a local build label."""

    def open_device(self, device: str) -> Any:
        """The framework's device object. Raises DeviceUnavailable where it is absent or held; never falls back."""

    def device_facts(self, device: Any) -> Mapping[str, Scalar]:
        """What is known of the device: model, driver, threads, precision mode."""

    def scope(self, device: Any) -> ContextManager[object]:
        """A context in which what is created without naming a device lands on this one; entered for every test."""

    def seed(self, seed: int) -> None:
        """Seeds the framework's global random state."""

    def tensor(self, array: ndarray[Any, Any], dtype: str, device: Any, layout: str) -> Any:
        """A tensor with the values of a host array. ``layout`` (contiguous, transposed, strided) may be ignored
        where tensors have no strides."""

    def dtype(self, name: str) -> Any:
        """The framework's dtype object of a name such as ``bfloat16``. Raises KeyError for an unknown one."""

    def dtype_name(self, leaf: Any) -> str | None:
        """``float32`` and so on; None for what is no tensor."""

    def to_numpy(self, leaf: Any) -> ndarray[Any, Any]:
        """A host array with a tensor's values; bfloat16 comes as float32."""

    def wait(self, output: Any) -> None:
        """Returns when the work behind a (nested) output is done. Inside the timed region: keep it lean."""

    def location(self, leaf: Any) -> str | None:
        """Where a tensor lives, ``cpu`` or ``cuda:0``; None for what is no tensor."""

    def on_device(self, location: str, device: Any) -> bool:
        """Whether a location is on the target's device."""

    def counters(self) -> Mapping[str, int]:
        """What the framework counts, as totals since its start: compilations, compile_ns, trace_ns, ..."""

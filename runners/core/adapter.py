"""What a framework must tell the core: two plain modules that satisfy the Protocols below.

``runners/<framework>/__init__.py`` holds the facts that are needed before the framework is imported and imports
nothing of it. ``runners/<framework>/adapter.py`` imports the framework at its top and is imported only in a zygote
or worker, after ``variables(device)`` were put into the environment.

A process opens one device: what an adapter learns in ``open_device`` holds for the rest of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, ContextManager, Mapping, NamedTuple, Protocol, Sequence, Union

if TYPE_CHECKING:
    from numpy import ndarray

Scalar = Union[str, int, float, bool, None]


HOST = "host"
"""Location of what is neither on the target's device nor on another that the framework knows: NumPy, a callback."""


class Operation(NamedTuple):
    """Something that was computed: its name as the framework has it (``aten::nonzero``, ``RandomGamma``) and where.

    What only moves or describes data (copies, reshapes of metadata, reading one number back) is no operation.
    """

    name: str
    location: str


class OpTrace:
    """What ``Adapter.watch`` saw; complete when its context has ended.

    ``operations`` may hold one several times. ``counters`` are figures that cost too much in the timed call, such as
    ``kernel_ns``, the time that the device's kernels took, and ``memory_bytes``, what the call took of its memory.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.counters: dict[str, int] = {}


class Framework(Protocol):
    """The facts that stand in ``runners/<framework>/__init__.py``."""

    MODULE: str
    """Name to import: ``tensorflow``."""

    NAMESPACE: str
    """First part of function names in manifests: ``tf``."""

    PACKAGES: Sequence[str]
    """Top-level packages that a function's name may lead into."""

    DOORS: Sequence[str]
    """What of them runs code, or commands, that its arguments hold or name, so that a manifest may not name it: with a
    dot the beginning of a name, by which it is asked for or defined, without one any part of it."""

    DEVICES: Sequence[str]
    """Devices that the adapter can open, of cpu, gpu, tpu, xla."""

    PREDICTED: Mapping[str, str]
    """Devices that can be foretold on the host's CPU alone, each with the module of ``runners/<framework>/`` that does
    (see runners.core.prediction.Predictor)."""

    FORKS_AFTER_IMPORT: Sequence[str]
    """Devices whose workers may be forked from a parent that has imported the framework and never computed."""

    def variables(self, device: str) -> Mapping[str, str]:
        """Environment variables that must be set before the import, for this device."""


class Adapter(Protocol):
    """The functions of ``runners/<framework>/adapter.py``. A *leaf* is whatever stands in a nested output."""

    def version(self) -> str:
        """The imported framework's version, without a local build label."""

    def prepare(self, device: str) -> None:
        """Imports what a device needs beside the framework (``torch_xla``). Computes nothing and opens no device: a
        zygote calls it before it forks. May be called twice."""

    def open_device(self, device: str) -> Any:
        """The framework's device object. Raises DeviceUnavailable where it is absent or held; never falls back."""

    def device_facts(self, device: Any) -> Mapping[str, Scalar]:
        """What is known of the device and stays the same: ``kind`` (cpu, gpu, tpu, xla), model, driver, memory,
        highest clocks, threads, and the precision mode that the framework is in."""

    def device_state(self, device: Any) -> Mapping[str, Scalar]:
        """What of the device changes: present clocks, temperature, why it throttles, free memory. May be empty."""

    def scope(self, device: Any) -> ContextManager[object]:
        """A context in which what is created without naming a device lands on this one; entered for every test."""

    def strict(self) -> ContextManager[object]:
        """A context in which the framework computes with the full precision of each dtype: no TF32, no bfloat16
        passes. Entered outside of ``scope``."""

    def wide(self) -> ContextManager[object]:
        """A context in which tensors may be float64 and complex128, where the framework does not have that anyway.
        Entered outside of ``scope``."""

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

    def wait_as_study(self, output: Any) -> None:
        """What the study called after each operation in place of ``wait``: ``xm.mark_step()``,
        ``torch.cuda.synchronize()``, ``.numpy()`` or ``block_until_ready()`` on an output that has it."""

    def work(self, units: int, device: Any) -> Callable[[], Any]:
        """A call whose work on the device is proportional to ``units`` while the host's part of it stays the same:
        a fixed chain of products of a (64 * units, 512) and a (512, 512) float32 matrix that lie there. The output
        is one small tensor (a sum) that needs all of it, inside a tuple inside a dict."""

    def location(self, leaf: Any) -> str | None:
        """Where a tensor lives, ``cpu`` or ``cuda:0``; None for what is no tensor."""

    def on_device(self, location: str, device: Any) -> bool:
        """Whether a location is on the target's device."""

    def trace_ops(self, device: Any) -> ContextManager[OpTrace]:
        """A context that sees every computation inside of it, wherever it runs. Nothing inside is timed, so it may
        cost what it must: caches are cleared where only a new compilation shows the operations."""

    def counters(self) -> Mapping[str, int]:
        """What the framework counts, as totals since its start, of those names that it can tell: ``traces``,
        ``trace_ns``, ``lowerings``, ``lower_ns``, ``compilations``, ``compile_ns``, ``executions``, ``execute_ns``,
        ``to_device``, ``to_device_bytes``, ``to_device_ns``, ``from_device``, ``from_device_bytes``,
        ``from_device_ns``, ``fallbacks`` (operations that went to the host). Read beside the timed region: cheap."""

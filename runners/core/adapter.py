"""The contract between the core and a framework: two plain modules that satisfy the Protocols below.

``runners/<framework>/__init__.py`` holds the facts that are needed before the framework is imported, and imports
nothing of it. ``runners/<framework>/adapter.py`` imports the framework at its top. It is imported only in a zygote or
worker, after ``variables(device)`` are set in the environment.

A process opens one device: what an adapter learns in ``open_device`` is valid for the rest of the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, ContextManager, Mapping, NamedTuple, Protocol, Sequence

from runners.core.result import Scalar

if TYPE_CHECKING:
    from numpy import ndarray


HOST = "host"
"""Location of what is on no device that the framework knows: NumPy, a callback."""


class Operation(NamedTuple):
    """A computation: its name in the framework (``aten::nonzero``, ``RandomGamma``) and its location.

    What only moves or describes data (copies, reshapes of metadata, reading one number back) is not an operation.
    """

    name: str
    location: str


class OpTrace:
    """What ``Adapter.trace_ops`` saw; complete when its context has ended.

    ``operations`` may hold an operation several times. ``counters`` has figures that cost too much in a timed call,
    such as ``kernel_ns``, the time of the device's kernels, and ``memory_bytes``, the device memory that the call took.
    ``untraced`` says in one sentence each what could not be traced and why; it becomes evidence of the placement, which
    is derived from the outputs alone if there are no operations.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.counters: dict[str, int] = {}
        self.untraced: list[str] = []


class Framework(Protocol):
    """The facts in ``runners/<framework>/__init__.py``."""

    MODULE: str
    """Name to import: ``tensorflow``."""

    NAMESPACE: str
    """First part of function names in manifests: ``tf``."""

    PACKAGES: Sequence[str]
    """Top-level packages that a function's name may lead into."""

    CODE_EXECUTION_APIS: Sequence[str]
    """Names in these packages that run code or commands that their arguments hold or name. A manifest may not name
    them. An entry with a dot is the beginning of a function's public or defining name; one without may be any part of
    it."""

    DEVICES: Sequence[str]
    """Devices that the adapter can open, of cpu, gpu, tpu, xla."""

    PREDICTED: Mapping[str, str]
    """Devices that can be predicted on the host's CPU alone, each with the module of ``runners/<framework>/`` that does
    it (see runners.core.prediction.prediction.Predictor)."""

    FORKS_AFTER_IMPORT: Sequence[str]
    """Devices whose workers may be forked from a parent that has imported the framework and never computed."""

    def variables(self, device: str) -> Mapping[str, str]:
        """Environment variables that must be set before the import, for this device."""


class Adapter(Protocol):
    """The functions of ``runners/<framework>/adapter.py``. A *leaf* is any value in a nested output.

    A module may also have a true ``TENSORS_CHANGE``, if a call can change tensors among its arguments,
    ``autocast(device, dtype)``, a context in which the framework chooses a dtype by itself,
    ``compile_program(device, program)``, which has the framework compile a whole program (see
    runners.core.programs.Program) and raises Absent where there is none for the device, and ``forget_programs()``,
    which frees what the framework keeps of calls that it compiled.
    """

    def version(self) -> str:
        """The imported framework's version, without a local build label."""

    def prepare(self, device: str) -> None:
        """Imports what a device needs besides the framework (``torch_xla``). Computes nothing and opens no device: a
        zygote calls it before it forks. May be called twice."""

    def open_device(self, device: str) -> Any:
        """The framework's device object. Raises DeviceUnavailable if it is absent or held; never falls back."""

    def device_facts(self, device: Any) -> Mapping[str, Scalar]:
        """Facts about the device that do not change: ``kind`` (cpu, gpu, tpu, xla), model, driver, memory, highest
        clocks, threads, and the framework's precision mode."""

    def device_state(self, device: Any) -> Mapping[str, Scalar]:
        """Facts about the device that change: present clocks, temperature, throttling, free memory. May be empty."""

    def scope(self, device: Any) -> ContextManager[object]:
        """A context in which the device is the default of what is created; entered for every test."""

    def full_precision(self) -> ContextManager[object]:
        """A context in which the framework computes with the full precision of each dtype: no TF32, no bfloat16
        passes. Entered outside of ``scope``."""

    def float64_mode(self) -> ContextManager[object]:
        """A context in which tensors may be float64 and complex128, for a framework that otherwise does not allow it.
        Entered outside of ``scope``."""

    def seed(self, seed: int) -> None:
        """Seeds the framework's global random state."""

    def tensor(self, array: ndarray[Any, Any], dtype: str, device: Any, layout: str) -> Any:
        """A tensor with the values of a host array. ``layout`` (contiguous, transposed, strided) may be ignored if the
        framework's tensors have no strides."""

    def host_device(self) -> Any:
        """The framework's device object of the host's CPU, which is there beside the target's device."""

    def copied_to(self, leaf: Any, device: Any, dtype_of: Callable[[str], str]) -> Any:
        """A copy of a host tensor on a device, with its strides and mark of ``differentiable``; other values as they
        are, but for the host's device object, which becomes ``device``. ``dtype_of`` gives the copy's dtype."""

    def in_memory_order(self, tensor: Any, order: Sequence[int]) -> Any:
        """The same values with the axes in this order in memory, the slowest first. May return the tensor itself if the
        framework's tensors have no strides."""

    def differentiable(self, tensor: Any) -> Any:
        """The tensor, marked so that ``with_gradients`` gives its gradient. May return another with the same values."""

    def is_differentiable(self, leaf: Any) -> bool:
        """Whether a leaf carries the mark of ``differentiable``."""

    def with_gradients(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a function with copies of its arguments, which it may write into. Returns its output, the gradients of
        the sum of all floating elements of the output with respect to the marked arguments, in order and zero where
        there is none, and what the call left of the arguments."""

    def as_function(self, found: Any) -> Callable[..., Any]:
        """A callable for a public name that a recording uses: the property ``jax.Array.at`` is none itself. It has a
        true attribute ``draws_differ`` if devices draw different random numbers with the same arguments."""

    def dtype(self, name: str) -> Any:
        """The framework's dtype object for a name such as ``bfloat16``. Raises KeyError for an unknown one."""

    def dtype_name(self, leaf: Any) -> str | None:
        """The dtype of a tensor, such as ``float32``; None for anything else."""

    def to_numpy(self, leaf: Any) -> ndarray[Any, Any]:
        """A host array with a tensor's values; bfloat16 is returned as float32."""

    def wait(self, output: Any) -> None:
        """Returns when the work behind a (nested) output is done. Part of the timed region: keep it short."""

    def wait_as_published(self, output: Any) -> None:
        """What the paper called after each operation instead of ``wait``: ``xm.mark_step()``,
        ``torch.cuda.synchronize()``, ``.numpy()`` or ``block_until_ready()`` on an output that has it."""

    def calibration_kernel(self, units: int, device: Any) -> Callable[[], Any]:
        """A call for the synchronization check. Its work on the device is proportional to ``units``; the host's part is
        constant. It is a fixed chain of products of a (64 * units, 512) and a (512, 512) float32 matrix on the device.
        The output is one small tensor (a sum) that needs all of the work, inside a tuple inside a dict."""

    def location(self, leaf: Any) -> str | None:
        """Where a tensor is, such as ``cpu`` or ``cuda:0``; None for anything else."""

    def on_device(self, location: str, device: Any) -> bool:
        """Whether a location is on the target's device."""

    def trace_ops(self, device: Any, counts: bool = True) -> ContextManager[OpTrace]:
        """A context that records every computation inside it, wherever it runs. Nothing inside is timed, so it may be
        slow: it may clear caches if only a new compilation shows the operations. If a part of the framework that it
        needs is missing, it fills ``OpTrace.untraced`` and does not raise. ``counts``: whether ``OpTrace.counters`` are
        wanted, where they take long."""

    def counters(self) -> Mapping[str, int]:
        """The framework's counters, as totals since its start. Any of ``traces``, ``trace_ns``, ``lowerings``,
        ``lower_ns``, ``compilations``, ``compile_ns``, ``executions``, ``execute_ns``, ``to_device``,
        ``to_device_bytes``, ``to_device_ns``, ``from_device``, ``from_device_bytes``, ``from_device_ns``, ``fallbacks``
        (operations that ran on the host instead). Read before and after the timed region: must be cheap."""

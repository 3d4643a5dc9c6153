"""Opens the target's device, or says in one sentence why not; collects facts about it."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Mapping

import tensorflow as tf

from runners.core import devices as system
from runners.core.errors import DeviceUnavailable
from runners.tensorflow import XLA_DEVICES, placing, pluggable, waiting

NAMES = {"cpu": "/device:CPU:0", "gpu": "/device:GPU:0", "tpu": "/device:TPU:0", "xla": "/device:XLA_CPU:0"}
NAMES["gpu-predicted"] = placing.STAND_IN

KINDS = {name: kind for kind, name in NAMES.items()}
"""The name of a pluggable device is added when it is opened: its plugin chooses it."""

_PLUGGABLE = "pluggable"


def open_device(kind: str) -> str:
    """Opens a device and returns TensorFlow's name for it. Raises DeviceUnavailable."""
    if kind == _PLUGGABLE:
        name = pluggable.open_device()
        KINDS[name] = _PLUGGABLE
        tf.config.set_soft_device_placement(False)
        return name
    if kind not in NAMES:
        raise DeviceUnavailable(f"the TensorFlow adapter knows no device {kind}", f"Use one of {', '.join(NAMES)}.")
    {"cpu": _open_cpu, "gpu": _open_gpu, "tpu": _open_tpu, "xla": _open_xla, "gpu-predicted": _open_stand_in}[kind]()
    # An operation without a kernel for the device must fail, not move elsewhere.
    tf.config.set_soft_device_placement(False)
    return NAMES[kind]


def facts(device: str) -> Mapping[str, Any]:
    """See runners.core.adapter.Adapter.device_facts."""
    kind = KINDS[device]
    known = {
        "kind": kind,
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "soft_placement": tf.config.get_soft_device_placement(),
        "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled(),
    }
    if kind == "gpu":
        known.update(_gpu_facts())
    elif kind == _PLUGGABLE:
        known.update(pluggable.facts(device))
    elif kind == "tpu":
        known.update(system.tpu_facts(), tpu_cores=len(tf.config.list_logical_devices("TPU")))
    elif kind == "xla":
        known["devices"] = len(tf.config.list_logical_devices("XLA_CPU"))
    return known


def state(device: str) -> Mapping[str, Any]:
    """See runners.core.adapter.Adapter.device_state."""
    return system.nvidia_state(0) if KINDS[device] == "gpu" else {}


def _open_cpu() -> None:
    """Does nothing: the CPU is always available."""


def _open_stand_in() -> None:
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def _open_xla() -> None:
    if not tf.config.list_physical_devices("XLA_CPU"):
        raise DeviceUnavailable(
            f"TensorFlow {tf.__version__} has no XLA device on this CPU",
            f"Set TF_XLA_FLAGS={XLA_DEVICES} before TensorFlow is imported, as the runner does.",
        )


def _open_gpu() -> None:
    if not tf.config.list_physical_devices("GPU"):
        why, remedy = _why_no_gpu()
        raise DeviceUnavailable(f"TensorFlow {tf.__version__} {why}", remedy)
    gpu = tf.config.list_physical_devices("GPU")[0]
    try:
        # Other GPUs are not used. Memory is taken as it is needed, not all at once: a worker that has just ended may
        # not have released all of its own, and the free memory is recorded.
        tf.config.set_visible_devices([gpu], "GPU")
        tf.config.experimental.set_memory_growth(gpu, True)
        waiting.wait_behind(NAMES["gpu"])
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise _held("the GPU", system.NVIDIA_NODES, error) from error


def _why_no_gpu() -> tuple[str, str]:
    """Why TensorFlow lists no GPU, and the remedy."""
    if not tf.test.is_built_with_cuda():
        return "is built without CUDA", "Use the environment or image of tensorflow-gpu."
    model = system.nvidia_facts(0).get("model")
    if model:
        remedy = "With TF_CPP_MIN_LOG_LEVEL=0 TensorFlow says which library of CUDA it cannot open."
        return f"cannot use the {model} that nvidia-smi shows", remedy
    return "finds no GPU, nor does nvidia-smi show one", "'portbench doctor' looks for the driver and the device."


def _open_tpu() -> None:
    if not system.tpu_facts().get("device_nodes"):
        raise DeviceUnavailable(
            f"TensorFlow {tf.__version__} finds no TPU: there is no device node /dev/accel* or /dev/vfio/*",
            "Run on a TPU VM; a container must be given the host's devices.",
        )
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")
        tf.tpu.experimental.initialize_tpu_system(resolver)
        cores = tf.config.list_logical_devices("TPU")
    except tf.errors.NotFoundError as error:
        raise _held("a TPU", system.TPU_NODES, None) from error
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise _held("a TPU", system.TPU_NODES, error) from error
    if not cores:
        raise _held("a TPU", system.TPU_NODES, None)
    try:
        waiting.wait_behind(NAMES["tpu"])
    except (tf.errors.OpError, RuntimeError) as error:
        raise _held("the TPU", system.TPU_NODES, error) from error


def _held(what: str, nodes: tuple[str, ...], error: Exception | None) -> DeviceUnavailable:
    """The error for a device that does not open. It names the holder if the system reports it."""
    holders = system.holders(nodes)
    if holders:
        return DeviceUnavailable(f"{what} is held by {', '.join(holders)}", "End that process, then try again.")
    said = said_by(error) if error else "it finds none"
    remedy = "Check that the device is there and no process holds it: 'portbench doctor'."
    return DeviceUnavailable(f"TensorFlow {tf.__version__} cannot open {what}: {said}", remedy)


def said_by(error: Exception) -> str:
    """The line of an error's message that says what is wrong."""
    # Where a node was made comes first: many lines that end in the node's name.
    _, is_of_graph, rest = str(error).partition("\nNode: ")
    said = rest.partition("\n")[2] if is_of_graph else str(error)
    lines = (line.strip() for line in said.splitlines())
    headings = ("Graph execution error:", "Detected at node", "<stack traces unavailable>")
    return next((line[:200] for line in lines if line and not line.startswith(headings)), type(error).__name__)


def _gpu_facts() -> Mapping[str, Any]:
    gpu = tf.config.list_physical_devices("GPU")[0]
    details = tf.config.experimental.get_device_details(gpu)
    build = tf.sysconfig.get_build_info()
    capability = details.get("compute_capability")
    return {
        "model": details.get("device_name"),
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "cuda": build.get("cuda_version"),
        "cudnn": build.get("cudnn_version"),
        "cudnn_package": _cudnn_package(),
        "memory_growth": bool(tf.config.experimental.get_memory_growth(gpu)),
        **system.nvidia_facts(0),
    }


def _cudnn_package() -> str | None:
    """The version of the installed package, if there is one; the build information has the version at build time."""
    for package in ("nvidia-cudnn-cu12", "nvidia-cudnn-cu11"):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return None

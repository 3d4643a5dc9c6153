"""A vendor's pluggable device of TensorFlow: a library with StreamExecutor's C interface, or a package that has one.

Nothing here is specific to a vendor. What the library registers says the name of its type of device. It may be GPU: no
GPU of TensorFlow's own is visible.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import tensorflow as tf
from tensorflow.python.framework import load_library

from runners.core import vendors
from runners.core.errors import DeviceUnavailable, first_line
from runners.tensorflow import PLUGIN, waiting

_REMEDY = (
    f"Set {PLUGIN} to the absolute path of the plugin's library, or to the name of the Python module that loads it; "
    "docs/bring-your-device.md says what it needs."
)
_OWN = {"CPU", "XLA_CPU", "XLA_GPU", "TPU", "TPU_SYSTEM"}
"""Types of devices of TensorFlow itself."""


def open_device() -> str:
    """Loads the plugin, computes on its first device, and returns TensorFlow's name for that."""
    value = vendors.named(PLUGIN, "pluggable", _REMEDY)
    # TensorFlow loads the libraries of installed packages in the folder tensorflow-plugins when it is imported.
    if not _devices():
        _load(value)
    types = sorted({device.device_type for device in _devices()})
    if len(types) != 1:
        found = f"registered {len(types)} types of devices, {', '.join(types)}" if types else "registered no device"
        raise DeviceUnavailable(
            f"{PLUGIN}={value} was loaded by TensorFlow {tf.__version__}, and {found}",
            "Check that the device and its driver are there, and that no other plugin is installed.",
        )
    name = f"/device:{types[0]}:0"
    try:
        waiting.wait_behind(name)
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise DeviceUnavailable(
            f"the device {types[0]} of {PLUGIN}={value} cannot add two float32 numbers (AddV2), after which portbench "
            f"waits for it: {first_line(error)}",
            "Check that the plugin was built for this version of TensorFlow.",
        ) from error
    return name


def facts(device: str) -> Mapping[str, Any]:
    """The type that the plugin registered, what it says of its device, and its file or module."""
    own = _devices()
    details = tf.config.experimental.get_device_details(own[0])
    value = vendors.named(PLUGIN, "pluggable", _REMEDY)
    found = {
        "device_type": own[0].device_type,
        "devices": len(own),
        "model": str(details.get("device_name") or "") or None,
        "plugin": Path(value).name,
    }
    if Path(value).is_file():
        return {**found, "plugin_bytes": Path(value).stat().st_size}
    return {**found, "plugin_version": vendors.version(vendors.module_name(value))}


def _load(value: str) -> None:
    if not vendors.is_path(value) or Path(value).is_dir():
        vendors.imported(PLUGIN, value, f"TensorFlow {tf.__version__}")
        return
    try:
        load_library.load_pluggable_device_library(value)
    except (tf.errors.OpError, RuntimeError) as error:
        raise DeviceUnavailable(
            f"{PLUGIN}={value} cannot be loaded by TensorFlow {tf.__version__}: {first_line(error)}",
            "It must be a library with SE_InitPlugin and TF_InitKernel for this version, and what it needs must be "
            "installed.",
        ) from error


def _devices() -> list[Any]:
    return [device for device in tf.config.list_physical_devices() if device.device_type not in _OWN]

"""JAX: facts that are needed before it is imported."""

from __future__ import annotations

import os
from typing import Mapping

from runners.core.devices import fast_compile_flags, nvidia_variables
from runners.core.prediction import gpus, tpus

MODULE = "jax"
NAMESPACE = "jax"
PACKAGES = ("jax", "jaxlib")
CODE_EXECUTION_APIS = ("jax.experimental.serialize_executable",)
DEVICES = ("cpu", "gpu", "tpu", "xla", "pjrt")
PREDICTED = {
    **dict.fromkeys((*tpus.MODELS, *gpus.MODELS), "predict_compiled"),
    **dict.fromkeys(("gpu-predicted", "rocm-predicted"), "predict_gpu"),
}
FORKS_AFTER_IMPORT = ("cpu", "tpu", "xla", *PREDICTED)
"""Not pjrt: nothing is known of a vendor's library."""


# The first is the default. The host's platform is needed too: pure_callback uses its arrays.
_PLATFORMS = {"cpu": "cpu", "gpu": "cuda,cpu", "tpu": "tpu,cpu", "xla": "cpu", "pjrt": "pjrt,cpu"}

PLUGIN = "PORTBENCH_PJRT_PLUGIN"
"""The environment variable with the path of a vendor's PJRT plugin, for the device pjrt."""

_HOST_DEVICES = "--xla_force_host_platform_device_count"


def variables(device: str) -> Mapping[str, str]:
    """Pins the platforms, and disables the cache of compiled programs in files, which would make first calls fast. For
    xla, the host gets a second device unless the user has set a number of devices. For pjrt, JAX loads the plugin of
    $PORTBENCH_PJRT_PLUGIN under the name pjrt."""
    chosen = {"JAX_PLATFORMS": _PLATFORMS.get(device, "cpu"), "JAX_ENABLE_COMPILATION_CACHE": "false"}
    if device == "gpu":
        chosen.update(nvidia_variables())
    if device in PREDICTED:
        chosen.update(fast_compile_flags())
    if device == "pjrt":
        chosen["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"pjrt:{os.environ.get(PLUGIN, '')}"
    flags = os.environ.get("XLA_FLAGS", "")
    if device == "xla" and _HOST_DEVICES not in flags:
        chosen["XLA_FLAGS"] = f"{flags} {_HOST_DEVICES}=2".strip()
    return chosen

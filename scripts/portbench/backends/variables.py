"""Chooses the environment variables that the docker backend passes on to a container.

They are those that change what a framework does, as schema/environment-variables.json lists them for runners and host.
The backends venv and current pass on all variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from portbench.targets.catalog import Target, all_targets
from portbench.util.repository import Checkout

_NOT_FOR_A_CONTAINER = (
    # They choose the environment and the GPU that the container gets (see gpu).
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_REQUIRE_"),
    *("NVIDIA_DISABLE_REQUIRE", "NVIDIA_MIG_", "NVIDIA_IMEX_"),
    # Backend venv does not pass them on either.
    "PYTHON",
    # Terraform's, which begin like TensorFlow's and may hold secrets.
    *("TF_CLI_", "TF_CLOUD_", "TF_TOKEN_", "TF_VAR_"),
)
_SECRETS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS")


def for_container(variables: Mapping[str, str], checkout: Checkout) -> list[str]:
    """The names of those variables that a container gets, sorted.

    Left out are secrets, and values that are paths: the files of this machine are not in the container.
    """
    known = json.loads((checkout.schema / "environment-variables.json").read_text("utf-8"))
    prefixes = tuple(prefix for prefixes in known.values() for prefix in prefixes)
    choose_version = {f"{target.framework.upper()}_VERSION" for target in all_targets(checkout)}
    return sorted(
        name
        for name, value in variables.items()
        if name.startswith(prefixes)
        and name not in choose_version
        and not name.startswith(_NOT_FOR_A_CONTAINER)
        and not name.endswith(_SECRETS)
        and not value.startswith("/")
    )


def gpu(target: Target, variables: Mapping[str, str]) -> dict[str, str]:
    """PORTBENCH_GPU for a target on a GPU, where only CUDA_VISIBLE_DEVICES names one: its first."""
    first = variables.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if target.device != "gpu" or variables.get("PORTBENCH_GPU") or not first or first.startswith("-"):
        return {}
    return {"PORTBENCH_GPU": first}

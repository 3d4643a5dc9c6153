"""Checks whether a framework's build has code for the GPU: a binary, or PTX, which the driver compiles on the machine.

A GPU of compute capability 7.5 runs binaries for 7.0 to 7.5, and PTX for 7.5 and older. Source: NVIDIA, CUDA C++
Programming Guide, chapter "Compilation with NVCC", sections "Binary Compatibility" and "PTX Compatibility".
"""

from __future__ import annotations

from collections.abc import Iterable

from portbench.doctor.facts import Code, facts
from portbench.targets.catalog import LATEST, Target
from portbench.util.findings import Findings, warning
from portbench.util.machine import Machine
from portbench.util.versions import Version

_QUERY = ["nvidia-smi", "--query-gpu=compute_cap,name", "--format=csv,noheader"]
_Capability = tuple[int, ...]


def gpu_code(machine: Machine, targets: Iterable[Target]) -> Findings:
    """A warning for each target whose build has no code for a GPU of this machine, or only PTX.

    No finding where nvidia-smi does not report compute capabilities (an older one), or the build is not known.
    """
    answer = machine.run(_QUERY)
    rows = [line.partition(",") for line in answer.stdout.splitlines()] if answer.returncode == 0 else []
    models = {capability.strip(): model.strip() for capability, _, model in rows if _numbers(capability)}
    for target in targets:
        code = facts()["gpu_code"]["builds"].get(target.name)
        for capability, model in models.items() if code else ():
            assert code is not None
            has = f"{target.name} has code for {', '.join(code['binary'])}"
            if _runs(code, capability) == "no":
                yield warning(
                    "GPU code",
                    f"{has}, not for compute capability {capability} of the {model}: every kernel would fail",
                    _others(target, capability),
                )
            elif _runs(code, capability) == "ptx":
                yield warning(
                    "GPU code",
                    f"{has}, and for {capability} of the {model} only PTX {code['ptx']}, which the driver compiles: "
                    "the first call of every kernel takes longer",
                    _others(target, capability),
                )


def _others(target: Target, capability: str) -> str:
    builds = facts()["gpu_code"]["builds"]
    same = [name for name in builds if name.startswith(f"{target.framework}-") and name != target.name]
    same.sort(key=_version)
    fitting = [name for name in same if _runs(builds[name], capability) == "binary"]
    fitting = fitting or [name for name in same if _runs(builds[name], capability) == "ptx"]
    if not fitting:
        return f"No build of {target.framework} that is known here has code for it; use an older GPU."
    newest = max([target.name, *same], key=_version)
    version = LATEST if fitting[-1] == newest else str(_version(fitting[-1]))
    return f"For this GPU: {other_version(target, version)}"


def other_version(target: Target, version: str) -> str:
    """The commands that run another version of the target, in an environment or a container."""
    command = f"{target.framework.upper()}_VERSION={version} docker compose run --rm {target.service}"
    return f"portbench run {target.framework}-{version}-{target.device}, or {command}"


def _version(name: str) -> Version:
    return Version(name.split("-")[1])


def _runs(code: Code, capability: str) -> str:
    """Binary, ptx or no."""
    own = _numbers(capability)
    if any(each[:1] == own[:1] and each <= own for each in map(_numbers, code["binary"])):
        return "binary"
    return "ptx" if code["ptx"] and _numbers(code["ptx"]) <= own else "no"


def _numbers(capability: str) -> _Capability:
    """(7, 5) for "7.5"; empty for anything else."""
    parts = capability.strip().split(".")
    return tuple(map(int, parts)) if len(parts) == 2 and all(part.isdigit() for part in parts) else ()

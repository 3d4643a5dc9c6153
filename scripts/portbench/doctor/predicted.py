"""Checks what predicts a device that is not present."""

from __future__ import annotations

import re
from pathlib import Path

from portbench.devices import COMPILED_DEVICES, PREDICTED_DEVICES, PREDICTED_GPUS
from portbench.targets.catalog import Target, needed_environments
from portbench.targets.environments import kernel_list
from portbench.util.findings import Finding, Findings, error, ok
from portbench.util.machine import Machine
from portbench.util.repository import Checkout


def predicted(machine: Machine, target: Target, checkout: Checkout) -> Findings:
    """Checks the compiler for a device, or the list of kernels for a GPU if the framework's adapter uses one."""
    if target.device in COMPILED_DEVICES:
        yield _compiler(machine, target, checkout)
    elif target.device in PREDICTED_DEVICES:
        yield ok("GPU", "none is needed: its results are predicted")
        yield from _kernels(machine, target, checkout)


def _compiler(machine: Machine, target: Target, checkout: Checkout) -> Finding:
    compiler = needed_environments(target, checkout)[-1]
    kind, package = ("GPU", "jax-cuda12-pjrt") if target.device in PREDICTED_GPUS else ("TPU", "libtpu")
    text = (machine.read(compiler.lock) or "") if compiler.lock else ""
    pinned = re.search(rf"^{package}==(\S+)", text, re.MULTILINE)
    if pinned:
        return ok(kind, f"none is needed: {package} {pinned[1]} compiles for {target.device} without one")
    return error(
        kind,
        f"no lock of {compiler.name} pins {package}, which compiles for {target.device}",
        f"portbench lock {compiler.framework}/{compiler.version}/{compiler.packages}",
    )


def _kernels(machine: Machine, target: Target, checkout: Checkout) -> Findings:
    lists = checkout.root / "runners" / target.framework / "kernels"
    if not lists.is_dir():
        return
    name = f"{target.version}.json"
    if target.device == "mps-predicted":
        yield _kernels_for_mps(machine, target, lists)
        return
    if machine.read(lists / name) is not None:
        yield ok("kernels", f"runners/{target.framework}/kernels/{name}")
    elif machine.read(kernel_list(target.framework, target.version)) is not None:
        yield ok("kernels", f"{name}, in portbench's cache")
    else:
        yield error(
            "kernels",
            f"there is no list of the GPU kernels of {target.framework} {target.version}",
            f"Create it: portbench kernels {target.framework}-{target.version}-gpu",
        )


def _kernels_for_mps(machine: Machine, target: Target, lists: Path) -> Finding:
    name = f"mps/{target.version}.json"
    if machine.read(lists / name) is not None:
        return ok("kernels", f"runners/{target.framework}/kernels/{name}")
    return error(
        "kernels",
        f"there is no list of the MPS kernels of {target.framework} {target.version}",
        f"Create it: portbench kernels {target.name}",
    )

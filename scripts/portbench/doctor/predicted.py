"""Checks what predicts a device that is not present."""

from __future__ import annotations

import re

from portbench.devices import PREDICTED_DEVICES, PREDICTED_TPUS
from portbench.targets.catalog import TPU_COMPILER, Target, needed_environments
from portbench.util.findings import Finding, Findings, error, ok
from portbench.util.machine import Machine
from portbench.util.repository import Checkout


def predicted(machine: Machine, target: Target, checkout: Checkout) -> Findings:
    """Checks the compiler for a TPU, or the list of kernels for a GPU if the framework's adapter uses one."""
    if target.device in PREDICTED_TPUS:
        yield _libtpu(machine, target, checkout)
    elif target.device in PREDICTED_DEVICES:
        yield ok("GPU", "none is needed: its results are predicted")
        yield from _kernels(machine, target, checkout)


def _libtpu(machine: Machine, target: Target, checkout: Checkout) -> Finding:
    compiler = needed_environments(target, checkout)[-1]
    pinned = re.search(r"^libtpu==(\S+)", (machine.read(compiler.lock) or "") if compiler.lock else "", re.MULTILINE)
    if pinned:
        return ok("TPU", f"none is needed: libtpu {pinned[1]} compiles for {target.device} without one")
    return error(
        "TPU",
        f"no lock of {TPU_COMPILER} pins libtpu, which compiles for {target.device}",
        f"portbench lock {compiler.framework}/{compiler.version}/{compiler.packages}",
    )


def _kernels(machine: Machine, target: Target, checkout: Checkout) -> Findings:
    lists = checkout.root / "runners" / target.framework / "kernels"
    if not lists.is_dir():
        return
    name = f"{target.version}.json"
    if machine.read(lists / name) is not None:
        yield ok("kernels", f"runners/{target.framework}/kernels/{name}")
    else:
        yield error(
            "kernels",
            f"there is no list of the GPU kernels of {target.framework} {target.version}",
            f"Create it: portbench kernels {target.framework}-{target.version}-gpu",
        )

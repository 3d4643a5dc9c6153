"""Checks what every target needs: memory, a folder for its results, disk space."""

from __future__ import annotations

import re
from pathlib import Path

from portbench.doctor.facts import GB, facts
from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine


def memory(machine: Machine) -> Findings:
    """Whether enough memory is available. No finding where the kernel does not report it."""
    meminfo = machine.read("/proc/meminfo") or ""
    sizes = {name: int(kib) * 1024 / GB for name, kib in re.findall(r"^(\w+):\s+(\d+) kB", meminfo, re.MULTILINE)}
    if "MemAvailable" not in sizes or "MemTotal" not in sizes:
        return
    free, total, need = sizes["MemAvailable"], sizes["MemTotal"], facts()["memory"]["available_gb"]
    if free < need:
        yield warning(
            "memory",
            f"{free:.1f} of {total:.1f} GB are available; the paper's functions need about {need} GB",
            "Close other programs. A test that the kernel kills because memory ran out is recorded as crashed.",
        )
    else:
        yield ok("memory", f"{free:.1f} of {total:.1f} GB are available")


def results(machine: Machine, folder: Path) -> Finding:
    """Whether run files can be written to the folder, and fit on its disk."""
    if not machine.may_write(folder):
        return error(
            "results", f"{short(folder)} cannot be written to", "Give another folder with --out.", about_storage=True
        )
    need = facts()["space"]["results"]["more_gb"]
    return disk(machine, "results", folder, need, "for run files", "Make room, or give another folder with --out.")


def disk(
    machine: Machine, subject: str, folder: Path, need_gb: float, purpose: str, remedy: str, certain: bool = True
) -> Finding:
    """Whether ``need_gb`` are free on the folder's disk. Only a ``certain`` need gives an error."""
    free = machine.free_bytes(folder)
    if free is None:
        return warning(subject, f"the free space in {short(folder)} is not known; {need_gb:g} GB are needed {purpose}")
    if free >= need_gb * GB:
        return ok(subject, f"{_gb(free)} free in {short(folder)} (needs {need_gb:g})")
    message = f"{_gb(free)} are free in {short(folder)}, and "
    if certain:
        return error(subject, f"{message}about {need_gb:g} GB are needed {purpose}", remedy, about_storage=True)
    return warning(subject, f"{message}up to {need_gb:g} GB may be needed {purpose}", remedy)


def _gb(size: int) -> str:
    return f"{size / GB:.1f} GB" if size >= GB else f"{size / GB:.2g} GB"


def short(path: Path) -> str:
    """The path with ~ for the home folder."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)

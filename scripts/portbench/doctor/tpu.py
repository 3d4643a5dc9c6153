"""Checks a TPU's device nodes and which process uses them. Only one process at a time can use a chip."""

from __future__ import annotations

from collections.abc import Iterable

from portbench.doctor.facts import facts
from portbench.doctor.gpu_code import other_version
from portbench.targets.catalog import LATEST, Target
from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine, Process

# libtpu creates this file with mode 0600 and locks it. It cannot open a file that another user has left.
LOCK_FILE = "/tmp/libtpu_lockfile"
_NAMED = 5


def tpu(machine: Machine, targets: Iterable[Target]) -> Findings:
    """Whether these targets can use a TPU here: it has device nodes, and no other process uses one."""
    chips = len(_chips(machine))
    # vfio serves all kinds of devices. Its nodes are a TPU's only if the machine has a TPU chip.
    nodes = machine.paths("/dev/accel[0-9]*") + (machine.paths("/dev/vfio/[0-9]*") if chips else [])
    if not nodes:
        yield _absent(chips)
        return
    closed = [node for node in nodes if not machine.may_use(node)]
    if closed:
        yield error(
            "TPU", f"this user may not use {', '.join(closed)}", f"Get access: sudo chmod a+rw {' '.join(closed)}"
        )
    else:
        yield ok("TPU", ", ".join(nodes))
    yield _holder(machine, nodes)
    yield from tpu_code(machine, targets)


def tpu_code(machine: Machine, targets: Iterable[Target]) -> Findings:
    """A warning for each target whose compiler is older than the TPU of this machine."""
    known = facts()["tpu_code"]
    models = {known["later"][chip] for chip in _chips(machine) if chip in known["later"]}
    for target in targets:
        for model in sorted(models) if target.name in known["older_targets"] else ():
            yield warning(
                "TPU code",
                f"{target.name} has a compiler that is older than the {model} of this machine and does not know it",
                f"For this TPU: {other_version(target, LATEST)}",
            )


def lock_file(machine: Machine) -> Findings:
    """Whether libtpu can lock its file. Not needed for containers, which have their own /tmp."""
    owner = machine.owner(LOCK_FILE)
    if owner is not None and owner != machine.user:
        yield error(
            "TPU lock",
            f"{LOCK_FILE} belongs to user {owner}, so libtpu would report the TPU as in use by that user",
            f"If nobody uses the TPU: sudo rm {LOCK_FILE}",
        )


def _chips(machine: Machine) -> list[str]:
    """The PCI ids of the TPU chips."""
    known = facts()["tpu_chips"]
    vendors = [
        path for path in machine.paths("/sys/bus/pci/devices/*/vendor") if _word(machine, path) == known["vendor"]
    ]
    found = [_word(machine, path.replace("/vendor", "/device")) for path in vendors]
    return [device for device in found if device in known["devices"]]


def _word(machine: Machine, path: str) -> str:
    return (machine.read(path) or "").strip()


def _absent(chips: int) -> Finding:
    if chips:
        return error(
            "TPU",
            f"this machine has {chips} TPU chip{'s' * (chips > 1)}, but no device node (/dev/accel*, /dev/vfio/*)",
            "Load its driver, as a TPU VM's system image does. For a container, pass the nodes.",
        )
    return error("TPU", "this machine has no TPU", "Run tpu targets on a TPU VM.")


def _holder(machine: Machine, paths: list[str]) -> Finding:
    holders: list[Process] = []
    unseen = 0
    for process in machine.processes():
        if process.files is None:
            unseen += 1
        elif not process.files.isdisjoint(paths):
            holders.append(process)
    if holders:
        named = "; ".join(_named(process, paths) for process in holders[:_NAMED])
        more = f"; and {len(holders) - _NAMED} more" if len(holders) > _NAMED else ""
        return error(
            "TPU holder",
            f"the TPU is in use by another process: {named}{more}",
            f"Wait until it ends, or stop it: kill {' '.join(str(process.pid) for process in holders)}",
        )
    if unseen:
        return warning(
            "TPU holder",
            f"no process found, but this user may not inspect {unseen} processes of other users",
            f"List them: sudo lsof -w {' '.join(paths)}",
        )
    return ok("TPU holder", "no process")


def _named(process: Process, paths: list[str]) -> str:
    held = ", ".join(path for path in paths if process.files and path in process.files)
    command = process.command if len(process.command) <= 60 else f"{process.command[:59]}…"
    return f"pid {process.pid} ({command}) has {held} open"

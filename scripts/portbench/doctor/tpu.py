"""A TPU: its device nodes, and who holds them. A chip has one holder at a time."""

from __future__ import annotations

from portbench.doctor.facts import facts
from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine, Process

# libtpu opens this for itself alone (mode 0600) and locks it: one that is left by another user cannot be opened.
LOCK_FILE = "/tmp/libtpu_lockfile"
_NAMED = 5


def tpu(machine: Machine) -> Findings:
    """Whether a TPU can be used here: its device nodes, and that nobody else holds one."""
    chips = _chips(machine)
    # vfio hands any device to user programs, so its nodes are a TPU's only where one is seen.
    nodes = machine.paths("/dev/accel[0-9]*") + (machine.paths("/dev/vfio/[0-9]*") if chips else [])
    if not nodes:
        yield _absent(chips)
        return
    closed = [node for node in nodes if not machine.may_use(node)]
    if closed:
        yield error(
            "TPU", f"this user may not use {', '.join(closed)}", f"Ask for it: sudo chmod a+rw {' '.join(closed)}"
        )
    else:
        yield ok("TPU", ", ".join(nodes))
    yield _holder(machine, nodes)


def lock_file(machine: Machine) -> Findings:
    """Whether libtpu can take its lock. A container has a /tmp of its own, so this matters outside of one."""
    owner = machine.owner(LOCK_FILE)
    if owner is not None and owner != machine.user:
        yield error(
            "TPU lock",
            f"{LOCK_FILE} belongs to user {owner}, so libtpu would take the TPU for used by that user",
            f"If nobody uses the TPU: sudo rm {LOCK_FILE}",
        )


def _chips(machine: Machine) -> int:
    known = facts()["tpu_chips"]
    return sum(
        (machine.read(path) or "").strip() == known["vendor"]
        and (machine.read(path.replace("/vendor", "/device")) or "").strip() in known["devices"]
        for path in machine.paths("/sys/bus/pci/devices/*/vendor")
    )


def _absent(chips: int) -> Finding:
    if chips:
        return error(
            "TPU",
            f"this machine has {chips} TPU chip{'s' * (chips > 1)}, but no device node (/dev/accel*, /dev/vfio/*)",
            "Load its driver: a TPU VM's own system image does; in a container, pass the nodes.",
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
            f"the TPU is in use, and a chip has one holder: {named}{more}",
            f"Wait until it ends, or end it: kill {' '.join(str(process.pid) for process in holders)}",
        )
    if unseen:
        return warning(
            "TPU holder",
            f"nobody seen, but this user may not look into {unseen} processes of others",
            f"To see them: sudo lsof -w {' '.join(paths)}",
        )
    return ok("TPU holder", "nobody")


def _named(process: Process, paths: list[str]) -> str:
    held = ", ".join(path for path in paths if process.files and path in process.files)
    command = process.command if len(process.command) <= 60 else f"{process.command[:59]}…"
    return f"pid {process.pid} ({command}) has {held} open"

"""How the packages of a target are pinned: by a lock with hashes, or by the versions and addresses in its .in file.

Wheels that only a vendor serves can be locked only where the vendor is reached. Until then, a .in file that pins every
package is enough to install from: the hashes are found at install, and every run file records them.
"""

from __future__ import annotations

import re
from pathlib import Path

from portbench.errors import TargetUnavailable
from portbench.targets.catalog import Target
from portbench.util.findings import Finding, error, ok, warning
from portbench.util.machine import Machine

HASH_LOCKED = "hash-locked"
PINNED = "pinned, not hash-locked"
FOUND_AT_INSTALL = f"# {PINNED}: the hashes were found at install\n"
"""The first line of an environment's portbench.lock if images/ had no lock. images/install writes the same line."""


def pinning(target: Target) -> str | None:
    """HASH_LOCKED, PINNED, or None for a target that cannot be installed: its .in file leaves a version open."""
    if target.lock is not None:
        return HASH_LOCKED
    if target.source is None:
        return None
    lines = [line.partition("#")[0].strip() for line in target.source.read_text().splitlines()]
    wanted = [line for line in lines if line and not line.startswith("-")]
    return PINNED if wanted and all(re.match(r"[\w.-]+(\[[^]]*\])?\s*(==[^*]+$|@ )", line) for line in wanted) else None


def requirements(target: Target) -> Path:
    """The file to install from: the lock, or a .in file that pins everything. Raises TargetUnavailable without one."""
    found = {HASH_LOCKED: target.lock, PINNED: target.source}.get(pinning(target) or "")
    if found is None:
        raise TargetUnavailable(f"{target.name} has no lock, so no virtual environment can be created for it")
    return found


def lock_finding(target: Target, root: Path) -> Finding:
    """Whether the target's packages are pinned, and how. An error has the command that creates the lock."""
    state = pinning(target)
    if state == HASH_LOCKED:
        assert target.lock is not None
        path = target.lock
        return ok("lock", str(path.relative_to(root) if path.is_relative_to(root) else path))
    if state == PINNED:
        return warning(
            "lock",
            f"{target.name} is {PINNED}: its packages are those of {target.packages}.in, and their hashes are found "
            "at install",
            f"{_command(target)}, where {_hosts(target)} can be reached, creates the lock.",
        )
    if target.source is None:
        return error(
            "lock",
            f"{target.name} has no {target.packages}.lock, so it can only run in a container",
            "Use --backend docker, or write the lock's .in file and run 'portbench lock'.",
        )
    where = f" on a machine that reaches {_hosts(target)}" if vendor_addresses(target) else ""
    return error(
        "lock",
        f"{target.name} is not locked: {_command(target)}{where} creates its {target.packages}.lock",
        "Run it there and keep the file that it writes. Or use --backend current with an environment of your own.",
    )


def vendor_addresses(target: Target) -> list[str]:
    """The addresses outside of the package index that the target's .in file names."""
    return re.findall(r"https?://\S+", target.source.read_text()) if target.source else []


def unreached_vendor(target: Target, machine: Machine) -> Finding | None:
    """An error if the target is not hash-locked and an address that it needs does not answer. Uses the network."""
    if pinning(target) != PINNED:
        return None
    for address in vendor_addresses(target):
        reason = machine.unreachable(address)
        if reason:
            return error(
                "vendor",
                f"{target.name} cannot be installed here: {address} cannot be reached: {reason}",
                f"Run 'portbench images build {target.name}' on a machine that reaches it, and move the image here "
                "with 'docker save' and 'docker load'. Or use --backend current with an environment of your own.",
            )
    return None


def require_vendor(target: Target, machine: Machine) -> None:
    """Raises TargetUnavailable for the finding of ``unreached_vendor``."""
    finding = unreached_vendor(target, machine)
    if finding:
        raise finding.failure


def _command(target: Target) -> str:
    return f"'portbench lock {target.framework}/{target.version}/{target.packages}'"


def _hosts(target: Target) -> str:
    hosts = (re.sub(r"https?://([^/]+).*", r"\1", address) for address in vendor_addresses(target))
    return " and ".join(dict.fromkeys(hosts)) or "the package index"

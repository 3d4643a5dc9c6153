"""What a virtual environment is made from: a Python, disk, and an index that gives its packages."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence

from uv import find_uv_bin

from portbench.doctor import host
from portbench.doctor.facts import environment_gb, is_measured
from portbench.targets import environments, pythons
from portbench.targets.catalog import Target
from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine

_REACH_LIMIT_S = 15
# Whatever index gives the packages of a lock gives the installer too; it is small to ask for.
_ASKED_FOR = "uv\n"


def environment(machine: Machine, targets: Sequence[Target], thorough: bool) -> Findings:
    """Whether the environments of these targets, the second of which is a compiler's, are there or can be made.

    ``thorough`` starts Pythons and asks the index.
    """
    missing = [target for target in targets if not environments.environment_exists(target)]
    folder = environments.environment_folder(targets[0])
    for target, subject in zip(targets, ("environment", "compiler"), strict=False):
        which = "" if target is targets[0] else f"{target.environment}: "
        if target in missing:
            yield ok(subject, f"{which}not made yet: the first run makes it")
        else:
            yield ok(subject, f"{which}made, in {host.short(folder.parent)}")
    if not missing:
        return
    remedy = "Make room, or set XDG_CACHE_HOME to a folder on another disk."
    if not machine.may_write(folder):
        yield error("disk", f"{host.short(folder.parent)} cannot be written to", remedy, about_storage=True)
    else:
        need, certain = round(sum(map(environment_gb, missing)), 1), all(map(is_measured, missing))
        purpose = f"for the environment{'s' * (len(missing) > 1)}"
        yield host.disk(machine, "disk", folder.parent, need, purpose, remedy, certain)
    if thorough:
        yield from map(_python, dict.fromkeys(target.python for target in missing))
        locks = [machine.read(target.lock) or "" for target in missing if target.lock]
        if any(re.search(r"^[\w.-]+==", lock, re.MULTILINE) for lock in locks):
            yield index(machine, tuple(dict.fromkeys(word for lock in locks for word in _sources(lock))))


@functools.cache
def index(machine: Machine, sources: tuple[str, ...] = ()) -> Finding:
    """Whether uv reaches its package index, and the other sources that a lock names."""
    command = [find_uv_bin(), "pip", "compile", "-", "--quiet", "--no-deps", "--no-header", "--refresh", *sources]
    env = {**os.environ, "UV_HTTP_TIMEOUT": "5", "UV_HTTP_RETRIES": "0"}
    answer = machine.run(command, env=env, input=_ASKED_FOR, timeout_s=_REACH_LIMIT_S)
    if answer.returncode == 0:
        return ok("package index", "answers")
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    reason = "; ".join(dict.fromkeys([*lines[:1], *lines[-1:]])) or f"uv ends with {answer.returncode}"
    return error(
        "package index",
        f"the package index is not reached: {reason}",
        "Mend the network, or tell uv of an index and a proxy: UV_INDEX_URL, HTTPS_PROXY, SSL_CERT_FILE.",
    )


def _sources(lock: str) -> tuple[str, ...]:
    found = re.findall(r"^(--(?:extra-)?index-url|--find-links)[ =](\S+)", lock, re.MULTILINE)
    return tuple(word for pair in found for word in pair)


def _python(version: str) -> Finding:
    found = pythons.find_python(version)
    if found:
        return ok("Python", f"{version}: {host.short(found)}")
    return warning(
        "Python",
        f"Python {version} is not on this machine; the first run lets uv download it",
        f"If it cannot: apt-get install python{version}, or pyenv install {version}.",
    )

"""Checks what a virtual environment needs: a Python, disk space, and an index with its packages."""

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
from portbench.targets.pinning import unreached_vendor
from portbench.util.findings import Finding, Findings, error, ok, warning
from portbench.util.machine import Machine

_TIMEOUT_S = 15
# Every index with the packages of a lock also has uv, and its metadata are small.
_REQUIREMENT = "uv\n"


def environment(machine: Machine, targets: Sequence[Target], thorough: bool) -> Findings:
    """Whether the environments of these targets exist or can be created. The second one is that of the TPU compiler.

    ``thorough`` also starts Pythons and queries the package index.
    """
    missing = [target for target in targets if not environments.environment_exists(target)]
    folder = environments.environment_folder(targets[0])
    for target, subject in zip(targets, ("environment", "compiler"), strict=False):
        which = "" if target is targets[0] else f"{target.environment}: "
        if target in missing:
            yield ok(subject, f"{which}not created yet: the first run creates it")
        else:
            yield ok(subject, f"{which}created, in {host.short(folder.parent)}")
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
        yield from filter(None, (unreached_vendor(target, machine) for target in missing))
        locks = [machine.read(target.lock or target.source or "") or "" for target in missing]
        if any(re.search(r"^[\w.-]+==", lock, re.MULTILINE) for lock in locks):
            pages = [word for target in missing if target.lock for word in _sources(machine.read(target.lock) or "")]
            yield index(machine, tuple(dict.fromkeys(pages)))


@functools.cache
def index(machine: Machine, sources: tuple[str, ...] = ()) -> Finding:
    """Whether uv can reach its package index and the other sources in a lock."""
    command = [find_uv_bin(), "pip", "compile", "-", "--quiet", "--no-deps", "--no-header", "--refresh", *sources]
    env = {**os.environ, "UV_HTTP_TIMEOUT": "5", "UV_HTTP_RETRIES": "0"}
    answer = machine.run(command, env=env, input=_REQUIREMENT, timeout_s=_TIMEOUT_S)
    if answer.returncode == 0:
        return ok("package index", "answers")
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    reason = "; ".join(dict.fromkeys([*lines[:1], *lines[-1:]])) or f"uv ends with status {answer.returncode}"
    return error(
        "package index",
        f"the package index cannot be reached: {reason}",
        "Fix the network, or set an index or a proxy for uv: UV_INDEX_URL, HTTPS_PROXY, SSL_CERT_FILE.",
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
        f"Python {version} is not on this machine; the first run downloads it with uv",
        f"If it cannot: apt-get install python{version}, or pyenv install {version}.",
    )

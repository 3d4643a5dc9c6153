"""How the packages of this environment were pinned, as its portbench.lock says (see images/install)."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

_FOUND_AT_INSTALL = "# pinned, not hash-locked"


def pins(prefix: Path = Path(sys.prefix)) -> dict[str, Any]:
    """``{"pins": {"kind", "lock_sha256"}}`` of the environment at ``prefix``; empty if it has no portbench.lock.

    If the hashes were found at install, "hashes" has those of each package: no file in images/ holds them.
    """
    try:
        content = (prefix / "portbench.lock").read_bytes()
    except OSError:
        return {}
    text = content.decode("utf-8", "replace")
    found = {"kind": "hash-locked", "lock_sha256": hashlib.sha256(content).hexdigest()}
    if not text.startswith(_FOUND_AT_INSTALL):
        return {"pins": found}
    blocks = re.findall(r"^([A-Za-z0-9][\w.-]*)((?:.*\\\n)*.*)$", text, re.MULTILINE)
    hashes = {name.lower().replace("_", "-"): re.findall(r"--hash=(\S+)", rest) for name, rest in blocks}
    return {"pins": {**found, "kind": _FOUND_AT_INSTALL[2:], "hashes": hashes}}

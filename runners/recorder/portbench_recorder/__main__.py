"""``python -m portbench_recorder FOLDER``: makes the manifests of a recording, and prints their paths."""

from __future__ import annotations

import sys
from pathlib import Path

from portbench_recorder.manifests import NotRecorded, write_manifests


def main() -> int:
    if len(sys.argv) not in (2, 3):
        sys.stderr.write("usage: python -m portbench_recorder FOLDER [PROGRAM]\n")
        return 2
    try:
        for path in write_manifests(Path(sys.argv[1]), *sys.argv[2:]):
            print(path)
    except (NotRecorded, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

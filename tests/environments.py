"""``make environments``: creates every environment that the tests need. They create a missing one, too."""

from __future__ import annotations

import sys

from portbench.errors import PortbenchError
from portbench.targets.catalog import GPU_COMPILER, TPU_COMPILER, find_targets
from portbench.targets.environments import create_environment
from portbench.util.repository import find_checkout
from tests.contract.contracts import TARGETS


def main() -> int:
    try:
        for target in find_targets(["fake-cpu", *TARGETS, TPU_COMPILER, GPU_COMPILER], find_checkout()):
            create_environment(target, print)
    except PortbenchError as error:
        print(f"error: {error}\n{error.remedy}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())

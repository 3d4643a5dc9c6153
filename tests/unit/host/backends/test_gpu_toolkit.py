"""A GPU target in a container: what its machine lacks is said before an image is built."""

from __future__ import annotations

from portbench.backends.docker import Docker
from portbench.targets.catalog import find_targets
from portbench.util.repository import find_checkout
from tests.unit.host.described_machine import Described

CHECKOUT = find_checkout()


def test_a_missing_container_toolkit_is_reported_before_the_missing_image() -> None:
    (target,) = find_targets(["torch-gpu"], CHECKOUT)
    blocker = Docker(CHECKOUT, Described().with_docker()).blocker(target)
    assert "container toolkit" in str(blocker)
    assert "Install nvidia-container-toolkit" in str(blocker and blocker.remedy)

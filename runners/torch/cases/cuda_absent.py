"""torch.cuda where there is no CUDA device: what it reports, ignores and refuses. Skipped everywhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from runners.core.testing.trial import Trial

_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd", "/proc/driver/nvidia")


def _skip_with_devices(trial: Trial) -> None:
    if not trial.is_on_host:
        trial.skip("this is about the host alone")
    if any(Path(each).exists() for each in _DRIVERS):
        trial.skip("this machine may have a CUDA device")


def absent_facts(trial: Trial) -> None:
    """There is no device, nothing is initialized and no memory is used; neither question initializes anything."""
    _skip_with_devices(trial)
    cuda = trial.function
    for _ in range(2):
        for name, expected in (
            ("is_available", False),
            ("device_count", 0),
            ("is_initialized", False),
            ("memory_allocated", 0),
            ("max_memory_allocated", 0),
            ("memory_reserved", 0),
            ("get_arch_list", []),
            ("get_rng_state_all", []),
        ):
            found = trial.call_method(cuda, name)
            trial.check(
                type(found) is type(expected) and found == expected, f"{name}: expected {expected}, got {found}"
            )


def absent_ignored(trial: Trial) -> None:
    """Seeds are ignored without an error, and the cache is empty already. The random state of the host stays."""
    _skip_with_devices(trial)
    cuda = trial.function
    torch.manual_seed(5)
    before = torch.get_rng_state()
    trial.repeatable = False
    for name, args in (
        ("manual_seed", (3,)),
        ("manual_seed_all", (4,)),
        ("seed", ()),
        ("seed_all", ()),
        ("empty_cache", ()),
        ("set_device", (-1,)),
    ):
        trial.check(trial.call_method(cuda, name, *args) is None, f"{name}: expected None to be returned")
        trial.check(torch.equal(torch.get_rng_state(), before), f"{name} has changed the random state of the host")
    with trial.call_method(cuda, "device", -1), trial.call_method(cuda, "stream", None):
        trial.equal(trial.numpy(torch.ones(2, device=trial.device) * 3), trial.numpy(torch.full((2,), 3.0)))
    trial.equal([cuda.is_initialized(), cuda.is_available()], [False, False])


def absent_refused(trial: Trial, name: str, args: Any = ()) -> None:
    """What needs a device raises an error, each time it is asked."""
    _skip_with_devices(trial)
    for _ in range(2):
        # The message depends on the build and on the process: no support, no driver, or a forked process.
        trial.raises_inside(["RuntimeError", "AssertionError"], "", lambda _: getattr(trial.function, name)(*args))
    trial.equal(trial.function.is_initialized(), False)

"""A stand-in for a vendor's package: registers the device ``vendor`` that ``backend.cpp`` implements.

``VENDOR_LIBRARY`` is the compiled ``backend.cpp``. ``VENDOR_FAULT`` says how the package differs from a whole one: ``no
device``, ``nothing registered``, ``no synchronize``, ``only PyTorch's synchronize``, ``early synchronize``, ``broken
driver``.
"""

from __future__ import annotations

import os
import sys

import torch

__version__ = "1.2.3"

_FAULT = os.environ.get("VENDOR_FAULT", "")


def is_available() -> bool:
    return _FAULT != "no device"


def device_count() -> int:
    return int(is_available())


def current_device() -> int:
    return 0


def get_device_name(device: object = None) -> str:
    return "Vendor One"


def manual_seed_all(seed: int) -> None:
    pass


def _is_in_bad_fork() -> bool:
    return False


if _FAULT == "only PyTorch's synchronize":

    def _lazy_init() -> None:
        pass

elif _FAULT != "no synchronize":

    def synchronize(device: object = None) -> None:
        if _FAULT != "early synchronize":
            torch.ops.vendor.synchronize()


if _FAULT == "broken driver":
    raise ImportError("libvendor.so.1: cannot open shared object file: No such file or directory")
if _FAULT != "nothing registered":
    torch.ops.load_library(os.environ["VENDOR_LIBRARY"])
    torch.utils.rename_privateuse1_backend("vendor")
    torch._register_device_module("vendor", sys.modules[__name__])

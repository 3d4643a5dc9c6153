"""The TPUs that programs can be compiled for without one: their topologies and published peak rates.

A device is the unit that the compiler compiles a program for: a core, which is half a chip on v2, v3, v4 and tpu7x.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """``topology``: the compiler's name of what it compiles for. ``flops_per_s``: peak rate of products in bfloat16;
    ``bytes_per_s``: bandwidth of the device's memory. For TPUs, the vendor publishes both in its system architecture
    (cloud.google.com/tpu/docs). ``memory_bytes``: the memory that a program may use; for TPUs, what libtpu 0.0.52
    reports as available, which is less than is built in."""

    topology: str
    flops_per_s: float
    bytes_per_s: float
    memory_bytes: int


_GIB = 1 << 30


MODELS = {
    "tpu-v2": Model("v2:2x2", 23e12, 350e9, int(7.48 * _GIB)),
    "tpu-v3": Model("v3:2x2", 61.5e12, 450e9, int(15.48 * _GIB)),
    "tpu-v4": Model("v4:2x2x1", 137.5e12, 614e9, int(15.25 * _GIB)),
    "tpu-v5e": Model("v5e:2x2", 197e12, 819e9, int(15.75 * _GIB)),
    "tpu-v5p": Model("v5p:2x2x1", 459e12, 2765e9, int(95.73 * _GIB)),
    "tpu-v6e": Model("v6e:2x2", 918e12, 1640e9, int(31.24 * _GIB)),
    "tpu7x": Model("tpu7x:2x2x1", 1153.5e12, 3690e9, int(94.74 * _GIB)),
}


def roofline_ns(model: Model, flops: float, moved_bytes: float) -> float:
    """A lower bound of a program's time in ns: its operations at the peak rate, or ``moved_bytes``, which must be read
    or written at least once, at the full bandwidth.

    Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
    """
    return 1e9 * max(flops / model.flops_per_s, moved_bytes / model.bytes_per_s)

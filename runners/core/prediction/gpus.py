"""The GPUs that programs can be compiled for without one: what the compiler must know of each card, and its published
peak rates."""

from __future__ import annotations

from typing import NamedTuple

from runners.core.prediction.tpus import Model


class Card(NamedTuple):
    """What XLA's compiler is given of a card: the CUDA compute capability with whether it has features of its own
    (sm_90a), multiprocessors (``cores``) and what each holds, caches, and the memory as the driver reports it.

    Source: the specifications of cards in XLA (xla/tools/hlo_opt/gpu_specs), and for the T4 NVIDIA's "Turing GPU
    Architecture" whitepaper; 14.75 GiB of its 16 GB remain with error correction.
    """

    name: str
    capability: tuple[int, int]
    has_own_features: bool
    cores: int
    clock_ghz: float
    threads_per_core: int
    fpus_per_core: int
    shared_bytes_per_core: int
    shared_bytes_per_block: int
    l2_bytes: int
    memory_bytes: int


CARDS = {
    "gpu-t4": Card("Tesla T4", (7, 5), False, 40, 1.59, 1024, 64, 65536, 65536, 4194304, 15835660288),
    "gpu-v100": Card("Tesla V100-SXM2-16GB", (7, 0), False, 80, 1.53, 2048, 64, 98304, 98304, 6291456, 16935682048),
    "gpu-a100": Card(
        "NVIDIA A100-SXM4-80GB", (8, 0), False, 108, 1.41, 2048, 64, 167936, 166912, 41943040, 85100068864
    ),
    "gpu-h100": Card(
        "NVIDIA H100 80GB HBM3", (9, 0), True, 132, 1.98, 2048, 128, 233472, 232448, 52428800, 84942979072
    ),
    "gpu-h200": Card(
        "NVIDIA H200 141GB HBM3e", (9, 0), True, 132, 1.98, 2048, 128, 233472, 232448, 52428800, 151397597184
    ),
    "gpu-b200": Card("NVIDIA B200", (10, 0), True, 148, 1.965, 2048, 128, 233472, 232448, 132644864, 191514411008),
}

_PEAKS = {
    "gpu-t4": (65e12, 320e9),
    "gpu-v100": (125e12, 900e9),
    "gpu-a100": (312e12, 2039e9),
    "gpu-h100": (989.5e12, 3350e9),
    "gpu-h200": (989.5e12, 4800e9),
    "gpu-b200": (2250e12, 8000e9),
}
"""The peak rate of products in float16 or bfloat16 without sparsity, in operations a second, and the bandwidth of the
memory, in bytes a second. Source: NVIDIA's data sheets of the T4, V100 (SXM2), A100 (80 GB SXM), H100 (SXM), H200 (SXM)
and HGX B200."""

MODELS = {device: Model(card.name, *_PEAKS[device], card.memory_bytes) for device, card in CARDS.items()}

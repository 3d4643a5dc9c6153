"""Functions that only move values keep every bit of them: NaN with payloads of either sign, subnormal numbers."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.options import FUNCTIONS

_BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
_PATTERNS = {
    "float16": [0x7E00, 0xFE01, 0x7F01, 0xFC00, 0x8000, 0x0001, 0x83FF, 0x7BFF],
    "bfloat16": [0x7FC0, 0xFFC1, 0x7FE1, 0xFF80, 0x8000, 0x0001, 0x807F, 0x7F7F],
    "float32": [0x7FC00000, 0xFFC12345, 0x7FE00001, 0xFF800000, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF],
    "float64": [0x7FF8 << 48, 0xFFF8 << 48 | 5, 0x7FFC << 48 | 1, 0xFFF0 << 48, 1 << 63, 1, 1 << 63 | 99, 0x7FEF << 48],
}
"""Quiet NaN of both signs with payloads, an infinity, a zero, subnormal numbers and a large one."""


def keeps_bits(
    trial: Trial, subject: str, shapes: Sequence[Sequence[int]], dtype: str, traced: bool = True, **options: Any
) -> None:
    """The output has the bits of the inputs at their places, also in a tf.function if it can be ``traced``."""
    about = FUNCTIONS[subject]
    unsigned, bits = np.asarray(_PATTERNS[dtype], "uint64"), _BITS[dtype]
    hosts = []
    for number, shape in enumerate(shapes):
        count = int(np.prod(shape))
        chosen = np.resize(np.roll(unsigned, number + trial.seed(0) % 3), count)
        hosts.append(chosen.astype(f"uint{bits}").view(f"int{bits}").reshape(shape))
    inputs = [tf.bitcast(trial.tensor(host), trial.dtype(dtype)) for host in hosts]

    def body(function: Callable[..., Any]) -> Any:
        def moved(*inputs: Any) -> Any:
            return tf.bitcast(about.call(function, *inputs, **options), f"int{bits}")

        return [moved(*inputs), *([tf.function(moved, autograph=False)(*inputs)] if traced else [])]

    expected = np.asarray(about.compute(*hosts, **options))
    for output in trial.call_inside(body):
        trial.equal(output, expected)

"""Lists the kernels that a TensorFlow wheel registers for GPUs. A wheel for CUDA registers them without any GPU.

    python -m runners.tensorflow.kernel_registry OUT WHEEL SHA256

``portbench kernels`` starts this with that wheel unpacked at the beginning of the path. It writes the document of
``schema/kernels.schema.json`` to OUT. WHEEL and SHA256 identify the wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

from runners.core.prediction.kernel_table import Kernel, merged, text

DEVICES = ("GPU", "DEFAULT")
"""The devices whose kernels a GPU uses: its own, else those for any device."""


def main(arguments: list[str]) -> None:
    """Writes the document."""
    out, wheel, sha256 = arguments
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    head = {
        "schema": "portbench/kernels",
        "schema_version": 1,
        "framework": "tensorflow",
        "version": str(tf.__version__),
        "wheel": {
            "name": wheel,
            "sha256": sha256,
            "cuda": build.get("cuda_version"),
            "cudnn": build.get("cudnn_version"),
        },
    }
    Path(out).write_text(text(head, registered()), "utf-8")


def registered() -> dict[str, list[Kernel]]:
    """The kernels of each operation, in as few entries as possible."""
    from tensorflow.python.framework import dtypes, kernels, op_def_registry

    found: dict[str, list[Kernel]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        # A kernel with a label is used only if a graph requests it by that label.
        if kernel.device_type not in DEVICES or kernel.label:
            continue
        operation = op_def_registry.get(kernel.op)
        arguments: set[str] = set()
        if operation is not None:
            arguments = {each.name for each in (*operation.input_arg, *operation.output_arg)}
        types = {
            each.name: sorted(dtypes.as_dtype(number).name for number in each.allowed_values.list.type)
            for each in kernel.constraint
            if each.allowed_values.list.type  # others, such as a policy of indices, exclude no dtype
        }
        host = bool(arguments) and arguments <= set(kernel.host_memory_arg)
        found.setdefault(kernel.op, []).append({"types": types, **({"host": True} if host else {})})
    return {name: merged(found[name]) for name in sorted(found)}


if __name__ == "__main__":
    main(sys.argv[1:])

"""Foretells calls for a GPU that is not there: by the kernels that TensorFlow's wheel for CUDA has (kernel_table).

A call is made on a second device of the CPU, which stands in for the GPU. What is asked of that device and has no
kernel for its dtypes is refused, as TensorFlow does without soft placement; what may lie anywhere, inside of a function
above all, would move to the host. What a kernel refuses by itself, and what it computes, is not known. Implements
runners.core.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping

import tensorflow as tf
from tensorflow.python.framework import kernels

from runners.core.prediction import kernel_table
from runners.core.prediction.prediction import Estimate, Unknown
from runners.tensorflow import dispatch_listener
from runners.tensorflow.devices import said_by
from runners.tensorflow.op_trace import NO_OPERATIONS, PYTHON, short
from runners.tensorflow.placing import STAND_IN


class Refused(tf.errors.InvalidArgumentError):  # type: ignore[misc]
    """An operation without a kernel; what a case catches where it expects TensorFlow's own error."""

    recorded_as = "runners.tensorflow.predicting_gpu.Refused"

    def __init__(self, message: str) -> None:
        super().__init__(None, None, message)


def open_device(device: str) -> kernel_table.Table:
    return kernel_table.of_version("tensorflow", str(tf.__version__).split("+")[0])


def stand_in(table: kernel_table.Table) -> str:
    return "gpu-predicted"


def about(table: kernel_table.Table) -> Mapping[str, str | None]:
    return {"kind": "kernel registry", "compiler": table.wheel["name"], "topology": None}


def facts(table: kernel_table.Table) -> Mapping[str, str | int | float | bool | None]:
    wheel = table.wheel
    return {"kernels_of_sha256": wheel["sha256"], "cuda": wheel["cuda"], "cudnn": wheel["cudnn"]}


def refuses(error: BaseException, table: kernel_table.Table) -> bool:
    """What is computed between the timed calls is not looked up."""
    return False


def predict(call: partial[Any], table: kernel_table.Table) -> Estimate:
    judge = _Judge(table)
    try:
        with dispatch_listener.listening(judge):
            output = call()
    except Refused:
        raise
    except Exception as error:
        raise Unknown(f"the call does not succeed on the CPU: {type(error).__name__}: {said_by(error)}") from error
    return Estimate(device_work=bool(judge.device), host_operations=judge.moved, made=(output,))


class _Judge:
    """Is told the operations of a call. ``device`` are those that a GPU computes, ``host`` those that it would not."""

    def __init__(self, table: kernel_table.Table) -> None:
        self._table = table
        self.device: list[str] = []
        self.host: list[str] = []
        self._in_host_memory: list[str] = []

    @property
    def moved(self) -> list[str]:
        """What the host computes. A kernel for GPUs whose arguments all lie in the host's memory serves shapes and
        sizes mostly; it counts where there is nothing else."""
        return self.host or ([] if self.device else self._in_host_memory)

    def __call__(self, asked: dispatch_listener.Asked) -> None:
        answer = self._table.look_up(asked.name, asked.types)
        here = asked.device == short(STAND_IN)
        if answer.verdict in ("dtype", "none"):
            # What has no kernel on any device is not computed as an operation.
            if here and kernels.get_registered_kernels_for_op(asked.name).kernel:
                raise Refused(kernel_table.refusal(asked.name, asked.types, answer))
            found = self.host
        elif asked.name in PYTHON or not (here or asked.device is None):
            found = self.host
        else:
            found = self._in_host_memory if answer.verdict == "host" else self.device
        if asked.name not in NO_OPERATIONS:
            found.append(asked.name)

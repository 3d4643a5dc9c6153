"""Predicts calls for an absent GPU from the kernels of TensorFlow's wheel for CUDA (kernel_table).

A call is made on a second device of the CPU, the stand-in for the GPU. An operation on that device without a kernel for
its dtypes is refused, as in TensorFlow without soft placement. An operation that may run on any device, mostly inside a
function, would move to the host. It is not known what a kernel itself refuses and what it computes. Implements
runners.core.prediction.prediction.Predictor.
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
    """An operation has no kernel. A case catches it if it expects TensorFlow's own error."""

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
    """False: operations between the timed calls are not looked up."""
    return False


def predict(call: partial[Any], table: kernel_table.Table) -> Estimate:
    checker = _KernelChecker(table)
    try:
        with dispatch_listener.listening(checker):
            output = call()
    except Refused:
        raise
    except Exception as error:
        raise Unknown(f"the call does not succeed on the CPU: {type(error).__name__}: {said_by(error)}") from error
    return Estimate(device_work=bool(checker.device), host_operations=checker.moved, made=(output,))


class _KernelChecker:
    """Looks up the operations of a call. ``device`` has those that a GPU computes, ``host`` those that the host
    does."""

    def __init__(self, table: kernel_table.Table) -> None:
        self._table = table
        self.device: list[str] = []
        self.host: list[str] = []
        self._in_host_memory: list[str] = []

    @property
    def moved(self) -> list[str]:
        """The operations that the host computes. A kernel for GPUs whose arguments are all in the host's memory is
        mostly for shapes and sizes; it counts only if there is nothing else."""
        return self.host or ([] if self.device else self._in_host_memory)

    def __call__(self, asked: dispatch_listener.Request) -> None:
        answer = self._table.look_up(asked.name, asked.types)
        here = asked.device == short(STAND_IN)
        if answer.verdict in ("dtype", "none"):
            # An operation without a kernel on any device is not computed as an operation.
            if here and kernels.get_registered_kernels_for_op(asked.name).kernel:
                raise Refused(kernel_table.refusal(asked.name, asked.types, answer))
            found = self.host
        elif asked.name in PYTHON or not (here or asked.device is None):
            found = self.host
        else:
            found = self._in_host_memory if answer.verdict == "host" else self.device
        if asked.name not in NO_OPERATIONS:
            found.append(asked.name)

"""Foretells calls for a GPU that is not there: by the kernels that PyTorch's wheel for CUDA has (kernels/, written by
kernel_registry).

A call is made on the CPU. Each operation is looked up before it is computed: the first without a kernel for its dtypes
is refused. Where the dtypes of a kernel are not known, any is accepted. What a kernel refuses by itself, what it
computes, and which of the operations the call would leave to the host, is not known. Implements
runners.core.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping

import torch

from runners.core.prediction import kernel_table
from runners.core.prediction.prediction import Estimate, Unknown
from runners.torch.dispatch_listener import Asked, listening

_OF_THE_CPU = ("mkldnn_", "_for_cpu")
"""In the name of an operation that PyTorch takes for tensors on a CPU alone; for a GPU it takes another."""

_CANNOT_BE_SEEN = "Can't convert Generator to a Python object"


class Refused(NotImplementedError):
    """An operation without a kernel. What a case catches where it expects PyTorch's own error, a RuntimeError too."""

    recorded_as = "runners.torch.predicting_gpu.Refused"


def open_device(device: str) -> kernel_table.Table:
    return kernel_table.of_version("torch", torch.__version__.split("+")[0])


def stand_in(table: kernel_table.Table) -> str:
    return "cpu"


def about(table: kernel_table.Table) -> Mapping[str, str | None]:
    return {"kind": "kernel registry", "compiler": table.wheel["name"], "topology": None}


def facts(table: kernel_table.Table) -> Mapping[str, str | int | float | bool | None]:
    wheel = table.wheel
    return {"kernels_of_sha256": wheel["sha256"], "cuda": wheel["cuda"], "cudnn": wheel["cudnn"]}


def refuses(error: BaseException, device: kernel_table.Table) -> bool:
    return False


def predict(call: partial[Any], table: kernel_table.Table) -> Estimate:
    judge = _Judge(table)
    try:
        with listening(judge):
            output = call()
    except Refused:
        raise
    except Exception as error:
        said = (str(error).strip() or "no message").split("\n")[0]
        if _CANNOT_BE_SEEN in said:
            raise Unknown("PyTorch 1.12 shows no operation that is given a random generator") from error
        raise Unknown(f"the call does not succeed on the CPU: {type(error).__name__}: {said}"[:500]) from error
    return Estimate(device_work=judge.computes, made=(output,))


class _Judge:
    """Is told the operations of a call; ``computes``, whether one of them is more than a move."""

    def __init__(self, table: kernel_table.Table) -> None:
        self._table = table
        self.computes = False

    def __call__(self, asked: Asked) -> None:
        answer = self._table.look_up(asked.name, asked.types)
        if answer.verdict != "device" and not any(word in asked.name for word in _OF_THE_CPU):
            raise Refused(kernel_table.refusal(asked.name, asked.types, answer))
        self.computes |= not asked.moves

"""Predicts calls for an absent GPU from the kernels of PyTorch's wheel for CUDA (kernels/, written by kernel_registry).

A call is made on the CPU. Each operation is looked up before it is computed: the first one without a kernel for its
dtypes is refused. If the dtypes of a kernel are not known, any is accepted. It is not known what a kernel itself
refuses, what it computes, and which operations of the call would run on the host. Implements
runners.core.prediction.prediction.Predictor.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping

import torch

from runners.core.prediction import kernel_table
from runners.core.prediction.prediction import Estimate, Unknown
from runners.core.programs import Absent, Program
from runners.torch.aten_programs import FORMS, AtenProgram, remarks
from runners.torch.dispatch_listener import Request, listening

_CPU_ONLY = ("mkldnn_", "_for_cpu")
"""Parts of names of operations that PyTorch uses only for tensors on a CPU; for a GPU it uses another operation."""

_NO_RANGE = ("bfloat16", "\"range_cuda\" not implemented for 'BFloat16'")
_NO_RANDPERM = ("bfloat16", "\"randperm_out_cuda\" not implemented for 'BFloat16'")
_REFUSED_INSIDE: Mapping[str, tuple[str | None, str]] = {
    "aten::sspaddmm.out": (None, "NYI: CUDA sspaddmm is not implemented"),
    **dict.fromkeys(("aten::range", "aten::range.step", "aten::range.out"), _NO_RANGE),
    **dict.fromkeys(("aten::randperm", "aten::randperm.generator", "aten::randperm.generator_out"), _NO_RANDPERM),
}
"""Kernels that the wheel has and that raise an error, for one dtype or always: what PyTorch 2.11.0 said on an H200."""

_CANNOT_BE_SEEN = "Can't convert Generator to a Python object"


class Refused(NotImplementedError):
    """An operation has no kernel. A RuntimeError, which a case catches if it expects PyTorch's own error."""

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
    return predict_with(KernelChecker(table), call)


def predict_with(checker: KernelChecker, call: partial[Any]) -> Estimate:
    """Makes the call on the CPU, with the checker as listener. Raises what it raises, and Unknown if the call fails."""
    try:
        with listening(checker):
            output = call()
    except (Refused, Unknown):
        raise
    except Exception as error:
        said = (str(error).strip() or "no message").split("\n")[0]
        if _CANNOT_BE_SEEN in said:
            raise Unknown("PyTorch 1.12 shows no operation that is given a random generator") from error
        raise Unknown(f"the call does not succeed on the CPU: {type(error).__name__}: {said}"[:500]) from error
    return Estimate(device_work=checker.computes, host_operations=checker.on_host, made=(output,))


def predict_program(program: Program, table: kernel_table.Table) -> Estimate:
    """Looks up all operations of the program, which are made without memory."""
    found = AtenProgram(program.module("cuda", FORMS))
    checker = KernelChecker(table)
    here = torch.device("meta")
    try:
        with listening(checker):
            found.run(found.inputs(here), here)
    except Absent:
        raise
    except Refused as error:
        raise Refused(f"{error} ({found.layer})" if found.layer else str(error)) from error
    except Exception as error:
        said = (str(error).strip() or "no message").split("\n")[0]
        raise Unknown(f"the program cannot be made without memory: {type(error).__name__}: {said}"[:500]) from error
    return Estimate(device_work=checker.computes, remarks=remarks(found))


class KernelChecker:
    """Looks up the operations of a call. ``computes``: one of them does more than move data. ``on_host``: the
    operations that the device leaves to the CPU."""

    def __init__(self, table: kernel_table.Table) -> None:
        self._table = table
        self.computes = False
        self.on_host: list[str] = []

    def __call__(self, asked: Request) -> None:
        answer = self._table.look_up(asked.name, asked.types)
        if answer.verdict == "host":
            self.on_host.append(asked.name)
            return
        if answer.verdict != "device" and not any(word in asked.name for word in _CPU_ONLY):
            if asked.is_nested:
                raise Unknown(f"{asked.name} has a nested tensor, and the list does not say which kernels take those")
            raise self._refusal(asked, answer)
        dtype, message = _REFUSED_INSIDE.get(asked.name, ("", ""))
        if dtype is None or any(dtype in found for found in asked.types.values()):
            raise Refused(message)
        self.computes |= not asked.moves

    def _refusal(self, asked: Request, answer: kernel_table.Answer) -> Exception:
        return Refused(kernel_table.refusal(asked.name, asked.types, answer))

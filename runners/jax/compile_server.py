"""A server that compiles programs for an absent TPU or GPU: ``python -m runners.jax.compile_server DEVICE``.

libtpu or XLA:GPU compiles ahead of time and is called through jax. The server reads from stdin a JSON line
``{"form", "bytes"}`` and that many bytes of a module. It writes to stdout one JSON line when it is ready and one for
each module (see runners.core.prediction.compiling and TpuCompiler.answer).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, Protocol

from runners.core.prediction import gpus, tpus
from runners.core.process import processes
from runners.jax.compile_cache import CompileCache
from runners.jax.gpu_compiler import GpuCompiler
from runners.jax.programs import read_program
from runners.jax.tpu_compiler import TpuCompiler

_REMEMBERED = 10_000

_PROGRAM = """module @self_test {{ func.func public @main(%a: tensor<8x128xf32>) -> tensor<8x128xf32> {{
  %r = {} tensor<8x128xf32>
  return %r : tensor<8x128xf32> }} }}"""
_COMPILED = _PROGRAM.format("stablehlo.add %a, %a :")
_NO_KERNEL = _PROGRAM.format("stablehlo.custom_call @portbench_no_such_kernel(%a) : (tensor<8x128xf32>) ->")
_INTEGER_CONVOLUTION = """module @self_test {
  func.func public @main(%a: tensor<1x3x8x8xi32>, %b: tensor<8x3x3x3xi32>) -> tensor<1x8x8x8xi32> {
    %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x3x8x8xi32>, tensor<8x3x3x3xi32>) -> tensor<1x8x8x8xi32>
    return %r : tensor<1x8x8x8xi32> } }"""


class _Compiler(Protocol):
    """``answer`` is that of TpuCompiler. ``name`` and ``client`` name all versions that an answer depends on."""

    name: str
    client: str
    device_kind: str

    def answer(self, program: Any, digest: str) -> dict[str, Any]: ...


def main(device: str) -> None:
    """Serves until stdin ends or the client dies."""
    processes.signal_at_death_of(os.getppid(), signal.SIGKILL)
    # What libraries print must not be mixed with the replies.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        compiler = _compiler(device)
        self_test(compiler, _NO_KERNEL if device in tpus.MODELS else _INTEGER_CONVOLUTION)
    except Exception as error:  # libtpu and its loader raise what they like
        said = str(error).split("\n")[0]
        say({"unavailable": f"{type(error).__name__}: {said}"})
        return
    server = _Server(compiler, CompileCache(f"{compiler.name} {compiler.client}", device))
    say({"compiler": compiler.name, "device_kind": compiler.device_kind})
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        module = sys.stdin.buffer.read(asked["bytes"])
        say(server.answer(module, asked["form"]))


def _compiler(device: str) -> _Compiler:
    if device in tpus.MODELS:
        return TpuCompiler(tpus.MODELS[device].topology)
    return GpuCompiler(device, gpus.MODELS[device].bytes_per_s)


def self_test(compiler: _Compiler, refused: str = _NO_KERNEL) -> None:
    """Raises RuntimeError for a compiler whose answers would say nothing about a program. ``refused`` is a program that
    no such device takes."""
    for expected, text in {"compiled": _COMPILED, "refused": refused}.items():
        program, digest = read_program(text.encode(), "stablehlo")
        answer = compiler.answer(program, digest)
        if expected not in answer:
            ((kind, said),) = answer.items()
            raise RuntimeError(
                f"{compiler.name} with {compiler.client} failed its self-test: a program that must be {expected} is "
                f"{kind}: {said}"
            )


class _Server:
    """A module that was compiled before, even with another name, is not compiled again."""

    def __init__(self, compiler: _Compiler, cache: CompileCache) -> None:
        self._compiler = compiler
        self._cache = cache
        self._answers: dict[str, dict[str, Any]] = {}

    def answer(self, module: bytes, form: str) -> dict[str, Any]:
        try:
            program, digest = read_program(module, form)
        except Exception as error:
            return {"unreadable": f"{type(error).__name__}: {error}"}
        found = self._answers.get(digest) or self._cache.get(digest)
        if found is None:
            found = self._compiler.answer(program, digest)
            # What has no verdict may have one in the next process.
            if "unknown" not in found:
                self._cache.put(digest, found)
        if len(self._answers) == _REMEMBERED:
            self._answers.clear()
        self._answers[digest] = found
        return found


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Compiles programs for a TPU that is not there, as it is told: ``python -m runners.jax.compile_server TOPOLOGY``.

libtpu compiles ahead of time; jax is its door. Reads from stdin a JSON line ``{"form", "bytes"}`` and so many bytes of
a module; writes to stdout one JSON line for each, after one that says that it is ready (see runners.core.compiling).
Needs the packages of images/jax/0.10.2/tpu.lock: the way from a module to the compiler is not jax's public interface.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sys
import time
from typing import Any

from runners.core.process import processes

_PORTABLE_ARTIFACT = b"ML\xefR"
_REMEMBERED = 10_000

_HASTY, _USUAL = -1.0, 0.0
"""The compiler's effort for a fast program. With less it is up to ten times sooner done with convolutions, whose
program then may move and need more; with others there is no great difference."""

_NAMES = re.compile(r"(?<=^HloModule )[^,\s]+|(?<=^ENTRY )\S+", re.MULTILINE)
"""Of a program and its main function, in the text of HLO."""

_OWN_PLACES = re.compile(r":?\s+@\s+0x[0-9a-f]+|Suspected Python Code Location")
"""From there on the compiler speaks of where it was, and of lines of Python that are not its client's."""


def main(topology: str) -> None:
    """Serves until stdin ends or the client is dead."""
    processes.signal_at_death_of(os.getppid(), signal.SIGKILL)
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        compiler = _Compiler(topology)
    except Exception as error:  # libtpu and its loader raise what they like
        said = str(error).split("\n")[0]
        say({"unavailable": f"{type(error).__name__}: {said}"})
        return
    say({"compiler": compiler.name, "device_kind": compiler.device_kind})
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        module = sys.stdin.buffer.read(asked["bytes"])
        say(compiler.answer(module, asked["form"]))


class _Unreadable(Exception):
    """A module is none of StableHLO, or was put into it wrongly: some older forms of HLO have no like there."""


class _Compiler:
    def __init__(self, topology: str) -> None:
        # No TPU is looked for, neither here nor in a cloud's metadata; several processes may compile at once.
        os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
        import importlib.metadata

        from jax.experimental import topologies

        self._device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
        self.name = f"libtpu {importlib.metadata.version('libtpu')}"
        self.device_kind = self._device.device_kind
        self._answers: dict[str, dict[str, Any]] = {}

    def answer(self, module: bytes, form: str) -> dict[str, Any]:
        """What is said of a module. One that comes again, be it under another name, is not compiled again."""
        try:
            program = _hlo(module) if form == "hlo" else module
            digest = _digest(program)
            if digest not in self._answers:
                if len(self._answers) == _REMEMBERED:
                    self._answers.clear()
                self._answers[digest] = self._answer(program, digest)
            return self._answers[digest]
        except Exception as error:
            return _refusal(error)

    def _answer(self, program: Any, digest: str) -> dict[str, Any]:
        try:
            try:
                return {"compiled": self._compiled(program, digest, _HASTY)}
            except _Unreadable as error:
                return {"unreadable": str(error)}
            except Exception:
                # Only what the compiler refuses as it is used for a real device is refused.
                return {"compiled": self._compiled(program, digest, _USUAL)}
        except Exception as error:
            return _refusal(error)

    def _compiled(self, program: Any, digest: str, effort: float) -> dict[str, Any]:
        """Figures of a compiled module, flops and bytes None where the compiler does not tell them. Raises what the
        compiler raises, and _Unreadable."""
        import numpy
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax._src.lib import _jax

        begin = time.perf_counter_ns()
        with mlir.make_ir_context() as context:
            options = compiler.get_compile_options(
                num_replicas=1, num_partitions=1, device_assignment=numpy.array([[self._device.id]])
            )
            options.executable_build_options.exec_time_optimization_effort = effort
            devices = _jax.DeviceList((self._device,))
            compiled = self._device.client.compile(_parsed(program, context), devices, options)
        taken = time.perf_counter_ns() - begin
        costs, memory = compiled.cost_analysis() or {}, compiled.get_compiled_memory_stats()
        # A program with nothing but moves has no operations; one of a custom call that tells none counts -1.
        flops, moved = costs.get("flops", 0.0), costs.get("bytes accessed", 0.0)
        told = flops >= 0 and moved >= 0
        return {
            "program": digest,
            "compile_ns": taken,
            "flops": flops if told else None,
            "bytes": moved if told else None,
            "memory_bytes": memory.argument_size_in_bytes
            + memory.output_size_in_bytes
            + memory.temp_size_in_bytes
            - memory.alias_size_in_bytes,
            "argument_bytes": memory.argument_size_in_bytes,
            "output_bytes": memory.output_size_in_bytes,
        }


def _refusal(error: Exception) -> dict[str, Any]:
    return {"refused": _OWN_PLACES.split(str(error))[0].strip()}


def _hlo(module: bytes) -> Any:
    from jax._src.lib import xla_client
    from jaxlib import _hlo as hlo

    if module.startswith(b"HloModule"):
        module = hlo.hlo_module_from_text(module.decode()).as_serialized_hlo_module_proto()
    return xla_client.XlaComputation(module)


def _digest(program: Any) -> str:
    """The same for programs that differ in their names, or in the values of a large constant, alone."""
    content = program if isinstance(program, bytes) else _NAMES.sub("", program.as_hlo_text()).encode()
    return hashlib.sha256(content).hexdigest()


def _parsed(program: Any, context: Any) -> Any:
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    if not isinstance(program, bytes):
        program = xla_client._xla.mlir.xla_computation_to_mlir_module(program)
    elif program.startswith(_PORTABLE_ARTIFACT) and b"StableHLO_v" in program[:64]:
        return stablehlo.deserialize_portable_artifact(context, program)
    try:
        parsed = ir.Module.parse(program)
    except ir.MLIRError as error:
        raise _Unreadable(str(error)) from error
    _without_copies(parsed)
    return parsed


def _without_copies(module: Any) -> None:
    """HLO's copy, which gives a variable of TensorFlow its own buffer, has no counterpart in StableHLO, and changes no
    value."""
    from jaxlib.mlir import ir

    copies: list[Any] = []

    def note(operation: Any) -> Any:
        if operation.name == "mhlo.copy":
            copies.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(note)
    for copy in copies:
        copy.results[0].replace_all_uses_with(copy.operands[0])
        copy.erase()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A server that compiles programs for an absent TPU: ``python -m runners.jax.compile_server TOPOLOGY``.

libtpu compiles ahead of time and is called through jax. The server reads from stdin a JSON line ``{"form", "bytes"}``
and that many bytes of a module. It writes to stdout one JSON line when it is ready and one for each module (see
runners.core.prediction.compiling). Needs the packages of images/jax/0.10.2/tpu.lock, because it uses private parts of
jax.
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

_LOW_EFFORT, _USUAL_EFFORT = -1.0, 0.0
"""The compiler's effort to make a program fast. With low effort it compiles convolutions up to ten times faster, and
the program may move and need more memory; for other programs there is little difference."""

_NAMES = re.compile(r"(?<=^HloModule )[^,\s]+|(?<=^ENTRY )\S+", re.MULTILINE)
"""The names of a program and its main function in the text of HLO."""

_OWN_PLACES = re.compile(r":?\s+@\s+0x[0-9a-f]+|Suspected Python Code Location")
"""After this, a message of the compiler has only its own stack and lines of Python that are not its client's."""


def main(topology: str) -> None:
    """Serves until stdin ends or the client dies."""
    processes.signal_at_death_of(os.getppid(), signal.SIGKILL)
    # What libraries print must not be mixed with the replies.
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
    """A module is not StableHLO, or its conversion to StableHLO failed: some older forms of HLO do not exist there."""


class _Compiler:
    def __init__(self, topology: str) -> None:
        # Do not look for a TPU, neither here nor in a cloud's metadata. Several processes may compile at once.
        os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
        import importlib.metadata

        from jax.experimental import topologies

        self._device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
        self.name = f"libtpu {importlib.metadata.version('libtpu')}"
        self.device_kind = self._device.device_kind
        self._answers: dict[str, dict[str, Any]] = {}

    def answer(self, module: bytes, form: str) -> dict[str, Any]:
        """The reply to a module. A module that was compiled before, even with another name, is not compiled again."""
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
                return {"compiled": self._compiled(program, digest, _LOW_EFFORT)}
            except _Unreadable as error:
                return {"unreadable": str(error)}
            except Exception:
                # Refused is only what the compiler refuses with its usual effort.
                return {"compiled": self._compiled(program, digest, _USUAL_EFFORT)}
        except Exception as error:
            return _refusal(error)

    def _compiled(self, program: Any, digest: str, effort: float) -> dict[str, Any]:
        """Figures of a compiled module; flops and bytes are None if the compiler does not report them. Raises what the
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
        # A program that only moves data has no operations. A custom call without figures counts -1.
        flops, moved = costs.get("flops", 0.0), costs.get("bytes accessed", 0.0)
        is_known = flops >= 0 and moved >= 0
        return {
            "program": digest,
            "compile_ns": taken,
            "flops": flops if is_known else None,
            "bytes": moved if is_known else None,
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
    """The same for programs that differ only in their names, or in the values of a large constant."""
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
    """Removes copies. HLO's copy gives a variable of TensorFlow its own buffer and changes no value; StableHLO has no
    such operation."""
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

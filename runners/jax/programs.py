"""Reads the programs that a compiler for absent devices is given: HLO and StableHLO in several forms.

Uses private parts of jax: it needs the packages of a compiler's environment (images/jax/*/tpu.lock, gpu-aot.lock).
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

_PORTABLE_ARTIFACT = b"ML\xefR"

_NAMES = re.compile(r"(?<=^HloModule )[^,\s]+|(?<=^ENTRY )\S+", re.MULTILINE)
"""The names of a program and its main function in the text of HLO."""


class Unreadable(Exception):
    """A module is not StableHLO, or its conversion to StableHLO failed: some older forms of HLO do not exist there."""


def read_program(module: bytes, form: str) -> tuple[Any, str]:
    """A module as ``parse`` takes it, and its digest.

    The digest is the same for programs that differ only in their names, or in the values of a large constant. Raises
    what jax raises for a module that is not one.
    """
    if form != "hlo":
        return module, hashlib.sha256(module).hexdigest()
    program = _hlo(module)
    return program, hashlib.sha256(_NAMES.sub("", program.as_hlo_text()).encode()).hexdigest()


def parse(program: Any, context: Any) -> Any:
    """A program of ``read_program`` as a module of StableHLO. Raises Unreadable."""
    try:
        parsed = _module(program, context)
    except Exception as error:
        raise Unreadable(str(error)) from error
    _without_copies(parsed)
    return parsed


def memory_figures(compiled: Any) -> dict[str, int]:
    """The bytes of the device's memory that a compiled program needs: in all, for its arguments, for its results."""
    memory = compiled.get_compiled_memory_stats()
    return {
        "memory_bytes": memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        + memory.temp_size_in_bytes
        - memory.alias_size_in_bytes,
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
    }


def _hlo(module: bytes) -> Any:
    from jax._src.lib import xla_client
    from jaxlib import _hlo as hlo

    if module.startswith(b"HloModule"):
        module = hlo.hlo_module_from_text(module.decode()).as_serialized_hlo_module_proto()
    return xla_client.XlaComputation(module)


def _module(program: Any, context: Any) -> Any:
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    if not isinstance(program, bytes):
        program = xla_client._xla.mlir.xla_computation_to_mlir_module(program)
    elif program.startswith(_PORTABLE_ARTIFACT) and b"StableHLO_v" in program[:64]:
        return stablehlo.deserialize_portable_artifact(context, program)
    return ir.Module.parse(program)


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

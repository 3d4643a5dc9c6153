"""Reads and compiles recorded programs with the installed JAX."""

from __future__ import annotations

from typing import Any

from runners.core.programs import Absent, Module

FORMS = ("stablehlo", "hlo")


def text(module: Module) -> str:
    """A program as the text of a module. Raises Absent where this version of JAX cannot read it."""
    parsed, _ = _parsed(module)
    return str(parsed)


def compile_for(device: Any, module: Module) -> None:
    """Compiles a program for one of JAX's devices. Raises what JAX raises, and Absent where this version of JAX cannot
    read the program or has no function for it."""
    parsed, context = _parsed(module)
    try:
        import numpy
        from jax._src import compiler
        from jax._src.lib import _jax

        options = compiler.get_compile_options(
            num_replicas=1, num_partitions=1, device_assignment=numpy.array([[device.id]])
        )
        devices = _jax.DeviceList((device,))
        compile_and_load = device.client.compile_and_load
    except (ImportError, AttributeError) as error:
        raise Absent(f"this version of JAX compiles no recorded program: {error}") from error
    with context:
        compile_and_load(parsed, devices, options)


def _parsed(module: Module) -> tuple[Any, Any]:
    """A program, and the context that it lives in."""
    try:
        from jax._src.interpreters import mlir

        from runners.jax.programs import parse, read_program

        context = mlir.make_ir_context()
        with context:
            return parse(read_program(module.content, module.form)[0], context), context
    except Exception as error:
        raise Absent(f"this version of JAX cannot read the program: {type(error).__name__}: {error}"[:500]) from error

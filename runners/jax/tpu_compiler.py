"""Compiles one program for one absent TPU, through jax and libtpu.

Uses private parts of jax: it needs the packages of images/jax/*/tpu.lock.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import time
from typing import Any

from runners.jax.programs import Unreadable, memory_figures, parse

_LOW_EFFORT, _USUAL_EFFORT = (-1.0, 9), (0.0, 0)
"""The compiler's effort to make a program fast, as a number and, for newer compilers, as a level (9 is O0). With low
effort it compiles convolutions up to ten times faster, and the program may move and need more memory; for other
programs there is little difference."""

_OWN_PLACES = re.compile(r":?\s+@\s+0x[0-9a-f]+|Suspected Python Code Location")
"""After this, a message of the compiler has only its own stack and lines of Python that are not its client's."""

_ABOUT_VERSIONS = ("Failed to serialize StableHLO to plugin version", "Failed to deserialize")
"""Messages about the format of a program, which say nothing about what the TPU can do."""


class TpuCompiler:
    """libtpu's compiler for the first device of a topology, such as v5e:2x2x1. Raises what jax and libtpu raise."""

    def __init__(self, topology: str) -> None:
        # Do not look for a TPU, neither here nor in a cloud's metadata. Several processes may compile at once.
        os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
        from jax.experimental import topologies

        self._device = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[0]
        self.name = f"libtpu {importlib.metadata.version('libtpu')}"
        self.client = f"jax {importlib.metadata.version('jax')}"
        self.device_kind = self._device.device_kind

    def answer(self, program: Any, digest: str) -> dict[str, Any]:
        """One of ``{"compiled": FIGURES}``, ``{"refused": MESSAGE}``, ``{"unreadable": MESSAGE}`` and
        ``{"unknown": MESSAGE}``, where the compiler gave no verdict. ``program`` is of ``read_program``."""
        try:
            try:
                return {"compiled": self._compiled(program, digest, _LOW_EFFORT)}
            except Exception as error:
                if not _is_refusal(error):
                    raise
                # Refused is only what the compiler refuses with its usual effort.
                return {"compiled": self._compiled(program, digest, _USUAL_EFFORT)}
        except Unreadable as error:
            return {"unreadable": str(error)}
        except Exception as error:
            said = _OWN_PLACES.split(str(error))[0].strip()
            return {"refused": said} if _is_refusal(error) else {"unknown": f"{type(error).__name__}: {said}"}

    def _compiled(self, program: Any, digest: str, effort: tuple[float, int]) -> dict[str, Any]:
        """Figures of a compiled module; flops and bytes are None if the compiler does not report them. Raises what the
        compiler raises, and Unreadable."""
        import numpy
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax._src.lib import _jax

        begin = time.perf_counter_ns()
        with mlir.make_ir_context() as context:
            options = compiler.get_compile_options(
                num_replicas=1, num_partitions=1, device_assignment=numpy.array([[self._device.id]])
            )
            _set_effort(options.executable_build_options, effort)
            devices = _jax.DeviceList((self._device,))
            compiled = self._device.client.compile(parse(program, context), devices, options)
        taken = time.perf_counter_ns() - begin
        costs = compiled.cost_analysis() or {}
        # A program that only moves data has no operations. A custom call without figures counts -1.
        flops, moved = costs.get("flops", 0.0), costs.get("bytes accessed", 0.0)
        is_known = flops >= 0 and moved >= 0
        return {
            "program": digest,
            "compile_ns": taken,
            "flops": flops if is_known else None,
            "bytes": moved if is_known else None,
            **memory_figures(compiled),
        }


def _is_refusal(error: Exception) -> bool:
    """Whether an error is the compiler's verdict on a program. Others are those of the way to the compiler: a missing
    attribute, a version."""
    import jax

    return isinstance(error, jax.errors.JaxRuntimeError) and not any(words in str(error) for words in _ABOUT_VERSIONS)


def _set_effort(options: Any, effort: tuple[float, int]) -> None:
    if hasattr(options, "exec_time_optimization_effort"):
        options.exec_time_optimization_effort = effort[0]
    else:
        options.optimization_level = effort[1]

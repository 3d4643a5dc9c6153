"""Compiles calls of JAX for TPUs that are not there: libtpu is their compiler and needs none to compile ahead of time.

A call is traced as one program whose arrays are arguments, as ``jax.jit`` would; what cannot be traced so (its shapes
depend on values) is unknown. Implements runners.core.prediction.Predictor.
"""

from __future__ import annotations

import importlib.metadata
import re
import time
from functools import partial
from typing import Any, Mapping, NamedTuple

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

from runners.core.errors import DeviceUnavailable
from runners.core.prediction import Estimate, Unknown
from runners.jax.watching import ON_HOST


class _Model(NamedTuple):
    """A generation of TPUs. Figures are of one of JAX's devices, which is half a chip for v2, v3, v4 and tpu7x: peak
    rate of products in bfloat16 (per second) and bandwidth of the memory (bytes per second), as the vendor publishes
    them (cloud.google.com/tpu/docs, system architecture)."""

    topology: str
    flops_per_s: float
    bytes_per_s: float


MODELS = {
    "tpu-v2": _Model("v2:2x2", 23e12, 350e9),
    "tpu-v3": _Model("v3:2x2", 61.5e12, 450e9),
    "tpu-v4": _Model("v4:2x2x1", 137.5e12, 614e9),
    "tpu-v5e": _Model("v5e:2x2", 197e12, 819e9),
    "tpu-v5p": _Model("v5p:2x2x1", 459e12, 2765e9),
    "tpu-v6e": _Model("v6e:2x2", 918e12, 1640e9),
    "tpu7x": _Model("tpu7x:2x2x1", 1153.5e12, 3690e9),
}


class _Device(NamedTuple):
    model: _Model
    compiler: str
    placed: SingleDeviceSharding


def open_device(device: str) -> _Device:
    model = MODELS[device]
    try:
        version = importlib.metadata.version("libtpu")
        described = topologies.get_topology_desc(platform="tpu", topology_name=model.topology)
    except Exception as error:  # libtpu and its loader raise what they like
        said = str(error).split("\n")[0]
        raise DeviceUnavailable(
            f"libtpu cannot compile for {device} here: {said}",
            "Use the environment that portbench makes for this target, or install libtpu beside jax.",
        ) from error
    return _Device(model, f"libtpu {version}", SingleDeviceSharding(described.devices[0]))


def stand_in(device: _Device) -> None:
    return None


def about(device: _Device) -> Mapping[str, str | None]:
    return {"kind": "compiled", "compiler": device.compiler, "topology": device.model.topology}


def facts(device: _Device) -> Mapping[str, str | int | float | bool | None]:
    (described,) = device.placed.device_set
    return {
        "model": described.device_kind,
        "x64": bool(jax.config.jax_enable_x64),
        "matmul_precision": jax.config.jax_default_matmul_precision,
        "peak_flops_per_s": device.model.flops_per_s,
        "peak_bytes_per_s": device.model.bytes_per_s,
    }


def predict(call: partial[Any], device: _Device) -> Estimate:
    leaves, structure = jax.tree_util.tree_flatten((call.args, call.keywords))
    arrays = {place: leaf for place, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)}

    def program(given: Mapping[int, Any]) -> list[Any]:
        args, kwargs = structure.unflatten([given.get(place, leaf) for place, leaf in enumerate(leaves)])
        output = call.func(*args, **kwargs)
        return [leaf for leaf in jax.tree_util.tree_leaves(output) if isinstance(leaf, jax.Array)]

    described = {
        place: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=device.placed) for place, array in arrays.items()
    }
    begin = time.perf_counter_ns()
    try:
        traced = jax.jit(program, out_shardings=device.placed).trace(described)
    except Exception as error:
        said = str(error).split("\n")[0]
        raise Unknown(f"the call cannot be traced as one program: {type(error).__name__}: {said}"[:500]) from error
    if not traced.jaxpr.eqns:
        return Estimate(device_work=False)
    try:
        compiled = traced.lower().compile()
    except ValueError as error:
        if not str(error).startswith("Received incompatible devices"):
            raise
        raise Unknown("the call names devices of this machine, which are no TPUs") from error
    return _estimate(compiled, time.perf_counter_ns() - begin, device.model)


def _estimate(compiled: Any, compile_ns: int, model: _Model) -> Estimate:
    costs, memory = compiled.cost_analysis() or {}, compiled.memory_analysis()
    # A program with nothing but moves has no operations; one of a custom call that tells none counts -1.
    flops, moved = costs.get("flops", 0.0), costs.get("bytes accessed", 0.0)
    told = flops >= 0 and moved >= 0
    return Estimate(
        compile_ns=compile_ns,
        flops=flops if told else None,
        bytes=moved if told else None,
        memory_bytes=memory
        and memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        + memory.temp_size_in_bytes
        - memory.alias_size_in_bytes,
        roofline_ns=1e9 * max(flops / model.flops_per_s, moved / model.bytes_per_s) if told else None,
        host_operations=_on_host(compiled.as_text()),
    )


def _on_host(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in re.finditer(ON_HOST, text)]

"""Compiles one program for one absent GPU, through jax and its plug-in for CUDA, whose XLA needs neither a GPU nor a
driver. The assembler is the one of the environment (nvidia-cuda-nvcc), never one of the machine.

Nothing of CUDA's libraries is there. What a program needs of them at run time is named, not checked. The compiler takes
programs of any size, so the memory that it reports is compared with the card's here. Uses private parts of jax: it
needs the packages of images/jax/*/gpu-aot.lock.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import time
from pathlib import Path
from typing import Any

from runners.core.prediction.gpus import CARDS, Card
from runners.jax.programs import Unreadable, memory_figures, parse

_OPTIONS = {
    # On some cards XLA asks CUDA for the memory that CUB's sort needs, which fails without a device.
    "xla_gpu_enable_cub_radix_sort": False,
}

_REFUSALS = ("UNIMPLEMENTED", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")
"""How the compiler's verdict on a program begins. Other errors are its own: INTERNAL, UNAVAILABLE, NOT_FOUND."""

_OF_TOOLS = re.compile(
    r"ptxas|nvlink|NVJITLINK|PTX compilation|CUDA Runtime error|CUDA_ERROR|registered"
    r"|Failed to (de)?serialize StableHLO|unsupported version",
    re.IGNORECASE,
)
"""In a message, what says nothing about the card: the assembler, the driver that is absent, an unknown custom call, the
format of a program."""

_OWN_PLACES = re.compile(r"See specific HLO|:?\s+@\s+0x[0-9a-f]+|Suspected Python Code Location")

_TARGETS = re.compile(r'custom_call_target="(?!Sharding")([^"]+)"')
_TRANSFORM = re.compile(r"\bfft\(")
_LIBRARIES = {
    "cuSOLVER": re.compile(r"cusolver"),
    "cuBLAS": re.compile(r"_*cublas"),
    "cuDNN": re.compile(r"_*cudnn"),
    "cuSPARSE": re.compile(r"_*cusparse"),
    "cuFFT": re.compile(r"_*cufft"),
}

_SPECIFICATION = """
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {card.shared_bytes_per_core}
  shared_memory_per_block_optin: {card.shared_bytes_per_block}
  threads_per_core_limit: {card.threads_per_core}
  core_count: {card.cores}
  fpus_per_core: {card.fpus_per_core}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {card.l2_bytes}
  clock_rate_ghz: {card.clock_ghz}
  device_memory_size: {card.memory_bytes}
  cuda_compute_capability {{ major: {card.capability[0]} minor: {card.capability[1]} feature_extension: {features} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
runtime_version {{ major: 12 minor: 9 patch: 0 }}
device_description_str: "{card.name}"
"""


class GpuCompiler:
    """XLA's compiler for a card of gpus.CARDS. Raises what jax raises, and RuntimeError where a package is missing."""

    def __init__(self, device: str, bytes_per_s: float) -> None:
        assembler = _assembler()
        os.environ.update(JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", PATH=str(assembler / "bin"))
        import jax
        from jax.experimental import topologies

        self._card = CARDS[device]
        # Opens the host's platform, which loads the plug-ins.
        self._host = jax.local_devices()[0].client
        topology = topologies.get_topology_desc(
            platform="cuda", topology="1x1x1", target_config=_specification(self._card, bytes_per_s)
        )
        self._device = topology.devices[0]
        self._options = {**_OPTIONS, "xla_gpu_cuda_data_dir": str(assembler)}
        self.name = f"XLA:GPU {_version('jax-cuda12-pjrt')} with ptxas {_version('nvidia-cuda-nvcc-cu12')}"
        self.client = f"jax {_version('jax')}"
        self.device_kind = self._card.name

    def answer(self, program: Any, digest: str) -> dict[str, Any]:
        """One of ``{"compiled": FIGURES}``, ``{"refused": MESSAGE}``, ``{"unreadable": MESSAGE}`` and
        ``{"unknown": MESSAGE}``, where the compiler gave no verdict. ``program`` is of ``read_program``."""
        try:
            figures = self._compiled(program, digest)
        except Unreadable as error:
            return {"unreadable": str(error)}
        except Exception as error:
            said = " ".join(_OWN_PLACES.split(str(error))[0].split())
            refused = said.startswith(_REFUSALS) and not _OF_TOOLS.search(said)
            return {"refused": said} if refused else {"unknown": f"{type(error).__name__}: {said}"}
        needed = figures["memory_bytes"]
        if needed > self._card.memory_bytes:
            return {
                "refused": f"RESOURCE_EXHAUSTED: the program needs {needed / 1e9:.1f} GB of memory: arguments "
                f"{figures['argument_bytes'] / 1e9:.1f}, results {figures['output_bytes'] / 1e9:.1f}; "
                f"the {self._card.name} has {self._card.memory_bytes / 1e9:.1f} GB"
            }
        return {"compiled": figures}

    def _compiled(self, program: Any, digest: str) -> dict[str, Any]:
        """Figures of a compiled module; flops and bytes are None where a library computes a part of it, or the compiler
        does not report them. Raises what the compiler raises, and Unreadable."""
        import numpy
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax._src.lib import _jax

        begin = time.perf_counter_ns()
        with mlir.make_ir_context() as context:
            options = compiler.get_compile_options(
                num_replicas=1,
                num_partitions=1,
                device_assignment=numpy.array([[self._device.id]]),
                env_options_overrides=self._options,
            )
            module = parse(program, context)
            source = _source(program, module)
            compiled = self._device.client.compile(module, _jax.DeviceList((self._device,)), options)
        taken = time.perf_counter_ns() - begin
        optimized = compiled.hlo_modules()[0]
        text = optimized.to_string()
        moved = None if _TARGETS.search(text) else self._cost(optimized, "bytes accessed")
        return {
            "program": digest,
            "compile_ns": taken,
            # The compiler gives products to libraries, whose operations it does not count.
            "flops": None if _TARGETS.search(source.to_string()) else self._cost(source, "flops"),
            "bytes": moved,
            **memory_figures(compiled),
            "libraries": libraries(text),
        }

    def _cost(self, module: Any, name: str) -> float | None:
        """One cost of a module. XLA's analysis says -1 where it does not know it."""
        from jax._src.lib import _jax

        cost: float = _jax.hlo_module_cost_analysis(self._host, module).get(name, 0.0)
        return cost if cost >= 0 else None


def libraries(text: str) -> list[str]:
    """The libraries that a compiled module calls, each with its routines: ``cuSOLVER (cusolver_geev_ffi)``."""
    called = dict.fromkeys(_TARGETS.findall(text))
    found = {name: [target for target in called if form.match(target)] for name, form in _LIBRARIES.items()}
    if _TRANSFORM.search(text):
        found["cuFFT"].append("fft")
    return [f"{name} ({', '.join(targets)})" for name, targets in found.items() if targets]


def _source(program: Any, module: Any) -> Any:
    """The program before it is compiled, as an HloModule."""
    from jax._src.lib import xla_client

    if isinstance(program, bytes):
        program = xla_client._xla.mlir.mlir_module_to_xla_computation(str(module), use_tuple_args=False)
    return program.get_hlo_module()


def _specification(card: Card, bytes_per_s: float) -> str:
    features = "ACCELERATED_FEATURES" if card.has_own_features else "NONE"
    return _SPECIFICATION.format(card=card, bandwidth=int(bytes_per_s), features=features)


def _assembler() -> Path:
    """The folder of the package with ptxas and libdevice."""
    found = importlib.util.find_spec("nvidia.cuda_nvcc") if importlib.util.find_spec("nvidia") else None
    for folder in (found and found.submodule_search_locations) or ():
        if (Path(folder) / "bin" / "ptxas").is_file():
            return Path(folder)
    raise RuntimeError("the package nvidia-cuda-nvcc-cu12, which assembles GPU programs, is not installed")


def _version(package: str) -> str:
    return importlib.metadata.version(package)

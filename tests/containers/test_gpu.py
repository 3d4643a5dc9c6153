"""A GPU service on an engine with a stand-in for NVIDIA's container toolkit, whose libcuda knows no GPU.

The engine is one of its own, with its own folders: only an engine that finds the toolkit's hook when it starts has the
driver nvidia.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.conftest import last_line

needs_root = pytest.mark.skipif(
    os.getuid() != 0 or not all(map(shutil.which, ("dockerd", "gcc"))), reason="needs root, dockerd and gcc"
)

NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
LIBCUDA = f"int cuInit(unsigned flags) {{ return {NO_DEVICE}; }}\n"

# Called by the OCI runtime with the state of the container that starts, as NVIDIA's own hook.
HOOK = """#!/usr/bin/python3
import json, pathlib, shutil, sys
bundle = pathlib.Path(json.load(sys.stdin)["bundle"])
root = bundle / json.loads((bundle / "config.json").read_text())["root"]["path"]
shutil.copy("{library}", root / "usr/lib/x86_64-linux-gnu/libcuda.so.1")
"""

ASK = """
import ctypes, json, os
print(json.dumps([ctypes.CDLL("libcuda.so.1").cuInit(0), os.environ["NVIDIA_VISIBLE_DEVICES"], os.getuid()]))
"""


@pytest.fixture
def engine_with_toolkit(image: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables that lead to an engine with the stand-in, on which the image of fake-cpu is that of torch-gpu."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "libcuda.c").write_text(LIBCUDA)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-o", library, tmp_path / "libcuda.c"], check=True)
    hook = tmp_path / "bin" / "nvidia-container-runtime-hook"
    hook.write_text(HOOK.replace("{library}", str(library)))
    hook.chmod(0o755)
    short = Path(tempfile.mkdtemp(prefix="pb"))  # the path of a socket has at most 107 characters
    socket = f"unix://{short}/docker.sock"
    folders = ("--data-root", tmp_path / "data", "--exec-root", short / "exec", "--pidfile", short / "pid")
    network = ("--bridge=none", "--iptables=false")
    path = f"{hook.parent}:{os.environ['PATH']}"
    with (tmp_path / "log").open("w") as log:
        engine = subprocess.Popen(
            # In a network of its own: without a bridge, an engine deletes the bridge of the machine's own engine.
            ["unshare", "--net", "dockerd", *folders, *network, "--host", socket],
            env={**os.environ, "PATH": path},
            stdout=log,
            stderr=log,
        )
    env = {**os.environ, "DOCKER_HOST": socket, "TORCH_VERSION": "0.0.0", "PORTBENCH_TAG": ""}
    try:
        while subprocess.run(["docker", "version"], env=env, capture_output=True).returncode:
            assert engine.poll() is None, (tmp_path / "log").read_text()[-2000:]
        saved = subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE)
        subprocess.run(["docker", "load"], env=env, stdin=saved.stdout, check=True, capture_output=True)
        assert saved.wait() == 0
        subprocess.run(["docker", "tag", image, "portbench/torch:0.0.0-gpu"], env=env, check=True)
        yield env
    finally:
        engine.terminate()
        engine.wait()
        shutil.rmtree(short, ignore_errors=True)
        subprocess.run(["umount", tmp_path / "data"], capture_output=True)  # left by an engine that did not start
        shutil.rmtree(tmp_path / "data", ignore_errors=True)


@needs_root
def test_a_gpu_service_gets_the_chosen_gpu_and_its_driver_from_the_toolkit(
    compose, engine_with_toolkit: dict[str, str], results: Path
) -> None:
    env = {**engine_with_toolkit, "PORTBENCH_RESULTS": str(results), "PORTBENCH_GPU": "3"}
    run = ("run", "--rm", "--no-TTY", "--entrypoint", "as-owner", "torch-gpu", "python", "-c", ASK)
    done = compose(*run, env=env)
    assert done.returncode == 0, done.stderr
    assert last_line(done) == [NO_DEVICE, "3", results.stat().st_uid]

"""The CPU images: what each imports is the framework that its lock pins, not the runner's folder of the same name."""

from __future__ import annotations

import subprocess

import pytest

from portbench.targets.catalog import Target, all_targets
from portbench.util.repository import Checkout
from tests.containers.conftest import group_of, last_line
from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

TARGETS = [
    pytest.param(
        target, id=target.name, marks=[pytest.mark.slow(minutes=2), pytest.mark.xdist_group(group_of(target.name))]
    )
    for target in all_targets(Checkout(ROOT))
    if target.device == "cpu" and target.lock and target.framework != "fake" and (target.is_default or target.is_latest)
]
"""One of PyTorch's newer versions fills 7 GB, so the paper's version and the newest have to do."""

# In the image's working folder, as the runner starts: runners/torch lies there too.
WHAT_IS_IMPORTED = """
import importlib, json, pathlib, sys
name = sys.argv[1]
importlib.import_module("runners." + name)
framework = importlib.import_module(name)
environment = pathlib.Path("/opt/environment")
kept = sorted(str(path) for pattern in ("pip", "include", "*.a") for path in environment.rglob(pattern))
print(json.dumps({"file": framework.__file__, "version": framework.__version__, "kept": kept}))
"""


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_imports_the_framework_of_its_lock_and_carries_nothing_idle(build_image, target: Target) -> None:
    image = build_image(target)
    command = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "python", image, "-c", WHAT_IS_IMPORTED]
    done = subprocess.run([*command, target.framework], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = last_line(done)
    site = f"/opt/environment/lib/python{target.python}/site-packages"
    assert found["file"] == f"{site}/{target.framework}/__init__.py"
    assert found["version"].partition("+")[0] == target.version
    assert found["kept"] == []

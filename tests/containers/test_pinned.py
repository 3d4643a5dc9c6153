"""The image of a target whose wheels only a vendor serves, built without a lock, from servers on this machine.

The wheels have the real names and versions, and nothing else of the real packages: nothing is computed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.wheels import add_to_index, make_wheel, served, sha256

TAG = "portbench-test/torch:1.12.0-tpu-pinned"
GOOGLE = "https://storage.googleapis.com"


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """The files that a build sends to the engine."""
    for name in ("images", "schema", "runners"):
        shutil.copytree(ROOT / name, tmp_path / "context" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "context" / "images" / "torch" / "1.12.0" / "tpu.lock").unlink(missing_ok=True)
    return tmp_path / "context"


@pytest.fixture(autouse=True)
def cleaned() -> Iterator[None]:
    yield
    subprocess.run(["docker", "image", "rm", "--force", TAG], capture_output=True)


def build(context: Path, vendor: str, index: str) -> subprocess.CompletedProcess[str]:
    """Builds the image with these addresses instead of Google's and the package index."""
    folder = context / "images" / "torch" / "1.12.0"
    source, dockerfile = folder / "tpu.in", folder / "tpu.Dockerfile"
    source.write_text(source.read_text().replace(GOOGLE, vendor))
    text = re.sub(
        r"^FROM (.*) AS environment$", rf"\g<0>\nENV UV_DEFAULT_INDEX={index}", dockerfile.read_text(), flags=re.M
    )
    assert text != dockerfile.read_text()
    dockerfile.write_text(text)
    command = ["docker", "build", "--progress", "plain", "--network", "host", "--tag", TAG, "--file", str(dockerfile)]
    return subprocess.run([*command, str(context)], capture_output=True, text=True)


def test_an_image_is_built_from_a_vendors_addresses_and_holds_the_hashes(context: Path, tmp_path: Path) -> None:
    index, vendor = tmp_path / "index", tmp_path / "vendor"
    source = (context / "images" / "torch" / "1.12.0" / "tpu.in").read_text()
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", source, re.MULTILINE))
    for name, version in pinned.items():
        add_to_index(index, name, version)
    xla = make_wheel(vendor / "made", "torch_xla", "1.12", ["absl-py>=1.0.0", "cloud-tpu-client>=0.10.0"])
    libtpu = make_wheel(vendor / "made", "libtpu_nightly", "0.1.dev20220518")
    for path in re.findall(rf"@ {GOOGLE}/(\S+)", source):
        (vendor / path).parent.mkdir(parents=True)
        # The real wheel of torch_xla names a platform, and so does the address.
        shutil.copyfile(xla if "torch_xla" in path else libtpu, vendor / path)
    with served(vendor) as storage, served(index) as packages:
        done = build(context, storage, packages)
    assert done.returncode == 0, done.stderr[-3000:]
    program = "import json; from runners.core.installation import pins; print(json.dumps(pins()['pins']))"
    run = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "python", TAG, "-c", program]
    found = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert found["kind"] == "pinned, not hash-locked"
    assert found["hashes"]["torch-xla"] == [sha256(xla)]
    assert found["hashes"]["libtpu-nightly"] == [sha256(libtpu)]
    assert set(found["hashes"]) == {*(name.lower().replace("_", "-") for name in pinned), "torch-xla", "libtpu-nightly"}


def test_without_the_vendor_the_build_ends_with_one_sentence_that_says_what_to_do(
    context: Path, tmp_path: Path
) -> None:
    with served(tmp_path / "empty") as packages:
        done = build(context, "http://127.0.0.1:9", packages)
    assert done.returncode
    assert "failed to compute cache key" not in done.stderr
    (sentence,) = set(re.findall(r"portbench: (the packages.*)", done.stderr))
    assert sentence.startswith("the packages of images/torch/1.12.0/tpu.in could not be resolved")
    assert "build this image on a machine that reaches it" in sentence

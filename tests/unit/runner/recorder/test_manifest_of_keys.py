"""Manifests of recordings whose tensors have a dtype that no identifier may hold."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.paths import ROOT

sys.path.append(str(ROOT / "runners" / "recorder"))

from portbench_recorder.manifests import write_manifests
from portbench_recorder.recording import Recording


def test_the_id_of_a_test_names_a_key_without_brackets(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.add_framework("jax", "0.12.0")
    arguments = {"args": [{"tensor": {"dtype": "key<fry>", "shape": [2], "seed": 1}}]}
    recording.add(recording.entry("jax", "jax.random.uniform", "key", lambda: arguments), 0.5, lambda: None)
    recording.end()
    (path,) = write_manifests(tmp_path)
    (function,) = json.loads(path.read_text("utf-8"))["functions"]
    (test,) = function["tests"]
    assert re.fullmatch(r"keyfry\.2-[0-9a-f]{8}", test["id"])
    assert test["weight"] == {"calls": 1, "seconds": 0.5}

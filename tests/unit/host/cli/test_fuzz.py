"""A short ``make fuzz`` with fixed seeds: it must find nothing, and count what it did."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT


@pytest.mark.parametrize(("seed", "inputs"), [(1, 80), pytest.param(2, 160, marks=pytest.mark.slow(minutes=1))])
def test_bad_input_is_accepted_or_refused_and_nothing_else(seed: int, inputs: int, tmp_path: Path) -> None:
    options = ["--inputs", str(inputs), "--seed", str(seed), "--keep", str(tmp_path)]
    command = [sys.executable, "-m", "tests.fuzz", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"seed {seed}: {inputs} inputs, peak \d+ MiB of 512, findings 0$", done.stdout.strip())
    for program in ("validate", "run", "merge", "resume", "study"):
        assert re.search(rf"^{program} +\d+ files: +\d+ accepted, +\d+ refused$", done.stdout, re.MULTILINE)
    assert not list(tmp_path.iterdir())

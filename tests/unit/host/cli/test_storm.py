"""A short ``make storm`` with a fixed seed: no fault loses, doubles or invents a result, or leaves anything behind."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.paths import ROOT


@pytest.mark.slow(minutes=4)
def test_a_short_storm_does_no_harm() -> None:
    command = [sys.executable, "-m", "tests.storm", "--faults", "30", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^seed 1: 30 faults, findings 0$", done.stdout, re.MULTILINE)
    assert re.search(r"^all +30 +(0 +){7}\d+$", done.stdout, re.MULTILINE)

"""The programs of docs/findings, run in the framework's own environment, print what docs/findings.md says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.frameworks

PAGE = (ROOT / "docs" / "findings.md").read_text("utf-8")
PROGRAMS = sorted((ROOT / "docs" / "findings").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_reproducer_prints_what_the_page_says(
    program: Path, environment_python: Callable[[str], Path], tmp_path: Path
) -> None:
    found = re.match(r'"""(\S+): ', program.read_text("utf-8"))
    assert found, "the first line names the target"
    shown = re.search(rf"\(findings/{program.name}\).*?```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown, "the page links the program and shows its output"
    done = subprocess.run(
        [environment_python(found[1]), "-W", "ignore", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, shown[1]), done.stderr

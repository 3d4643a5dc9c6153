"""Where things lie in this repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "tests" / "examples"
OLDER_STUDIES = ROOT / "tests" / "unit" / "host" / "older_studies"
DATA = ROOT / "tests" / "data"

"""The names of the mutants, by class: those of schema/mutants.json, which says what each does.

Imports neither NumPy nor a framework: the supervisor reads the names.
"""

from __future__ import annotations

import json
from typing import Mapping

from runners.core.documents import SCHEMAS

CLASSES: Mapping[str, Mapping[str, Mapping[str, object]]] = json.loads((SCHEMAS / "mutants.json").read_text("utf-8"))[
    "classes"
]

_TABLE = {name: facts for mutants in CLASSES.values() for name, facts in mutants.items()}

MUTANTS = tuple(_TABLE)
COARSE = tuple(name for name in MUTANTS if _TABLE[name]["coarse"])
FINE = tuple(name for name in MUTANTS if name not in COARSE)

PROBE = "probe"
"""In place of a mutant's name: the function as it is. The result says which mutants can differ in the test."""

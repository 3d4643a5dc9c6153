"""The grammar of Python that all of counting uses."""

from __future__ import annotations

import tree_sitter_python
from tree_sitter import Language

LANGUAGE = Language(tree_sitter_python.language())

"""Which files import a framework, by the regular expressions of the paper of 2023.

The paper kept a file for a framework if it matches ``(from.*NAME|import.*NAME)``, with NAME torch, tensorflow or jax.
Of TensorFlow's files it left out those with ``.*Copyright 20.. The TensorFlow Authors``, because they are TensorFlow's
own. (Source: ``contains_framework`` of src/main.py in the paper's published code.) The expressions match text, not
syntax: they keep ``from pytorch_lightning import x`` for torch, and also a sentence in a comment.

The code here gives the same results faster: it reads only the lines that hold NAME.
"""

from __future__ import annotations

import re

_OWN = re.compile(rb"Copyright 20[^\n][^\n] The TensorFlow Authors")
_IMPORT = re.compile(rb"from|import")


def imports(source: bytes, root: bytes) -> bool:
    """Whether the paper's rule keeps this source, in UTF-8, for the framework whose module is ``root``."""
    end = 0
    while (found := source.find(root, end)) >= 0:
        start = source.rfind(b"\n", 0, found) + 1
        end = source.find(b"\n", found)
        end = len(source) if end < 0 else end
        if _IMPORT.search(source, start, source.rfind(root, start, end)):
            return root != b"tensorflow" or not _OWN.search(source)
    return False

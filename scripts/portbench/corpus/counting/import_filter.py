"""Which files import a framework, by the regular expressions of the study.

The study kept a file for a framework where ``(from.*NAME|import.*NAME)`` is found in it, NAME being torch, tensorflow
or jax, and left out of TensorFlow's files those that hold ``.*Copyright 20.. The TensorFlow Authors``, since they are
TensorFlow's own. (Source: the function ``contains_framework`` of src/main.py in the study's published code.) They
speak of text, not of syntax: ``from pytorch_lightning import x`` is kept for torch, and so is a sentence in a comment.

Here the same is found faster: only lines that hold NAME are looked at.
"""

from __future__ import annotations

import re

_OWN = re.compile(rb"Copyright 20[^\n][^\n] The TensorFlow Authors")
_IMPORT = re.compile(rb"from|import")


def imports(source: bytes, root: bytes) -> bool:
    """Whether the study would have kept this source, in UTF-8, for the framework whose module is called ``root``."""
    end = 0
    while (found := source.find(root, end)) >= 0:
        start = source.rfind(b"\n", 0, found) + 1
        end = source.find(b"\n", found)
        end = len(source) if end < 0 else end
        if _IMPORT.search(source, start, source.rfind(root, start, end)):
            return root != b"tensorflow" or not _OWN.search(source)
    return False

"""Tracebacks as a reader wants them: without the frames of the runner, and without the folders of one machine."""

from __future__ import annotations

import re

_MOST_FRAMES = 20
_FRAME = re.compile(r'^  File "(?P<path>.*)", line \d+.*\n(?:    .*\n)*', re.MULTILINE)
_FOLDERS = re.compile(r'(?<=File ").*?(?:/site-packages/|/dist-packages/|(?=/runners/)/)')


def trimmed(traceback: str) -> str:
    """The traceback without the frames of ``runners/core``, paths shortened, its last frames where there are many."""
    text = traceback if traceback.endswith("\n") or not traceback else traceback + "\n"
    text = _FRAME.sub(lambda frame: "" if "/runners/core/" in frame["path"] else frame[0], text)
    frames = list(_FRAME.finditer(text))
    if len(frames) > _MOST_FRAMES:
        left_out = len(frames) - _MOST_FRAMES
        text = f"{text[: frames[0].start()]}  ... {left_out} frames left out\n{text[frames[left_out].start() :]}"
    return _FOLDERS.sub("", text)

"""The Content-Security-Policy of our pages: the scripts and styles in them and nothing else, no connection."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Allows these texts and nothing else. Styles that scripts set on single elements need no rule."""
    script = f"script-src {' '.join(map(_digest, scripts))}; " if scripts else ""
    return (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; {script}style-src {' '.join(map(_digest, styles))}"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

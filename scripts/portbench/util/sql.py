"""Loads SQL files. Each file is in the folder ``sql`` of the package that runs it."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def load_sql(package: str, name: str) -> str:
    """The text of ``portbench/<package>/sql/<name>.sql``."""
    return (resources.files("portbench") / package / "sql" / f"{name}.sql").read_text("utf-8")

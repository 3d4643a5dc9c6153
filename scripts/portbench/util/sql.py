"""The SQL files of the packages: each lies in the folder ``sql`` of the package whose code runs it."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def load_sql(package: str, name: str) -> str:
    """The text of ``portbench/<package>/sql/<name>.sql``."""
    return (resources.files("portbench") / package / "sql" / f"{name}.sql").read_text("utf-8")

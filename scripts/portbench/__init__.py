"""The host side of portbench: runs targets, validates and merges their run files, reports.

Shares with the runners only the JSON Schemas in ``schema/`` and imports nothing from them.
"""

__version__ = "0.1.0"

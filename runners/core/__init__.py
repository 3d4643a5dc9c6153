"""The part of the runner that knows no framework."""

"""Sources of samples of the fake framework."""

SOURCES = ("numbers",)

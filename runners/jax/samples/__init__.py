"""Sources of samples for JAX: its own test harnesses, and what NumPy and SciPy have under the same names."""

SOURCES = ("harnesses", "numpy", "scipy", "written")

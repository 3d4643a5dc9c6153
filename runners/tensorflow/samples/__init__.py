"""Sources of samples for TensorFlow: what NumPy and SciPy have too."""

SOURCES = ("numpy", "scipy")

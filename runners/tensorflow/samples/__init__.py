"""Sources of samples for TensorFlow: operations, functions and classes, and what NumPy and SciPy have too."""

SOURCES = ("raw", "signatures", "keras", "operators", "assertions", "programs", "numpy", "scipy")

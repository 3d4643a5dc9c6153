"""JAX: what counts as public when its functions are listed."""

from __future__ import annotations

from runners.core.public.library import StudyRule

SUBMODULES = True
LEFT_OUT = ("jax.tools", "jax.extend.mlir")
"""Scripts, and thousands of classes of another project."""
SHOWN = ("numpy",)
"""jax.numpy.size is NumPy's."""

STUDY = StudyRule(refused=("jax._src",), private=True)

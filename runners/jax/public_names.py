"""JAX: what counts as public when its functions are listed."""

from __future__ import annotations

from runners.core.enumeration.library import StudyRule

SUBMODULES = True
LEFT_OUT = ("jax.tools", "jax.extend.mlir")
"""Scripts that are run, not called; another project's classes, by the thousand."""
SHOWN = ("numpy",)
"""jax.numpy.size is NumPy's."""

STUDY = StudyRule(refused=("jax._src",), private=True)

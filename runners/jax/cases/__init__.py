"""The cases of JAX's manifests: short functions, one module for each topic."""

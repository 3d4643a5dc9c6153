"""The cases of JAX's manifests: short functions, a module for each topic."""

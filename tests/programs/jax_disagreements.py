"""JAX: programs whose functions and whole have different verdicts on a TPU. Nothing is computed; all is compiled."""

from __future__ import annotations

import jax
import jax.numpy as jnp

ROWS, WIDTH, LAYERS = 1 << 17, 128, 400


@jax.jit
def deep(weights: jax.Array, rows: jax.Array) -> jax.Array:
    """Each layer fits; the activations of all layers, which the gradients need, do not."""

    def layer(hidden: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(jnp.matmul(hidden, weight)), None

    def loss(weights: jax.Array) -> jax.Array:
        return jnp.sum(jax.lax.scan(layer, rows, weights)[0])

    return jax.grad(loss)(weights)


@jax.jit
def fused(row: jax.Array) -> jax.Array:
    """The matrix does not fit; it is never made, because the compiler fuses it with the sum."""
    return jnp.sum(jnp.broadcast_to(row, (50_000, 100_000)))


@jax.jit
def unused(matrix: jax.Array) -> jax.Array:
    """A TPU has no eigenvalues of matrices that are not symmetric; nobody needs them here."""
    jnp.linalg.eigvals(matrix)
    return jnp.sum(matrix)


if __name__ == "__main__":
    deep.lower(
        jax.ShapeDtypeStruct((LAYERS, WIDTH, WIDTH), "float32"), jax.ShapeDtypeStruct((ROWS, WIDTH), "float32")
    ).compile()
    fused.lower(jax.ShapeDtypeStruct((100_000,), "float32")).compile()
    unused.lower(jax.ShapeDtypeStruct((8, 8), "float32")).compile()

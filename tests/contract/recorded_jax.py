"""A small program of JAX for the recorder: jit, grad, vmap, scan, a switch, updates, keys, and an exception."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def loss(weights: Any, inputs: Any) -> Any:
    hidden = jnp.tanh(inputs @ weights["first"])
    return jnp.mean((hidden * 0.5).sum(axis=-1) ** 2)


@jax.jit
def step(weights: Any, inputs: Any) -> Any:
    gradients = jax.grad(loss)(weights, inputs)
    return jax.tree_util.tree_map(lambda old, gradient: old - 0.1 * gradient, weights, gradients)


def walked(start: Any) -> Any:
    def moved(place: Any, change: Any) -> Any:
        return lax.cond(place[0] > 0, jnp.sin, jnp.cos, place + change), place

    return lax.scan(moved, start, jnp.ones((5, 3)))


def pooled(images: Any) -> Any:
    # JAX has a gradient of this only where it knows the function that reduces.
    return lax.reduce_window(images, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()


def main() -> None:
    key = jax.random.PRNGKey(0)
    inputs = jax.random.normal(key, (8, 4))
    weights = {"first": jnp.full((4, 3), 0.1)}
    for _ in range(3):
        weights = step(weights, inputs)
    walked(jnp.zeros(3))
    jax.vmap(jnp.dot, (0, None))(inputs, weights["first"])
    jax.grad(pooled)(jnp.ones((1, 4, 4, 2)))
    numbers = lax.ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    lax.conv_general_dilated(jnp.ones((1, 4, 4, 2)), jnp.ones((3, 3, 2, 1)), (1, 1), "SAME", dimension_numbers=numbers)
    jnp.zeros(6, jnp.int32).at[jnp.arange(3)].add(2)[::2].reshape(3, 1)
    if hasattr(jax.random, "key"):
        jax.random.uniform(jax.random.key(1), (2,))
    jnp.asarray([0.98765, 2.0], jnp.bfloat16).astype(jnp.float32)
    try:
        jnp.dot(jnp.ones(3), jnp.ones(4))
    except TypeError:
        print("refused")
    thread = threading.Thread(target=lambda: jnp.sort(inputs, axis=0))
    thread.start()
    thread.join()
    jax.pmap(lambda x: lax.psum(x, "devices"), "devices")(jnp.ones((1, 2)))
    print(f"sum {float(weights['first'].sum()):.4f}")


if __name__ == "__main__":
    main()

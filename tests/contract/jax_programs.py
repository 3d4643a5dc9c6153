"""Jitted functions that are recorded: a training step with an array as a constant, an eigenvalue problem, and one that
needs too much memory."""

from functools import partial

import jax
import jax.numpy as jnp

SECRET = jnp.asarray([0.8675309, 3.1415926, 2.7182818, 1.4142135])


@partial(jax.jit, donate_argnums=0)
def train_step(weights, inputs, key):
    def loss(weights):
        noise = jax.random.normal(key, inputs.shape)
        return (jnp.tanh((inputs + noise) @ weights["secret name"]) @ SECRET).sum()

    gradients = jax.grad(loss)(weights)
    return {name: weights[name] - 0.1 * gradients[name] for name in weights}


@jax.jit
def spectrum(matrix):
    return jnp.linalg.eig(matrix)[0]


@jax.jit
def too_large(value):
    return jnp.sort(jax.lax.broadcast(value, (50_000, 100_000)), axis=0)


weights = {"secret name": jnp.ones((64, 4))}
for _ in range(2):
    weights = train_step(weights, jnp.ones((16, 64)), jax.random.PRNGKey(0))
spectrum(jnp.eye(8))
too_large.lower(1.0).compile()

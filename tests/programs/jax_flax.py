"""Flax and Optax: a small convolutional network with batch norm and attention, trained for a few steps."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn


class Network(nn.Module):
    @nn.compact
    def __call__(self, images: Any, training: bool) -> Any:
        x = nn.Conv(16, (3, 3))(images)
        x = nn.BatchNorm(use_running_average=not training)(x)
        x = nn.max_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.gelu(nn.Conv(32, (3, 3), strides=(2, 2))(x))
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x))
        x = nn.Dropout(0.1, deterministic=not training)(x)
        return nn.Dense(10)(x.mean(axis=1))


def main(steps: int) -> None:
    key = jax.random.key(0)
    images = jax.random.normal(key, (8, 16, 16, 3))
    labels = jax.random.randint(key, (8,), 0, 10)
    network = Network()
    variables = network.init(key, images, training=False)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 2, 100)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
    state = optimizer.init(variables["params"])

    def loss(parameters: Any, statistics: Any, dropout: Any) -> Any:
        logits, updates = network.apply(
            {"params": parameters, "batch_stats": statistics},
            images,
            training=True,
            mutable=["batch_stats"],
            rngs={"dropout": dropout},
        )
        found = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
        return found, updates["batch_stats"]

    @jax.jit
    def step(parameters: Any, statistics: Any, state: Any, dropout: Any) -> Any:
        (found, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, statistics, dropout)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), statistics, state, found

    parameters, statistics = variables["params"], variables["batch_stats"]
    for number in range(steps):
        parameters, statistics, state, found = step(parameters, statistics, state, jax.random.fold_in(key, number))
    logits = network.apply({"params": parameters, "batch_stats": statistics}, images, training=False)
    print(f"loss {float(found):.3f}, right {int((jnp.argmax(logits, -1) == labels).sum())}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

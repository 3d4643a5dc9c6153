"""JAX without a library: a diffusion model with a small network in the shape of a U, one training step and a sample."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

STEPS = 50
BETAS = jnp.linspace(1e-4, 0.02, STEPS)
ALPHAS = jnp.cumprod(1.0 - BETAS)


def convolved(parameters: Any, x: Any, stride: int = 1) -> Any:
    kernel, bias = parameters
    numbers = lax.conv_dimension_numbers(x.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=numbers) + bias


def normalized(x: Any, groups: int = 4) -> Any:
    grouped = x.reshape(*x.shape[:-1], groups, -1)
    mean = grouped.mean((1, 2, 4), keepdims=True)
    variance = jnp.var(grouped, axis=(1, 2, 4), keepdims=True)
    return ((grouped - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)


def embedded(times: Any, size: int) -> Any:
    frequencies = jnp.exp(-jnp.log(10000.0) * jnp.arange(size // 2) / (size // 2))
    angles = times[:, None] * frequencies[None]
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


def attended(parameters: Any, x: Any) -> Any:
    batch, channels = x.shape[0], x.shape[-1]
    q, k, v = jnp.split(jnp.einsum("bhwc,cd->bhwd", normalized(x), parameters).reshape(batch, -1, 3 * channels), 3, -1)
    weights = jax.nn.softmax(jnp.einsum("bqc,bkc->bqk", q, k) / channels**0.5)
    return x + jnp.einsum("bqk,bkc->bqc", weights, v).reshape(x.shape)


def predicted_noise(parameters: Any, x: Any, times: Any) -> Any:
    when = jax.nn.silu(embedded(times, 32) @ parameters["time"])
    first = jax.nn.silu(normalized(convolved(parameters["in"], x)) + when[:, None, None, :])
    down = jax.nn.silu(convolved(parameters["down"], first, 2))
    middle = attended(parameters["attention"], down)
    up = jax.image.resize(middle, first.shape[:3] + middle.shape[3:], "nearest")
    return convolved(parameters["out"], jnp.concatenate([first, up], axis=-1))


def initial(key: Any) -> Any:
    def layer(key: Any, inputs: int, outputs: int) -> Any:
        return jax.random.normal(key, (3, 3, inputs, outputs)) * (9 * inputs) ** -0.5, jnp.zeros(outputs)

    keys = jax.random.split(key, 5)
    return {
        "time": jax.random.normal(keys[0], (32, 16)) * 0.1,
        "in": layer(keys[1], 3, 16),
        "down": layer(keys[2], 16, 16),
        "attention": jax.random.normal(keys[3], (16, 48)) * 0.1,
        "out": layer(keys[4], 32, 3),
    }


def loss(parameters: Any, key: Any, images: Any) -> Any:
    when, noises = jax.random.split(key)
    times = jax.random.randint(when, (images.shape[0],), 0, STEPS)
    noise = jax.random.normal(noises, images.shape)
    alpha = jnp.take(ALPHAS, times)[:, None, None, None]
    noisy = jnp.sqrt(alpha) * images + jnp.sqrt(1 - alpha) * noise
    return jnp.square(predicted_noise(parameters, noisy, times) - noise).mean()


@jax.jit
def step(parameters: Any, key: Any, images: Any) -> Any:
    found, gradients = jax.value_and_grad(loss)(parameters, key, images)
    return found, jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, parameters, gradients)


@functools.partial(jax.jit, static_argnums=2)
def sample(parameters: Any, key: Any, count: int) -> Any:
    def denoised(x: Any, given: Any) -> Any:
        number, key = given
        noise = predicted_noise(parameters, x, jnp.full((count,), number))
        mean = (x - BETAS[number] / jnp.sqrt(1 - ALPHAS[number]) * noise) / jnp.sqrt(1 - BETAS[number])
        drawn = jnp.where(number > 0, jnp.sqrt(BETAS[number]) * jax.random.normal(key, x.shape), 0.0)
        return mean + drawn, None

    begin, rest = jax.random.split(key)
    start = jax.random.normal(begin, (count, 16, 16, 3))
    found, _ = lax.scan(denoised, start, (jnp.arange(STEPS)[::-1], jax.random.split(rest, STEPS)))
    return jnp.clip(found, -1.0, 1.0)


def main() -> None:
    key = jax.random.PRNGKey(0)
    parameters = initial(key)
    images = jnp.tanh(jax.random.normal(key, (4, 16, 16, 3)))
    for number in range(5):
        found, parameters = step(parameters, jax.random.fold_in(key, number), images)
    print(f"loss {float(found):.3f}, sample {float(jnp.std(sample(parameters, key, 2))):.3f}")


if __name__ == "__main__":
    main()

"""Numerical JAX: an orbit by scan, a root and a linear system by while_loop, a histogram, spectra, sparse sums."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax


def force(place: Any) -> Any:
    return -place / jnp.linalg.norm(place) ** 3


@jax.jit
def orbit(place: Any, speed: Any) -> Any:
    def advanced(state: Any, _: Any) -> Any:
        place, speed = state
        half = speed + 0.005 * force(place)
        place = place + 0.01 * half
        return (place, half + 0.005 * force(place)), place

    return lax.scan(advanced, (place, speed), None, length=200)


@jax.jit
def solved(matrix: Any, right: Any) -> Any:
    """Conjugate gradients."""

    def goes_on(state: Any) -> Any:
        number, _, residual, _ = state
        return jnp.logical_and(number < 100, jnp.vdot(residual, residual) > 1e-10)

    def better(state: Any) -> Any:
        number, found, residual, direction = state
        product = matrix @ direction
        old = jnp.vdot(residual, residual)
        length = old / jnp.vdot(direction, product)
        residual = residual - length * product
        direction = residual + jnp.vdot(residual, residual) / old * direction
        return number + 1, found + length * (direction * 0 + state[3]), residual, direction

    return lax.while_loop(goes_on, better, (0, jnp.zeros_like(right), right, right))


def root(value: Any) -> Any:
    def newton(_: Any, x: Any) -> Any:
        return x - (x**3 - value) / (3 * x**2)

    return lax.fori_loop(0, 20, newton, jnp.asarray(1.0))


def spectrum(signal: Any) -> Any:
    transformed = jnp.fft.rfft(signal * jnp.hanning(signal.shape[0]))
    power = jnp.abs(transformed) ** 2
    return power / jnp.maximum(power.sum(), 1e-12)


def main() -> None:
    (place, _), path = orbit(jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]))
    energy = jax.vmap(jax.grad(lambda x: jnp.sum(jnp.log1p(x**2))))(path)

    key = jax.random.PRNGKey(1)
    factor = jax.random.normal(key, (12, 12))
    matrix = factor @ factor.T + 12 * jnp.eye(12)
    _, found, residual, _ = solved(matrix, jnp.ones(12))
    exact = jsp.linalg.cho_solve(jsp.linalg.cho_factor(matrix), jnp.ones(12))
    values, vectors = jnp.linalg.eigh(matrix)
    determinant = jnp.linalg.slogdet(matrix)[1]
    q, r = jnp.linalg.qr(factor)

    counts = jnp.zeros(8, jnp.int32).at[jnp.digitize(path[:, 0], jnp.linspace(-1, 1, 7))].add(1)
    sums = jax.ops.segment_sum(path[:, 1], jnp.clip(jnp.arange(200) // 25, 0, 7), num_segments=8)
    sorted_places = jnp.sort(path[:, 0])[jnp.searchsorted(jnp.linspace(0, 1, 200), 0.5) :]
    smooth = jsp.signal.convolve(path[:, 0], jnp.ones(5) / 5, mode="same")
    density = jsp.stats.norm.logpdf(smooth, 0.0, 1.0) + jsp.special.logsumexp(density_of(path))
    roots = jax.vmap(root)(jnp.arange(1.0, 9.0))
    interpolated = jnp.interp(jnp.linspace(0, 1, 50), jnp.linspace(0, 1, 200), path[:, 0])
    lowest, places = lax.top_k(-density, 3)
    triangle = jnp.where(jnp.tril(jnp.ones((12, 12), bool)), r, q)[2:5, ::2]
    total = sum(
        float(jnp.nansum(each))
        for each in (place, energy, found - exact, residual, values, vectors, determinant, counts, sums, sorted_places)
    )
    total += float(spectrum(smooth).max() + roots.mean() + interpolated.std() + lowest.sum() + places.sum())
    print(f"total {total + float(lax.cumsum(triangle, axis=0).prod()):.3f}")


def density_of(path: Any) -> Any:
    return lax.cond(path[0, 0] > 0, lambda: jnp.cumsum(path[:, 0]), lambda: path[:, 1])


if __name__ == "__main__":
    main()

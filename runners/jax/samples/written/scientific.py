"""jax.scipy: what has no counterpart under the same name with plain arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_POINTS, _CODES = values(5, 2), values(3, 2, seed=1)


def table(call: Call) -> None:
    call("jax.scipy.cluster.vq.vq", lambda f, x, c: [*f(x, c)], _POINTS, _CODES, expect=_nearest)
    minimum = {"expect": np.array([1.0, -2.0])}
    call("jax.scipy.optimize.minimize", lambda f, x: f(_bowl, x, method="BFGS").x.round(3), values(2), **minimum)
    call(
        "jax.scipy.stats.gaussian_kde", lambda f, x, p: f(x).evaluate(p), values(20), values(3, seed=1), expect=_density
    )
    call("jax.scipy.stats.mode", lambda f, x: f(x)[0], np.array([3, 1, 3, 2], "float32"), expect=3)
    call("jax.scipy.stats.rankdata", None, np.array([3, 1, 3, 2], "float32"), expect=np.array([3.5, 1, 3.5, 2]))
    call("jax.scipy.stats.sem", None, values(6), expect=lambda x: x.std(ddof=1) / np.sqrt(6))
    quarter = np.array([0, 0, np.sqrt(0.5), np.sqrt(0.5)], "float32")
    call(
        "jax.scipy.spatial.transform.Rotation",
        lambda f, q: jax.numpy.stack([*f(q).apply(jax.numpy.array([1.0, 0, 0]))]),
        quarter,
        variant="apply",
    )
    call("jax.scipy.linalg.funm", lambda f, a: f(a, lambda x: x**2), values(3, 3), expect=lambda a: a @ a, unique=_real)
    call("jax.scipy.linalg.expm_frechet", lambda f, a, e: f(a, e)[0], values(3, 3), values(3, 3, seed=1), expect=_expm)
    call(
        "jax.scipy.linalg.cho_factor",
        lambda f, a: abs(jax.numpy.triu(f(a)[0])),
        _definite(),
        expect=lambda a: np.linalg.cholesky(a).T,
    )
    call(
        "jax.scipy.linalg.cho_solve",
        lambda f, a, b: f((jax.numpy.linalg.cholesky(a), True), b),
        _definite(),
        values(3),
        expect=np.linalg.solve,
    )
    call(
        "jax.scipy.linalg.lu_solve",
        lambda f, a, b: f(jax.scipy.linalg.lu_factor(a), b),
        _definite(),
        values(3),
        expect=np.linalg.solve,
    )
    call(
        "jax.scipy.linalg.eigh_tridiagonal",
        lambda f, d, e: f(d, e, eigvals_only=True),
        values(4),
        values(3, seed=1),
        expect=_of_bands,
    )
    call(
        "jax.scipy.special.sph_harm_y",
        lambda f, n, m, t, p: f(n, m, t, p, n_max=3),
        np.array([2], "int32"),
        np.array([1], "int32"),
        values(1, low=0.1),
        values(1, low=0.1, seed=1),
        expect=_harmonic,
    )


def _bowl(x: Any) -> Any:
    return (x[0] - 1) ** 2 + 3 * (x[1] + 2) ** 2


def _nearest(points: Any, codes: Any) -> Any:
    distances = np.linalg.norm(points[:, None] - codes[None], axis=2)
    return [distances.argmin(1), distances.min(1)]


def _density(x: Any, points: Any) -> Any:
    from scipy import stats

    return stats.gaussian_kde(x).evaluate(points)


def _definite() -> Any:
    square = values(3, 3)
    return (square @ square.T + 3 * np.eye(3)).astype("float32")


def _real(x: Any) -> Any:
    return x.real


def _expm(a: Any, e: Any) -> Any:
    from scipy import linalg

    return linalg.expm(a)


def _of_bands(middle: Any, side: Any) -> Any:
    return np.linalg.eigvalsh(np.diag(middle) + np.diag(side, 1) + np.diag(side, -1))


def _harmonic(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    from scipy import special

    return special.sph_harm_y(n, m, theta, phi)

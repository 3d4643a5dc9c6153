"""jax.lax and jax.lax.linalg: products, convolutions, decompositions; jax.scipy.sparse.linalg; jax.numpy.cross."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_A = values(4, 4) + 3 * np.eye(4, dtype="float32")
_S = (_A @ _A.T).astype("float32")
_IMAGE, _KERNEL = values(1, 2, 5, 5), values(3, 2, 2, 2, seed=1)


def table(call: Call) -> None:
    _products(call)
    _convolutions(call)
    _decompositions(call)
    _solvers(call)


def _products(call: Call) -> None:
    x, y = values(2, 3), values(3, 4, seed=1)
    call("jax.lax.dot", None, x, y, expect=np.dot, gradient=True)
    call("jax.lax.batch_matmul", None, values(2, 2, 3), values(2, 3, 4, seed=1), expect=np.matmul, gradient=True)
    call("jax.numpy.cross", None, values(4, 3), values(4, 3, seed=1), expect=np.cross, gradient=True)
    sizes = np.array([1, 1], "int32")
    experts = values(2, 3, 4, seed=2)
    expect = {"expect": lambda x, w, n: np.stack([x[0] @ w[0], x[1] @ w[1]])}
    call("jax.lax.ragged_dot", None, x, experts, sizes, **expect)
    facts = jax.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
    call("jax.lax.ragged_dot_general", lambda f, x, w, n: f(x, w, n, facts), x, experts, sizes, **expect)


def _correlated(x: Any, w: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("bcijkl,ockl->boij", windows, w)


def _convolutions(call: Call) -> None:
    def lax(name: str, body: Any, *args: Any, expect: Any = None) -> None:
        call(f"jax.lax.{name}", body, *args, expect=expect, gradient=expect is None or callable(expect))

    both = (_IMAGE, _KERNEL)
    lax("conv", lambda f, x, w: f(x, w, (1, 1), "VALID"), *both, expect=_correlated)
    lax("conv_general_dilated", lambda f, x, w: f(x, w, (1, 1), "VALID"), *both, expect=_correlated)
    lax("conv_with_general_padding", lambda f, x, w: f(x, w, (1, 1), "VALID", None, None), *both, expect=_correlated)
    layout = ("NCHW", "OIHW", "NCHW")
    lax(
        "conv_transpose", lambda f, x, w: f(x, w, (2, 2), "VALID", dimension_numbers=layout), _IMAGE, values(3, 2, 2, 2)
    )
    lax("conv_general_dilated_patches", lambda f, x: f(x, (2, 2), (1, 1), "VALID"), _IMAGE)
    lax("conv_general_dilated_local", lambda f, x, w: f(x, w, (1, 1), "VALID", (2, 2)), _IMAGE, values(3, 8, 4, 4))
    numbers = {"expect": [0, 1, 2, 3]}
    lax("conv_dimension_numbers", lambda f: list(f((1, 2, 5, 5), (3, 2, 2, 2), layout).lhs_spec), **numbers)
    shapes = ((1, 2, 5, 5), (3, 2, 2, 2), (1, 1))
    lax("conv_shape_tuple", lambda f: list(f(*shapes, [(0, 0), (0, 0)])), expect=[1, 3, 4, 4])
    lax("conv_general_shape_tuple", lambda f: list(f(*shapes, "VALID", layout)), expect=[1, 3, 4, 4])
    lax(
        "conv_transpose_shape_tuple",
        lambda f: list(f((1, 2, 5, 5), (3, 2, 2, 2), (2, 2), "VALID", layout)),
        expect=[1, 3, 10, 10],
    )
    lax("conv_general_permutations", lambda f: [list(each) for each in f(layout)], expect=[[0, 1, 2, 3]] * 3)
    lax("fft", lambda f, x: f(x.astype("complex64"), "fft", (4,)), values(4), expect=lambda x: np.fft.fft(x))


def _decompositions(call: Call) -> None:
    def linalg(name: str, body: Any, *args: Any, expect: Any, gradient: bool = False) -> None:
        call(f"jax.lax.linalg.{name}", body, *args, expect=expect, gradient=gradient)

    linalg("cholesky", None, _S, expect=np.linalg.cholesky)
    linalg("cholesky_update", _updated, _S, values(4), expect=lambda s, w: s + np.outer(w, w))
    linalg("eig", lambda f, a: abs(f(a)[0]).sum(), _S, expect=lambda a: abs(np.linalg.eigvals(a)).sum())
    linalg("eigh", lambda f, a: f(a)[1], _S, expect=lambda a: np.linalg.eigvalsh(a))
    linalg("lu", lambda f, a: _rebuilt(f(a)), _A, expect=lambda a: a)
    linalg("qr", lambda f, a: _multiplied(*f(a)), _A, expect=lambda a: a)
    linalg("svd", lambda f, a: f(a, compute_uv=False), _A, expect=lambda a: np.linalg.svd(a)[1])
    linalg("schur", lambda f, a: _similar(*f(a)), _A, expect=lambda a: a)
    linalg("hessenberg", lambda f, a: f(a)[0].shape[0], _A, expect=4)
    linalg("qdwh", lambda f, a: f(a)[0], _A, expect=_polar)
    pivots = np.array([1, 1, 3, 3], "int32")
    linalg("lu_pivots_to_permutation", lambda f, p: f(p, 4), pivots, expect=np.array([1, 0, 3, 2]))
    linalg(
        "triangular_solve",
        lambda f, a, b: f(a, b, left_side=True, lower=True),
        _A,
        values(4, 2),
        expect=lambda a, b: np.linalg.solve(np.tril(a), b),
        gradient=True,
    )
    linalg("symmetric_product", lambda f, a, c: f(a, c), _A, _S, expect=lambda a, c: a @ a.T)
    bands = values(4), values(4, seed=1, low=3, high=4), values(4, seed=2), values(4, 2, seed=3)
    linalg("tridiagonal_solve", None, *bands, expect=_tridiagonal)
    linalg("tridiagonal", lambda f, a: jax.numpy.sum(f(a)[1]), _S, expect=np.trace)
    linalg("householder_product", lambda f, a: abs(f(*_reflected(a))), _A, expect=lambda a: abs(np.linalg.qr(a)[0]))
    call(
        "jax.lax.linalg.ormqr",
        lambda f, a, b: abs(f(*_reflected(a), b)),
        _A,
        np.eye(4, dtype="float32"),
        expect=lambda a, b: abs(np.linalg.qr(a)[0]),
    )


def _updated(f: Any, s: Any, w: Any) -> Any:
    factor = f(jax.numpy.linalg.cholesky(s).T, w)
    return factor.T @ factor


def _rebuilt(parts: Any) -> Any:
    packed, _, permutation = parts
    size = packed.shape[0]
    lower = jax.numpy.tril(packed, -1) + jax.numpy.eye(size, dtype=packed.dtype)
    return jax.numpy.zeros_like(packed).at[permutation].set(lower @ jax.numpy.triu(packed))


def _multiplied(first: Any, second: Any) -> Any:
    return first @ second


def _similar(form: Any, vectors: Any) -> Any:
    return vectors @ form @ vectors.T


def _polar(a: Any) -> Any:
    u, _, v = np.linalg.svd(a)
    return u @ v


def _tridiagonal(low: Any, middle: Any, high: Any, b: Any) -> Any:
    return np.linalg.solve(np.diag(middle) + np.diag(low[1:], -1) + np.diag(high[:-1], 1), b)


def _reflected(a: Any) -> Any:
    return jax.numpy.linalg.qr(a, mode="raw")[0].T, jax.numpy.linalg.qr(a, mode="raw")[1]


def _solvers(call: Call) -> None:
    solved = {"expect": lambda a, b: np.linalg.solve(a, b)}
    b = values(4, seed=1)
    for name in ("cg", "bicgstab", "gmres"):
        call(
            f"jax.scipy.sparse.linalg.{name}", lambda f, a, b: f(lambda x: a @ x, b, tol=1e-6)[0], _S, b, unique=_coarse
        )
    call(
        "jax.lax.custom_linear_solve",
        lambda f, a, b: f(lambda x: a @ x, b, lambda m, y: jax.numpy.linalg.solve(a, y), symmetric=True),
        _S,
        b,
        **solved,
    )
    root = {"expect": lambda x: np.cbrt(x)}
    positive = values(3, low=1, high=2)
    call("jax.lax.custom_root", _root, positive, **root)


def _root(f: Any, x: Any) -> Any:
    def newton(function: Any, y: Any) -> Any:
        return jax.lax.fori_loop(0, 20, lambda i, y: y - function(y) / (3 * y**2), y)

    return f(lambda y: y**3 - x, x, newton, lambda g, y: y / g(jax.numpy.ones_like(y)))


def _coarse(x: Any) -> Any:
    return x.round(3)

"""jax.nn against closed forms in NumPy."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_X = values(3, 4, low=-3, high=3)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


def _erf(x: Any) -> Any:
    from scipy import special

    return special.erf(x)


def _softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def _normal(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


_SCALE, _ALPHA = 1.0507009873554805, 1.6732632423543772
_ELEMENTWISE: Any = {
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "identity": lambda x: x,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "log_sigmoid": lambda x: -_softplus(-x),
    "log_softmax": lambda x: np.log(_softmax(x)),
    "logmeanexp": lambda x: np.log(np.exp(x).mean()),
    "logsumexp": lambda x: np.log(np.exp(x).sum()),
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "selu": lambda x: _SCALE * np.where(x > 0, x, _ALPHA * np.expm1(x)),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "soft_sign": lambda x: x / (1 + abs(x)),
    "softmax": _softmax,
    "softplus": _softplus,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "squareplus": lambda x: (x + np.sqrt(x**2 + 4)) / 2,
    "standardize": _normal,
    "tanh": np.tanh,
}


def table(call: Call) -> None:
    for name, expect in _ELEMENTWISE.items():
        call(f"jax.nn.{name}", None, _X, expect=expect, gradient=True)
    call("jax.nn.gelu", lambda f, x: f(x, approximate=False), _X, expect=lambda x: x / 2 * (1 + _erf(x / np.sqrt(2))))
    call("jax.nn.glu", None, _X, expect=lambda x: x[:, :2] * _sigmoid(x[:, 2:]), gradient=True)
    call("jax.nn.log1mexp", None, abs(_X) + 0.1, expect=lambda x: np.log(1 - np.exp(-x)), gradient=True)
    call("jax.nn.one_hot", lambda f, i: f(i, 4), np.array([2, 0, 3], "int32"), expect=lambda i: np.eye(4)[i])
    call("jax.nn.softmax", lambda f, x: f(x, axis=0), _X, expect=lambda x: _softmax(x.T).T)
    query, key, value = values(2, 3, 2, 4), values(2, 5, 2, 4, seed=1), values(2, 5, 2, 4, seed=2)
    call("jax.nn.dot_product_attention", None, query, key, value, expect=_attention, gradient=True)
    contracted = (((2,), (2,)), ((0,), (0,)))
    call("jax.nn.scaled_dot_general", _scaled, values(2, 3, 32), values(2, 5, 32, seed=1))
    call("jax.nn.get_scaled_dot_general_config", lambda f: f("mxfp8").mode == "mxfp8", expect=True)
    call("jax.lax.dot_general", lambda f, x, y: f(x, y, contracted), values(2, 3, 4), values(2, 5, 4), expect=_products)


def _scaled(f: Any, x: Any, y: Any) -> Any:
    config = jax.nn.get_scaled_dot_general_config("mxfp8")
    return f(x, y, (((2,), (2,)), ((0,), (0,))), configs=[config] * 3)


def _products(x: Any, y: Any) -> Any:
    return np.einsum("bij,bkj->bik", x, y)


def _attention(q: Any, k: Any, v: Any) -> Any:
    weights = _softmax(np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]))
    return np.einsum("bhqk,bkhd->bqhd", weights, v)

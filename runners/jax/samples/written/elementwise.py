"""jax.lax, element by element, against NumPy and SciPy; jax.numpy.clip."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.core.testing.written import Call, values

_X, _Y = values(4, low=-0.9, high=0.9), values(4, seed=1, low=0.2, high=0.9)
_POSITIVE = values(4, seed=2, low=0.3, high=2)
_INTEGERS, _OTHER = np.array([5, -3, 12, 7], "int32"), np.array([2, 4, 3, 1], "int32")

_ARITHMETIC = (
    *("abs", "asin", "asinh", "acos", "atan", "atanh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log1p"),
    *("reciprocal", "sin", "sinh", "square", "tan", "tanh"),
)
_INVERSE = ("asin", "asinh", "acos", "atan", "atanh")
_BINARY = {
    "add": "add",
    "atan2": "arctan2",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "rem": "fmod",
    "sub": "subtract",
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}


def table(call: Call) -> None:
    _unary(call)
    _binary(call)
    _special(call)
    _integers(call)


def _unary(call: Call) -> None:
    for name in _ARITHMETIC:
        expect = getattr(np, f"arc{name[1:]}" if name in _INVERSE else name)
        call(f"jax.lax.{name}", None, _X, expect=expect, gradient=True)
    for name in ("log", "sqrt", "log2"):
        call(f"jax.lax.{name}", None, _POSITIVE, expect=getattr(np, name), gradient=True)
    for name in ("ceil", "floor", "sign"):
        call(f"jax.lax.{name}", None, 3 * _X, expect=getattr(np, name))
    for name in ("conj", "real", "imag"):
        call(f"jax.lax.{name}", None, (_X + 1j * _Y).astype("complex64"), expect=getattr(np, name))
    call("jax.lax.acosh", None, _POSITIVE + 1, expect=np.arccosh, gradient=True)
    call("jax.lax.neg", None, _X, expect=np.negative, gradient=True)
    call("jax.lax.round", None, 3 * _X, expect=lambda x: np.trunc(x + np.copysign(0.5, x)))
    call("jax.lax.rsqrt", None, _POSITIVE, expect=lambda x: 1 / np.sqrt(x), gradient=True)
    call("jax.lax.logistic", None, _X, expect=lambda x: 1 / (1 + np.exp(-x)), gradient=True)
    call("jax.numpy.clip", None, _X, -0.5, 0.25, expect=np.clip, gradient=True)
    call("jax.lax.is_finite", None, np.array([1, np.inf, np.nan], "float32"), expect=np.isfinite)
    call("jax.lax.integer_pow", None, _X, 3, expect=lambda x, n: x**n, gradient=True)
    call("jax.lax.one_minus_square", None, _X, expect=lambda x: 1 - x**2)
    call("jax.lax.stop_gradient", None, _X, expect=lambda x: x, gradient=True)
    rounded = np.array([1.0, 1.25])
    call("jax.lax.reduce_precision", lambda f, x: f(x, 8, 7), np.array([1.001, 1.25], "float32"), expect=rounded)
    call("jax.lax.polynomial", lambda f, x: f(x, [2.0, 3.0, 4.0]), _X, expect=lambda x: (4 * x + 3) * x + 2)


def _binary(call: Call) -> None:
    for name, counterpart in _BINARY.items():
        call(f"jax.lax.{name}", None, _X, _Y, expect=getattr(np, counterpart))
    call("jax.lax.nextafter", None, _X, _Y, expect=lambda x, y: np.nextafter(*(v.astype("float32") for v in (x, y))))
    call("jax.lax.pow", None, _POSITIVE, _X, expect=np.power, gradient=True)
    call("jax.lax.complex", None, _X, _Y, expect=lambda x, y: x + 1j * y)
    low, high = np.float32(-0.2), np.float32(0.3)
    call("jax.lax.clamp", None, low, _X, high, expect=lambda a, x, b: np.clip(x, a, b), gradient=True)


def _special(call: Call) -> None:
    for name, counterpart, x in (
        *(("bessel_i0e", "i0e", _X), ("bessel_i1e", "i1e", _X), ("digamma", "psi", _POSITIVE), ("erf", "erf", _X)),
        *(("erf_inv", "erfinv", _X), ("erfc", "erfc", _X), ("lgamma", "gammaln", _POSITIVE)),
    ):
        call(f"jax.lax.{name}", None, x, expect=_of_scipy(counterpart), gradient=True)
    whole = np.array([1, 2, 3, 0], "float32")
    for name, counterpart, arguments in (
        ("betainc", "betainc", (_POSITIVE, _POSITIVE + 1, _Y)),
        ("igamma", "gammainc", (_POSITIVE, _Y)),
        ("igammac", "gammaincc", (_POSITIVE, _Y)),
        ("polygamma", "polygamma", (whole, _POSITIVE)),
        ("zeta", "zeta", (_POSITIVE + 1.5, _Y)),
    ):
        call(f"jax.lax.{name}", None, *arguments, expect=_of_scipy(counterpart))
    for name in ("igamma_grad_a", "random_gamma_grad"):
        call(f"jax.lax.{name}", None, _POSITIVE, _Y)


def _of_scipy(name: str) -> Any:
    def expect(*arguments: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*arguments)

    return expect


def _integers(call: Call) -> None:
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        call(f"jax.lax.{name}", None, _INTEGERS, _OTHER, expect=getattr(np, name))
    call("jax.lax.bitwise_not", None, _INTEGERS, expect=np.invert)
    call("jax.lax.shift_left", None, _INTEGERS, _OTHER, expect=np.left_shift)
    call("jax.lax.shift_right_arithmetic", None, _INTEGERS, _OTHER, expect=np.right_shift)
    logical = {"expect": lambda x, y: (x.astype("uint32") >> y.astype("uint32")).astype("int32")}
    call("jax.lax.shift_right_logical", None, _INTEGERS, _OTHER, **logical)
    positive = np.array([1, 5, 255, 1024], "int32")
    call("jax.lax.clz", None, positive, expect=np.array([31, 29, 24, 21]))
    call("jax.lax.population_count", None, positive, expect=np.array([1, 2, 8, 1]))
    large = np.array([2**30, -(2**30), 2**20, 7], "int32")
    call("jax.lax.mulhi", None, large, large, expect=lambda x, y: (x.astype("int64") * y) >> 32)
    call(
        "jax.lax.bitcast_convert_type",
        lambda f, x: f(x, "int32"),
        _X,
        expect=lambda x: x.astype("float32").view("int32"),
    )
    call("jax.lax.convert_element_type", lambda f, x: f(x, "int32"), 5 * _X, expect=lambda x: x.astype("int32"))

"""jax.lax: reductions, cumulative functions, sorting and windows, against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_X = values(3, 4)
_BITS = np.array([[5, 3, 6], [12, 10, 9]], "int32")


def table(call: Call) -> None:
    for name in ("argmax", "argmin"):
        call(f"jax.lax.{name}", lambda f, x: f(x, 1, np.int32), _X, expect=lambda x, n=name: getattr(np, n)(x, 1))
    for name in ("max", "min", "prod", "sum"):
        expect = getattr(np, name)
        call(f"jax.lax.reduce_{name}", lambda f, x: f(x, (1,)), _X, expect=lambda x, e=expect: e(x, 1), gradient=True)
    for name in ("and", "or", "xor"):
        expect = getattr(np, f"bitwise_{name}").reduce
        call(f"jax.lax.reduce_{name}", lambda f, x: f(x, (1,)), _BITS, expect=lambda x, e=expect: e(x, 1))
    call("jax.lax.reduce", lambda f, x: f(x, np.float32(0), jax.lax.add, (0,)), _X, expect=lambda x: x.sum(0))
    _cumulative(call)
    _sorted(call)
    _windows(call)


def _cumulative(call: Call) -> None:
    for name, function in (("sum", np.add), ("prod", np.multiply), ("max", np.maximum), ("min", np.minimum)):
        expect = function.accumulate
        call(f"jax.lax.cum{name}", lambda f, x: f(x, 1), _X, expect=lambda x, e=expect: e(x, 1), gradient=True)
    call("jax.lax.cumlogsumexp", None, _X, expect=np.logaddexp.accumulate, gradient=True)
    call("jax.lax.associative_scan", lambda f, x: f(jax.lax.mul, x), _X, expect=lambda x: np.cumprod(x, 0))


def _sorted(call: Call) -> None:
    call("jax.lax.sort", None, _X, expect=np.sort, gradient=True)
    pair = {"expect": lambda k, v: [np.sort(k), v[np.argsort(k)]]}
    call("jax.lax.sort_key_val", lambda f, k, v: [*f(k, v)], _X[0], _X[1], **pair)
    call("jax.lax.top_k", lambda f, x: [*f(x, 2)], _X[0], expect=lambda x: [np.sort(x)[:-3:-1], np.argsort(x)[:-3:-1]])
    # With a recall of one, all of the largest are found.
    for name, end in (("max", slice(-1, -3, -1)), ("min", slice(0, 2))):
        body = _exact
        call(f"jax.lax.approx_{name}_k", body, _X[0], expect=lambda x, e=end: [np.sort(x)[e], np.argsort(x)[e]])


def _exact(f: Any, x: Any) -> Any:
    return [*f(x, 2, recall_target=1.0)]


def _windows(call: Call) -> None:
    call(
        "jax.lax.reduce_window",
        lambda f, x: f(x, np.float32(0), jax.lax.add, (2, 2), (1, 2), "VALID"),
        _X,
        expect=lambda x: (x[:-1] + x[1:]).reshape(2, 2, 2).sum(2),
    )
    call("jax.lax.reduce_window_shape_tuple", lambda f: list(f((3, 4), (2, 2), (1, 2), "VALID")), expect=[2, 2])
    for name, expect in (("sum", [4.0, 6.0]), ("prod", [3.0, 8.0]), ("max", [3.0, 4.0]), ("min", [1.0, 2.0])):
        rows, places = np.array([1, 2, 3, 4], "float32"), np.array([0, 1, 0, 1], "int32")
        call(f"jax.ops.segment_{name}", lambda f, x, i: f(x, i, 2), rows, places, expect=np.array(expect))

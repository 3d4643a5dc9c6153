"""jax.numpy: types, texts, functions of functions, and others whose results are not arrays alone; jax.dtypes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from runners.core.testing.written import Call, values

_X = values(3, 4)


def table(call: Call) -> None:
    _scalars(call)
    _types(call)
    _functions(call)
    _made(call)
    _dtypes(call)


def _scalars(call: Call) -> None:
    for name in ("float16", "float32", "bfloat16", "complex64", "int8", "int16", "int32", "uint8", "uint16", "uint32"):
        call(f"jax.numpy.{name}", lambda f: [f(3), str(f(3).dtype)][0], expect=3)
    call("jax.numpy.bool", lambda f: f(1), expect=True)
    wide = {"float64": 3, "int64": 3, "uint64": 3, "complex128": 3}
    for name, value in wide.items():
        call(f"jax.numpy.{name}", lambda f: f(3), expect=value)
    for name in ("int4", "uint4", "int2", "uint2"):
        call(f"jax.numpy.{name}", lambda f: f(1).astype("int32"), expect=1)
    for name in (
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4"),
        *("float8_e4m3", "float8_e8m0fnu", "float4_e2m1fn"),
    ):
        call(f"jax.numpy.{name}", lambda f: f(2.0).astype("float32"), expect=2.0)


def _types(call: Call) -> None:
    n = "jax.numpy."
    call(f"{n}can_cast", lambda f: [f("int8", "int32"), f("float32", "int32")], expect=[True, False])
    call(f"{n}isdtype", lambda f: [f(jnp.float32, "real floating"), f(jnp.int32, "bool")], expect=[True, False])
    call(f"{n}issubdtype", lambda f: [f(jnp.float32, jnp.floating), f(jnp.int32, jnp.floating)], expect=[True, False])
    call(f"{n}promote_types", lambda f: str(f("int32", "float16")) == "float16", expect=True)
    call(f"{n}result_type", lambda f, x: str(f(x, 1)) == "float32", _X, expect=True)
    call(f"{n}iscomplexobj", lambda f, x: [f(x), f(1j * x)], _X, expect=[False, True])
    call(f"{n}isrealobj", lambda f, x: [f(x), f(1j * x)], _X, expect=[True, False])
    call(f"{n}isscalar", lambda f, x: [f(3.0), f(x)], _X, expect=[True, False])
    call(f"{n}iterable", lambda f, x: [f(x), f(3)], _X, expect=[True, False])
    call(f"{n}array_repr", lambda f: "[1, 2]" in f(jnp.array([1, 2])), expect=True)
    call(f"{n}array_str", lambda f: f(jnp.array([1, 2])) == "[1 2]", expect=True)
    call(f"{n}get_printoptions", lambda f: f()["precision"] > 0, expect=True)
    call(f"{n}set_printoptions", _printed, expect=[True, True])
    call(f"{n}printoptions", lambda f: _inside(f(precision=3), lambda: np.get_printoptions()["precision"]), expect=3)
    call(f"{n}ndim", None, _X, expect=2)
    call(f"{n}size", None, _X, expect=12)
    call(f"{n}shape", lambda f, x: list(f(x)), _X, expect=[3, 4])
    call(f"{n}einsum_path", lambda f, x: len(f("ij,jk->ik", x, x.T)[0]), _X, expect=1)


def _inside(context: Any, ask: Any) -> Any:
    with context:
        return ask()


def _printed(f: Any) -> Any:
    before = np.get_printoptions()["precision"]
    f(precision=3)
    changed = np.get_printoptions()["precision"] == 3
    f(precision=before)
    return [changed, np.get_printoptions()["precision"] == before]


def _functions(call: Call) -> None:
    n = "jax.numpy."
    call(f"{n}apply_along_axis", lambda f, x: f(jnp.sum, 1, x), _X, expect=lambda x: x.sum(1))
    call(f"{n}apply_over_axes", lambda f, x: f(jnp.sum, x, [0, 1]), _X, expect=lambda x: x.sum().reshape(1, 1))
    call(f"{n}fromfunction", lambda f: f(lambda i, j: i + j, (2, 3)), expect=np.add.outer(range(2), range(3)))
    call(f"{n}frompyfunc", lambda f, x: f(lambda a, b: a * b, 2, 1).reduce(x, axis=0), _X, expect=lambda x: x.prod(0))
    call(
        f"{n}piecewise",
        lambda f, x: f(x, [x < 0], [lambda y: -y, lambda y: 2 * y]),
        _X,
        expect=lambda x: np.where(x < 0, -x, 2 * x),
    )
    call(f"{n}vectorize", lambda f, x: f(jnp.sum, signature="(n)->()")(x), _X, expect=lambda x: x.sum(1))


def _made(call: Call) -> None:
    n = "jax.numpy."
    call(f"{n}empty", lambda f: list(f((2, 3)).shape), expect=[2, 3])
    call(f"{n}empty_like", lambda f, x: list(f(x).shape), _X, expect=[3, 4])
    call(f"{n}frombuffer", lambda f: f(b"\x01\x02\x03", "uint8"), expect=np.array([1, 2, 3]))
    call(f"{n}fromstring", lambda f: f("1 2 3", dtype="int32", sep=" "), expect=np.array([1, 2, 3]))
    for name in ("jax.numpy.from_dlpack", "jax.dlpack.from_dlpack"):
        call(name, lambda f: f(np.arange(3.0, dtype="float32")), expect=np.arange(3.0))
    call("jax.dlpack.is_supported_dtype", lambda f: f("float32"), expect=True)
    call(f"{n}mask_indices", lambda f: [*f(3, jnp.triu)], expect=list(np.mask_indices(3, np.triu)))
    call(f"{n}astype", lambda f, x: f(x, "int32"), 5 * _X, expect=lambda x: x.astype("int32"))
    call(f"{n}top_k", lambda f, x: f(x, 2)[0], _X[0], expect=lambda x: np.sort(x)[:-3:-1])
    call(f"{n}minmax", lambda f, x: [*f(x)], _X, expect=lambda x: [x.min(), x.max()])
    call(f"{n}mod", None, _X, np.float32(0.3), expect=np.mod)
    call(
        f"{n}place",
        lambda f, x: f(x, x > 0, jnp.array([9.0]), inplace=False),
        _X,
        expect=lambda x: np.where(x > 0, 9, x),
    )
    call(f"{n}put", lambda f, x: f(x, jnp.array([0, 5]), 9.0, inplace=False), _X, expect=_put)
    index = np.array([[1], [0], [2]], "int32")
    call(f"{n}put_along_axis", lambda f, x, i: f(x, i, 9.0, 1, inplace=False), _X, index, expect=_put_along)
    call(f"{n}fill_diagonal", lambda f, x: f(x, 9.0, inplace=False), _X, expect=_filled)
    call(f"{n}ix_", lambda f: [*f(jnp.array([0, 2]), jnp.array([1]))], expect=list(np.ix_([0, 2], [1])))
    call(f"{n}diag_indices_from", lambda f, x: [*f(x)], _X[:, :3], expect=lambda x: list(np.diag_indices_from(x)))
    call(f"{n}tril_indices_from", lambda f, x: [*f(x)], _X, expect=lambda x: list(np.tril_indices_from(x)))
    call(f"{n}triu_indices_from", lambda f, x: [*f(x)], _X, expect=lambda x: list(np.triu_indices_from(x)))
    call(f"{n}broadcast_shapes", lambda f: list(f((3, 1), (1, 4))), expect=[3, 4])


def _put(x: Any) -> Any:
    found = x.copy()
    np.put(found, [0, 5], 9)
    return found


def _put_along(x: Any, index: Any) -> Any:
    found = x.copy()
    np.put_along_axis(found, index.astype("int64"), 9, 1)
    return found


def _filled(x: Any) -> Any:
    found = x.copy()
    np.fill_diagonal(found, 9)
    return found


def _dtypes(call: Call) -> None:
    d = "jax.dtypes."
    call(f"{d}canonicalize_dtype", lambda f: str(f("float32")) == "float32", expect=True)
    call(f"{d}itemsize_bits", lambda f: [f("float32"), f("int4")], expect=[32, 4])
    call(f"{d}result_type", lambda f: str(f(jnp.int32, jnp.float16)) == "float16", expect=True)
    call(f"{d}scalar_type_of", lambda f: f(2.0) is float, expect=True)

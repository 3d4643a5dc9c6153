"""jax.lax: shapes, slices, gathers and scatters, against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.written import Call, values

_X = values(3, 4)


def table(call: Call) -> None:
    _shapes(call)
    _slices(call)
    _updates(call)
    _scatters(call)


def _lax(call: Call, name: str, body: Any, *args: Any, expect: Any, gradient: bool = True) -> None:
    call(f"jax.lax.{name}", body, *args, expect=expect, gradient=gradient)


def _shapes(call: Call) -> None:
    _lax(call, "broadcast", lambda f, x: f(x, (2,)), _X, expect=lambda x: np.stack([x, x]))
    _lax(call, "broadcast_in_dim", lambda f, x: f(x, (4, 3), (1,)), _X[:, 0], expect=lambda x: np.tile(x, (4, 1)))
    _lax(call, "broadcast_like", lambda f, x, y: f(x, y), _X[:1], _X, expect=lambda x, y: np.tile(x, (3, 1)))
    _lax(call, "broadcast_to_rank", lambda f, x: f(x, 3), _X, expect=lambda x: x[None])
    _lax(call, "broadcast_shapes", lambda f: list(f((3, 1), (1, 4))), expect=[3, 4], gradient=False)
    _lax(
        call, "broadcasted_iota", lambda f: f("int32", (2, 3), 1), expect=np.tile(np.arange(3), (2, 1)), gradient=False
    )
    _lax(call, "iota", lambda f: f("int32", 4), expect=np.arange(4), gradient=False)
    _lax(call, "collapse", lambda f, x: f(x, 0, 2), _X, expect=np.ravel)
    _lax(call, "concatenate", lambda f, x: f([x, x], 0), _X, expect=lambda x: np.concatenate([x, x]))
    _lax(call, "empty", lambda f: list(f((2, 3), "float32").shape), expect=[2, 3], gradient=False)
    _lax(call, "expand_dims", lambda f, x: f(x, (1,)), _X, expect=lambda x: x[:, None])
    _lax(call, "full", lambda f: f((2, 3), 1.5), expect=np.full((2, 3), 1.5), gradient=False)
    _lax(call, "full_like", lambda f, x: f(x, 1.5), _X, expect=np.full((3, 4), 1.5), gradient=False)
    pads = ((1, 0, 0), (0, 2, 0))
    _lax(call, "pad", lambda f, x: f(x, np.float32(0), pads), _X, expect=lambda x: np.pad(x, ((1, 0), (0, 2))))
    _lax(call, "reshape", lambda f, x: f(x, (2, 6)), _X, expect=lambda x: x.reshape(2, 6))
    _lax(call, "rev", lambda f, x: f(x, (0,)), _X, expect=lambda x: x[::-1])
    _lax(call, "squeeze", lambda f, x: f(x, (1,)), _X[:, :1], expect=lambda x: x[:, 0])
    _lax(call, "stack", lambda f, x: f([x, x]), _X, expect=lambda x: np.stack([x, x]))
    _lax(call, "unstack", lambda f, x: [*f(x)], _X, expect=list)
    _lax(call, "tile", lambda f, x: f(x, (2, 1)), _X, expect=lambda x: np.tile(x, (2, 1)))
    _lax(call, "transpose", lambda f, x: f(x, (1, 0)), _X, expect=np.transpose)
    _lax(call, "split", lambda f, x: [*f(x, (1, 3), 1)], _X, expect=lambda x: [x[:, :1], x[:, 1:]])
    _lax(call, "select", None, _X > 0, _X, 2 * _X, expect=np.where)
    _lax(call, "select_n", None, _X > 0, _X, 2 * _X, expect=lambda c, x, y: np.where(c, y, x))
    _lax(call, "dtype", lambda f, x: str(f(x)) == "float32", _X, expect=True, gradient=False)
    _lax(call, "shape_as_value", lambda f: f((3, 4)), expect=np.array([3, 4]), gradient=False)


def _slices(call: Call) -> None:
    _lax(call, "slice", lambda f, x: f(x, (1, 0), (3, 4), (1, 2)), _X, expect=lambda x: x[1:3, ::2])
    _lax(call, "slice_in_dim", lambda f, x: f(x, 1, 3), _X, expect=lambda x: x[1:3])
    _lax(call, "dynamic_slice", lambda f, x: f(x, (1, 2), (2, 2)), _X, expect=lambda x: x[1:3, 2:4])
    _lax(call, "dynamic_slice_in_dim", lambda f, x: f(x, 1, 2), _X, expect=lambda x: x[1:3])
    _lax(call, "dynamic_index_in_dim", lambda f, x: f(x, 1), _X, expect=lambda x: x[1:2])
    _lax(call, "index_in_dim", lambda f, x: f(x, 1), _X, expect=lambda x: x[1:2])
    rows = np.array([2, 0], "int32")
    _lax(call, "index_take", lambda f, x, i: f(x, (i,), (0,)), _X, rows, expect=lambda x, i: x[i], gradient=False)
    facts = jax.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    _lax(call, "gather", lambda f, x, i: f(x, i[:, None], facts, (1, 4)), _X, rows, expect=lambda x, i: x[i])


def _updates(call: Call) -> None:
    new = 5 * values(2, 2, seed=1)

    def updated(x: Any, y: Any) -> Any:
        return np.r_[x[:1], np.c_[x[1:, :2], y]]

    _lax(call, "dynamic_update_slice", lambda f, x, y: f(x, y, (1, 2)), _X, new, expect=updated)
    row = values(1, 4, seed=2)
    replaced = {"expect": lambda x, y: np.r_[x[:1], y, x[2:]]}
    _lax(call, "dynamic_update_slice_in_dim", lambda f, x, y: f(x, y, 1, 0), _X, row, **replaced)
    _lax(call, "dynamic_update_index_in_dim", lambda f, x, y: f(x, y, 1, 0), _X, row, **replaced)


def _scatters(call: Call) -> None:
    facts = jax.lax.ScatterDimensionNumbers((1,), (0,), (0,))
    rows, new = np.array([2, 0, 2], "int32"), values(3, 4, seed=3)
    for name, at in (
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("max", np.maximum),
        ("min", np.minimum),
    ):

        def expect(x: Any, i: Any, y: Any, at: Any = at) -> Any:
            found = x.copy()
            at.at(found, i, y)
            return found

        _lax(
            call,
            f"scatter_{name}",
            lambda f, x, i, y: f(x, i[:, None], y, facts),
            _X,
            rows,
            new,
            expect=expect,
            gradient=name in ("add", "sub"),
        )
    once = np.array([2, 0], "int32")

    def replaced(x: Any, i: Any, y: Any) -> Any:
        found = x.copy()
        found[i] = y
        return found

    _lax(call, "scatter", lambda f, x, i, y: f(x, i[:, None], y, facts), _X, once, new[:2], expect=replaced)
    _lax(
        call,
        "scatter_apply",
        lambda f, x, i: f(x, i[:, None], jnp.sin, facts, update_shape=(2, 4)),
        _X,
        once,
        expect=lambda x, i: replaced(x, i, np.sin(x[i])),
        gradient=False,
    )

"""Sparse, masked and nested tensors, compared as dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.masked
import torch.nested

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_PLACES = of([0, 1, 1], [2, 0, 2])
_VALUES = t(3)
_MASK = of([True, False, True], [False, True, True])


def table(call: Call) -> None:
    _made(call)
    _products(call)
    _masked(call)
    _nested(call)


def _dense(places: Any, values: Any) -> Any:
    found = np.zeros((2, 3))
    found[tuple(places)] = values
    return found


def _made(call: Call) -> None:
    call("torch.sparse_coo_tensor", lambda f, i, v: f(i, v, (2, 3)).to_dense(), _PLACES, _VALUES, expect=_dense)
    rows, columns = of(0, 1, 3), of(2, 0, 2)
    expect = {"expect": lambda r, c, v: _dense([[0, 1, 1], [2, 0, 2]], v)}
    call("torch.sparse_csr_tensor", lambda f, r, c, v: f(r, c, v, (2, 3)).to_dense(), rows, columns, _VALUES, **expect)
    layout = torch.sparse_csr
    call(
        "torch.sparse_compressed_tensor",
        lambda f, r, c, v: f(r, c, v, (2, 3), layout=layout).to_dense(),
        rows,
        columns,
        _VALUES,
        **expect,
    )
    starts, places = of(0, 1, 1, 3), of(1, 0, 1)
    by_column = {"expect": lambda r, c, v: _dense([[1, 0, 1], [0, 2, 2]], v)}
    call(
        "torch.sparse_csc_tensor",
        lambda f, r, c, v: f(r, c, v, (2, 3)).to_dense(),
        starts,
        places,
        _VALUES,
        **by_column,
    )
    for name in ("bsr", "bsc"):
        one = {"expect": lambda i, j, v: v[0]}
        call(
            f"torch.sparse_{name}_tensor",
            lambda f, i, j, v: f(i, j, v, (2, 2)).to_dense(),
            of(0, 1),
            of(0),
            t(1, 2, 2),
            **one,
        )
    for name, method in (("crow", "csr"), ("col", "csr"), ("ccol", "csc"), ("row", "csc")):
        call(f"torch.{name}_indices_copy", _indices(f"to_sparse_{method}"), _MASK.float())
    call(
        "torch.resize_as_sparse_",
        lambda f, x, y: list(f(x.to_sparse().clone(), y.to_sparse()).shape),
        t(2, 3),
        t(4, 5),
        expect=[4, 5],
    )
    call("torch.sparse.check_sparse_tensor_invariants", _checked, expect=[True, False])


def _indices(method: str) -> Any:
    return lambda f, x: f(getattr(x, method)())


def _checked(f: Any) -> Any:
    with f():
        inside = torch.sparse.check_sparse_tensor_invariants.is_enabled()
    return [inside, torch.sparse.check_sparse_tensor_invariants.is_enabled()]


def _products(call: Call) -> None:
    left, right, added = t(2, 3), t(3, 4, seed=1), t(2, 4, seed=2)
    product = {"expect": lambda x, y: x @ y}
    for name in ("torch.sparse.mm", "torch.dsmm", "torch.spmm"):
        call(name, lambda f, x, y: f(x.to_sparse(), y), left, right, **product)
    call("torch.hspmm", lambda f, x, y: f(x.to_sparse(), y).to_dense(), left, right, **product)
    call("torch.hsmm", lambda f, x, y: f(x.to_sparse(), y).to_dense(), left, right, **product)
    call("torch.smm", lambda f, x, y: f(x.to_sparse(), y).to_dense(), left, right, **product)
    total = {"expect": lambda a, x, y: a + x @ y}
    call("torch.sparse.addmm", lambda f, a, x, y: f(a, x.to_sparse(), y), added, left, right, **total)
    call(
        "torch.sspaddmm", lambda f, a, x, y: f(a.to_sparse(), x.to_sparse(), y).to_dense(), added, left, right, **total
    )
    call("torch.sparse.sum", lambda f, x: f(x.to_sparse()), left, expect=np.sum)
    call("torch.sparse.softmax", lambda f, x: f(x.to_sparse(), 1).to_dense(), left, expect=_softmax)
    call(
        "torch.sparse.log_softmax",
        lambda f, x: f(x.to_sparse(), 1).to_dense(),
        left,
        expect=lambda x: np.log(_softmax(x)),
    )


def _softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


def _masked(call: Call) -> None:
    x = t(2, 3)
    kept = {"expect": lambda x, m: np.where(m, x, 9)}
    for name in ("masked_tensor", "as_masked_tensor", "MaskedTensor"):
        call(f"torch.masked.{name}", lambda f, x, m: f(x, m).to_tensor(9.0), x, _MASK, **kept)
    call(
        "torch.masked.is_masked_tensor",
        lambda f, x, m: [f(torch.masked.masked_tensor(x, m)), f(x)],
        x,
        _MASK,
        expect=[True, False],
    )


def _nested(call: Call) -> None:
    n, rows = "torch.nested.", (t(2), t(3, seed=1))
    padded = {"expect": lambda x, y: np.stack([np.r_[x, 0], y])}
    for name in ("nested_tensor", "as_nested_tensor"):
        call(f"{n}{name}", lambda f, x, y: torch.nested.to_padded_tensor(f([x, y]), 0.0), *rows, **padded)
    call(f"{n}to_padded_tensor", lambda f, x, y: f(torch.nested.nested_tensor([x, y]), 0.0), *rows, **padded)
    call(
        f"{n}nested_tensor_from_jagged",
        lambda f, x: f(x, torch.tensor([0, 2, 5])).unbind()[1],
        t(5),
        expect=lambda x: x[2:],
    )
    call(f"{n}masked_select", lambda f, x, m: f(x, m).unbind()[0], t(2, 3), _MASK, expect=lambda x, m: x[0][m[0]])
    call(
        f"{n}narrow",
        lambda f, x: f(x, 1, 0, torch.tensor([1, 2]), torch.jagged).unbind()[1],
        t(2, 3),
        expect=lambda x: x[1, :2],
    )

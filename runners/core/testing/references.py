"""The NumPy and SciPy functions that may be references: those that compute and do not touch files."""

from __future__ import annotations

import importlib
import json
from typing import Any, Callable

import numpy as np

from runners.core.documents import SCHEMAS

_NUMPY = frozenset(
    """all allclose amax amin angle any append arange argmax argmin argpartition argsort argwhere around array_equal
    asarray atleast_1d atleast_2d atleast_3d average bincount block broadcast_arrays broadcast_to clip column_stack
    compress concatenate convolve copy corrcoef correlate cov cross cumprod cumsum delete diag diagflat diagonal diff
    digitize dot dsplit dstack einsum empty_like expand_dims eye fix flip fliplr flipud full full_like geomspace
    gradient heaviside histogram histogram2d hsplit hstack identity imag indices inner insert interp intersect1d
    isclose isin kron lexsort linspace logspace max mean median meshgrid min moveaxis nan_to_num nanargmax nanargmin
    nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar
    nonzero ones ones_like outer pad partition percentile piecewise poly polyfit polyval prod ptp quantile ravel
    ravel_multi_index real repeat reshape resize roll rollaxis rot90 round searchsorted select setdiff1d setxor1d
    shape sinc size sort split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose
    trapz tri tril tril_indices trim_zeros triu triu_indices unique unravel_index unwrap vander var vdot vsplit vstack
    where zeros zeros_like""".split()  # noqa: SIM905 - this many names read best as prose
)
_COMPUTING_NOTHING = json.loads((SCHEMAS / "exact-references.json").read_text("utf-8"))
MOVING = frozenset(_COMPUTING_NOTHING["moving"])
EXACT = MOVING.union(_COMPUTING_NOTHING["choosing"])
"""Those that compute nothing, and the ones among them that move values: schema/exact-references.json says what their
outputs have to be."""

_NUMPY_MODULES = ("linalg", "fft")
_SCIPY_MODULES = ("linalg", "special", "fft", "signal", "ndimage")


def find(library: str, name: str) -> Callable[..., Any]:
    """The function ``numpy.<name>`` or ``scipy.<name>``. Raises LookupError if it may not be a reference."""
    *path, last = name.split(".")
    if library == "numpy" and not path:
        found = getattr(np, last, None)
        if callable(found) and (last in _NUMPY or isinstance(found, np.ufunc)):
            return found  # type: ignore[no-any-return]
    elif len(path) == 1 and path[0] in (_NUMPY_MODULES if library == "numpy" else _SCIPY_MODULES):
        module = importlib.import_module(f"{library}.{path[0]}")
        if last in getattr(module, "__all__", ()):
            return getattr(module, last)  # type: ignore[no-any-return]
    raise LookupError(f"{library}.{name} is not among the references of runners/core/testing/references.py")

"""Functions that NumPy or SciPy have too, mostly under the same name: inputs by parameters, references by that package.

Every form of arguments that fits a function's parameters is tried: a sample is what the counterpart accepts with a
numeric result, and what the framework accepts too. Inputs are drawn with a fixed seed, away from what makes results
ambiguous: no ties, and matrices that are well conditioned.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from functools import lru_cache
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from runners.core.testing import tree
from runners.core.testing.samples import Entry, Sample

_SEED = 20230401
_OF_GRADIENTS = "float32"
_WIDER = {"float16": "float64", "float32": "float64", "complex64": "complex128", "int8": "int64", "int32": "int64"}

Call = Callable[..., Any]


class Pair(NamedTuple):
    """A public function, and the one of the same name in the other package. ``unique`` gives what of an output is the
    same wherever it is computed."""

    function: Call
    counterpart: Call
    unique: Call = lambda output: output


def pairs(
    modules: Mapping[str, tuple[Any, Any]], left_out: Sequence[str], unique: Mapping[str, Call]
) -> dict[str, Pair]:
    """The pairs by the framework's names. ``modules`` are the framework's and the other package's by the name of the
    framework's. ``unique`` is by full names."""
    found = {}
    for home, (ours, theirs) in modules.items():
        for name in sorted(dir(ours)):
            function, counterpart = getattr(ours, name), getattr(theirs, name, None)
            if name.startswith("_") or name in left_out or not (_is_function(function) and callable(counterpart)):
                continue
            if name.endswith("_shift"):
                counterpart = functools.partial(_shifted, counterpart)
            if name in ("eigh", "eigvalsh"):
                counterpart = functools.partial(_of_hermitian, counterpart)
            if name in _ORDERED:
                counterpart = functools.partial(_of_ordered, counterpart, _ORDERED[name])
            full = f"{home}.{name}"
            found[full] = Pair(function, counterpart, unique.get(full, Pair._field_defaults["unique"]))
    return found


_ORDERED = {"interp": 1, "searchsorted": 0}
"""The places of arguments that are searched, and so must be in order."""


def _of_ordered(function: Call, place: int, *args: Any, **kwargs: Any) -> Any:
    """What is found in other values depends on how they are searched."""
    if np.any(np.asarray(args[place])[..., 1:] <= np.asarray(args[place])[..., :-1]):
        raise ValueError("the values are not in ascending order")
    return function(*args, **kwargs)


def _shifted(shift: Call, x: Any, places: Any) -> Any:
    """What is shifted by less than no bits, or by all, is not the same everywhere."""
    if not np.all((np.asarray(places) >= 0) & (np.asarray(places) < 8 * np.asarray(x).itemsize)):
        raise ValueError("the number of places is not within the width of the integers")
    return shift(x, places)


def _of_hermitian(function: Call, matrix: Any, *args: Any, **kwargs: Any) -> Any:
    """The imaginary part of the diagonal is ignored by some libraries, and not by others."""
    if np.any(np.imag(np.diagonal(np.asarray(matrix), axis1=-2, axis2=-1))):
        raise ValueError("the diagonal of a Hermitian matrix is real")
    return function(matrix, *args, **kwargs)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not hasattr(value, "dtype")


class Framework(NamedTuple):
    """What is the framework's own. ``accepts`` says whether a function takes arguments with NumPy's arrays; ``host``
    makes arguments as a sample holds them, of those with NumPy's arrays, and whether they want gradients."""

    dtypes: Sequence[str]
    accepts: Callable[[Call, Sequence[Any], Mapping[str, Any]], bool]
    host: Callable[[Any, bool], Any]


class Counterparts:
    """The functions of a source (see runners.core.testing.samples.SampleSource). ``make`` gives the pairs by the public
    names, when they are first needed."""

    def __init__(self, framework: Framework, make: Callable[[], Mapping[str, Pair]]) -> None:
        self._framework = framework
        self._pairs = lru_cache(maxsize=None)(make)
        self._found = lru_cache(maxsize=16)(self._find)

    def functions(self) -> Sequence[Call]:
        """The functions of all pairs."""
        return [pair.function for pair in self._pairs().values()]

    def entries(self) -> Sequence[Entry]:
        """An entry for each pair."""
        dtypes = self._framework.dtypes
        return [Entry(name, "", [pair.function], dtypes, (_OF_GRADIENTS,)) for name, pair in self._pairs().items()]

    def samples(self, entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
        """The samples of a pair, with the counterpart's result as reference; none where there is none."""
        pair = self._pairs()[entry]
        if gradient and not self._is_floating(entry):
            return []
        return [
            Sample(
                self._framework.host(list(args), gradient),
                kwargs,
                pair.unique,
                functools.partial(_expected, pair, args, kwargs),
            )
            for args, kwargs in self._found(entry, dtype)
        ]

    def _find(self, entry: str, dtype: str) -> _Arguments:
        pair = self._pairs()[entry]
        for forms in _forms(pair.function, dtype):
            found = [
                (args, kwargs)
                for args, kwargs in forms
                if _is_numeric(functools.partial(pair.counterpart, *args, **kwargs))
                and self._framework.accepts(pair.function, args, kwargs)
            ]
            if found:
                return found
        return []

    def _is_floating(self, entry: str) -> bool:
        """Whether all results are floating, and so have gradients."""
        pair = self._pairs()[entry]
        results = [_expected(pair, args, kwargs) for args, kwargs in self._found(entry, _OF_GRADIENTS)]
        return all(np.asarray(leaf).dtype.kind in "fc" for leaf in tree.leaves(results))


_Arguments = Sequence["tuple[Sequence[Any], Mapping[str, Any]]"]


def _is_numeric(call: Call) -> bool:
    """Whether a call succeeds with arrays or numbers. Complex ones must be finite: libraries differ in which of their
    parts is infinite."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            leaves = list(tree.leaves(call()))
    except Exception:
        return False
    return bool(leaves) and all(
        isinstance(each, (np.ndarray, np.generic, bool, int, float, complex))
        and not (np.iscomplexobj(each) and not np.isfinite(each).all())
        for each in leaves
    )


def _expected(pair: Pair, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    wide = tree.mapped(_widened, list(args))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return pair.unique(pair.counterpart(*wide, **kwargs))


def _widened(leaf: Any) -> Any:
    return leaf.astype(_WIDER.get(str(leaf.dtype), leaf.dtype)) if isinstance(leaf, np.ndarray) else leaf


def _forms(function: Call, dtype: str) -> Iterator[Iterator[tuple[Sequence[Any], Mapping[str, Any]]]]:
    """Arguments that a function of these parameters may take: first those with arrays of the dtype, then one in
    ascending order, then, as if they were of float32, those with none."""
    required, named = _parameters(function)
    options: list[Mapping[str, Any]] = [{}]
    if "axis" in named:
        options += [{"axis": 0}, {"axis": -1}]
    if {"axis", "keepdims"} <= named:
        options.append({"axis": 1, "keepdims": True})
    inputs = _Inputs(dtype)
    yield ((args, kwargs) for count in required for args in inputs.of(count) for kwargs in options)
    row, other, third = inputs.array(4), inputs.array(4), inputs.array(4)
    ordered = ([np.sort(row), other], [row, np.sort(other)], [row, np.sort(other), third])
    yield ((args, {}) for args in ordered if len(args) in required)
    if dtype == _OF_GRADIENTS:
        yield ((args, {}) for args in ([5], [5, 3], [3, 0, 2]) if len(args) in required)


def _parameters(function: Call) -> tuple[Sequence[int], set[str]]:
    """How many positional arguments a function may get, and the names of those that have a default."""
    if isinstance(getattr(function, "nin", None), int):
        return [function.nin], set()  # type: ignore[attr-defined]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [1], set()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = sum(each.kind in positional and each.default is inspect.Parameter.empty for each in parameters)
    counts = [required]
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        counts = [*range(max(required, 1), 4)]
    return counts, {each.name for each in parameters if each.default is not inspect.Parameter.empty}


class _Inputs:
    """Arrays of one dtype, the same in each process."""

    def __init__(self, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._random = np.random.RandomState(_SEED)

    def of(self, count: int) -> Iterator[Sequence[Any]]:
        """Forms of ``count`` positional arguments."""
        row, other, third = self.array(4), self.array(4), self.array(4)
        matrix, wide, cube = self.array(4, 4), self.array(3, 4), self.array(2, 3, 4)
        positions = np.array([2, 0, 3], "int32")
        if count == 1:
            yield from ([row], [wide], [matrix], [cube], [[row, other]], [[wide, wide]])
        elif count == 2:
            yield from ([row, other], [wide, row], [matrix, matrix], [matrix, row], [[row, other], 0])
            yield from ([wide, 1], [matrix, 2], [row, 0.5], [row, positions], [wide, (4, 3)], [wide, (1, 0)])
            yield from ([(3, 4), self.array()], [(matrix, False), row])
        elif count == 3:
            yield from ([row, other, third], [wide > 0, wide, row], [wide, 0, 1], [matrix, matrix, row])
            yield from (["ij,jk->ik", wide, matrix], [wide, (1, 5), 0])
            yield from ([row, positions, 1], [wide, positions, 1], [self.array(), self.array(), 5])
        elif count == 4:
            yield from ([row, other, third, self.array(4)], [wide, positions, self.array(3), 1])

    def array(self, *shape: int) -> Any:
        """Values of both signs where the dtype has them, all different; of 0 and 1 for booleans. A square matrix has a
        dominant diagonal."""
        size = int(np.prod(shape, dtype=int))
        values: Any
        if self._dtype.kind == "b":
            return (self._random.permutation(size) % 2 == 0).reshape(shape)
        if self._dtype.kind in "iu":
            low = -(size // 2) if self._dtype.kind == "i" else 1
            values = low + self._random.permutation(size)
        else:
            values = (self._random.permutation(size) + 0.5) / max(1, size) * 1.8 - 0.9
            if self._dtype.itemsize == 2:
                values = exact_in_half(values)
            if self._dtype.kind == "c":
                values = values + 1j * ((self._random.permutation(size) + 0.5) / max(1, size) - 0.4)
        found = np.asarray(values).reshape(shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            found = found + np.diag(np.arange(2, 2 + shape[0]) * 2)
        return found.astype(self._dtype)


def exact_in_half(values: Any) -> Any:
    """Evenly spread values between -0.9 and 0.9 as multiples of a power of two: they stay different, and their sum is
    exact in half precision in any order, even where it is close to zero (in bfloat16, of up to 24 values)."""
    step = min(1 / 16, 2.0 ** np.floor(np.log2(1.8 / max(1, np.size(values)))))
    return np.round(values / step) * step

"""Functions of one number over whole types: every number of 16 bits, and numbers close together over all of float32."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from runners.core.testing import references
from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.cases.wide_types import call_with_x64

_SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
_DIGIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
_LARGEST = {"float16": 65_504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.79769e308}
_SIXTEEN_BITS, _STEP = 65_536, 16_381

_SLOPES: Mapping[str, Callable[..., Any]] = {
    "numpy.exp": np.exp,
    "numpy.log": lambda x: 1 / x,
    "numpy.sqrt": lambda x: 0.5 / np.sqrt(x),
    "numpy.cos": lambda x: -np.sin(x),
    "scipy.special.erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2)),
    "scipy.special.ndtr": lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi),
    "scipy.special.i0": special.i1,
    "scipy.special.gammaln": special.psi,
    "numpy.square": lambda x: 2 * x,
}


def numbers(
    trial: Trial,
    reference: str,
    dtype: str,
    digits: float = 2,
    small: float = 4,
    at: Sequence[Sequence[float]] = (),
    args: Sequence[Any] = (),
    compiled: bool = False,
) -> None:
    """Of each number of 16 bits, or of a quarter of a million of float32 or float64 of all sizes, the output is that of
    a number within some units of the last digit. NaN of all bits gives NaN.

    Numbers below the smallest normal one may count as zero; ``small``: outputs below so many of it may be rounded to
    zero. ``at``: only in these intervals. ``compiled``: in a
    compiled function.
    """
    host = _numbers(dtype)
    moved = host if dtype == "float64" else trial.tensor(host.astype("float32"), dtype)
    library, _, rest = reference.partition(".")
    exact: Callable[..., Any] = references.find(library, rest)

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(lambda x: function(x, *args))

    if dtype == "float64":
        output = call_with_x64(trial, host, args=args)
    elif compiled:
        output = trial.call_inside(lambda function, x: made(function)(x), moved)
    else:
        output = trial.call(moved, *args)
    trial.equal(trial.dtype_name(output), dtype)
    x = host if dtype == "float64" else trial.numpy(moved).astype("float64")
    inside = np.isnan(x)
    for low, high in at or [(-np.inf, np.inf)]:
        inside |= (x >= low) & (x <= high)

    def of_arrays(x: Any) -> Any:
        return exact(x, *(np.full_like(x, each) for each in args))

    _check(trial, of_arrays, [x[inside]], trial.numpy(output)[inside], dtype, digits, small=small)


def pairs(trial: Trial, reference: str, dtype: str, digits: float = 1, largest: float = np.inf) -> None:
    """Of pairs of numbers of all sizes the output is that of two numbers within some units of their last digits.

    ``largest``: of the second ones.
    """
    first = _numbers(dtype)[:: 1 if dtype != "float32" else 4]
    # The power of a signaling NaN is NaN even if the exponent is zero.
    first = np.where(np.isnan(first), np.copysign(first.dtype.type(np.nan), first), first)
    second = np.random.RandomState(5).permutation(first)
    with np.errstate(all="ignore"):
        second = np.where(np.abs(second) <= largest, second, np.fmod(second, first.dtype.type(largest)))
    moved = [trial.tensor(host.astype("float32"), dtype) for host in (first, second)]
    output = trial.call(*moved)
    library, _, rest = reference.partition(".")
    given = [trial.numpy(tensor).astype("float64") for tensor in moved]
    result = "bool" if trial.dtype_name(output) == "bool" else dtype
    trial.equal(trial.dtype_name(output), result)
    _check(trial, references.find(library, rest), given, trial.numpy(output), result, digits, dtype)


def converted(trial: Trial, source: str, target: str) -> None:
    """jax.numpy.array: numbers of all sizes are rounded to the nearest of another type, of two as near to the even one;
    those that it cannot hold become infinite. Numbers below the smallest normal one may become zero. Integers may be
    rounded to float32 first."""
    host = np.arange(-(2**31), 2**31, _STEP).astype(source) if source == "int32" else _numbers(source)
    moved = trial.tensor(host, source)
    output = trial.call(moved, dtype=trial.dtype(target))
    trial.equal((output.shape, trial.dtype_name(output)), (host.shape, target))
    with np.errstate(all="ignore"):
        wanted = widened(host.astype(jnp.dtype(target))).astype("float64")
    found = widened(trial.numpy(output)).astype("float64")
    right = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    if source == "int32":
        right |= found == _rounded_once(host, target)
    right |= (found == 0) & ((np.abs(wanted) < _SMALLEST[target]) | (np.abs(host) < _SMALLEST["float32"]))
    wrong = np.flatnonzero(~right)
    place = wrong[len(wrong) // 2] if len(wrong) else 0
    trial.check(not len(wrong), f"{len(wrong)} numbers, {host[place]!r} is {found[place]!r}, not {wanted[place]!r}")


def _rounded_once(host: Any, target: str) -> Any:
    """Return whole numbers rounded to a type at once, as float64."""
    mantissa, exponent = np.frexp(host.astype("float64"))
    rounded = np.ldexp(np.rint(mantissa / _DIGIT[target]) * _DIGIT[target], exponent)
    return np.where(np.abs(rounded) > _LARGEST[target] * (1 + _DIGIT[target]), np.copysign(np.inf, rounded), rounded)


def plane(
    trial: Trial,
    reference: str,
    real: Sequence[float] = (-30, -2, -1, -1e-3, 0, 1e-3, 1, 2, 30),
    imaginary: Sequence[float] = (-30, -2, -1, -1e-3, 0, 1e-3, 1, 2, 30),
    digits: float = 8,
    atol: float = 1e-7,
) -> None:
    """Of complex numbers on both axes and between them, both parts are right to some digits of the modulus."""
    host = np.empty((len(real), len(imaginary)), "complex64")
    host.real, host.imag = np.array(real, "float32")[:, None], np.array(imaginary, "float32")
    output = trial.call(trial.tensor(host))
    trial.equal((output.shape, trial.dtype_name(output)), (host.shape, "complex64"))
    library, _, rest = reference.partition(".")
    with np.errstate(all="ignore"):
        wanted = references.find(library, rest)(widened(host))
    found = widened(trial.numpy(output))
    modulus = np.where(np.isfinite(wanted), np.abs(wanted), 4)
    for part in (np.real, np.imag):
        with np.errstate(all="ignore"):
            difference = np.abs(part(found) - part(wanted))
        right = (part(found) == part(wanted)) | (difference <= 2 * digits * _DIGIT["float32"] * modulus + atol)
        wrong = np.argwhere(~right)
        place = tuple(wrong[0]) if len(wrong) else (0, 0)
        shown = f"{host[place]!r}: {found[place]!r}, not {wanted[place]!r}"
        trial.check(not len(wrong), f"{len(wrong)} of {host.size} outputs, at {shown}")


def derivatives(
    trial: Trial, reference: str, low: float, high: float, digits: float = 8, negative: bool = False
) -> None:
    """Over many powers of two the derivative of each number has some digits, in both directions of differentiation.

    ``negative``: also for the negative numbers of these sizes.
    """
    size = 20_001
    host = np.exp(np.linspace(np.log(low), np.log(high), size)).astype("float32")
    host = np.concatenate([-host[::-1], host]) if negative else host

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def both(x: Any) -> Any:
            forward = jax.jvp(function, (x,), (jnp.full_like(x, 2),))[1]
            return forward, jax.grad(lambda x: jnp.sum(function(x)))(x)

        return jax.jit(both)

    outputs = trial.call_inside(lambda function, x: made(function)(x), trial.tensor(host))
    for output, factor in zip(outputs, (2, 1)):
        trial.equal(trial.dtype_name(output), "float32")
        _check(trial, _SLOPES[reference], [widened(host)], widened(trial.numpy(output)) / factor, "float32", digits)


def _check(
    trial: Trial,
    exact: Callable[..., Any],
    given: Sequence[Any],
    found: Any,
    dtype: str,
    digits: float,
    of: str | None = None,
    small: float = 4,
) -> None:
    of = of or dtype
    trial.equal(np.shape(found), given[0].shape)
    # A subnormal number may count as zero.
    flushed = [np.where(np.abs(x) < _SMALLEST[of], np.copysign(0, x), x) for x in given]
    found = widened(found)
    if dtype == "bool":
        right = found == exact(*given)
    else:
        right = _near(exact, given, found, dtype, digits, small)
        rest = np.flatnonzero(~right)
        right[rest] = _near(exact, [x[rest] for x in flushed], found[rest], dtype, digits, small)
    if len(given) > 1:
        right |= np.any([(np.abs(x) < _SMALLEST[of]) & (x != 0) for x in given], axis=0)
    wrong = np.flatnonzero(~right)
    place = wrong[len(wrong) // 2] if len(wrong) else 0
    with np.errstate(all="ignore"):
        shown = f"{[x[place] for x in given]}: {found[place]!r}, not {exact(*[x[place] for x in given])!r}"
    trial.check(not len(wrong), f"{len(wrong)} of {right.size} outputs, at {shown}")


def _near(exact: Callable[..., Any], given: Sequence[Any], found: Any, dtype: str, digits: float, small: float) -> Any:
    """Return which numbers are within some units of the last digit of the value, or of an argument."""
    unit = digits * _DIGIT[dtype]
    with np.errstate(all="ignore"):
        wanted = exact(*given)
        allowed = 2 * unit * np.abs(wanted) + small * _SMALLEST[dtype]
        right = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | (np.abs(found - wanted) <= allowed)
        over = np.isinf(found) & (np.abs(wanted) >= _LARGEST[dtype] * (1 - 2 * unit)) & (found * wanted > 0)
        right |= over
        # The reference takes its time: what an argument adds is computed where it decides.
        rest = np.flatnonzero(~right)
        few, allowed = [x[rest] for x in given], allowed[rest]
        for place, x in enumerate(few):
            below, above = (exact(*few[:place], x * (1 + side * unit), *few[place + 1 :]) for side in (-1, 1))
            allowed = allowed + np.nan_to_num(np.abs(above - below), posinf=0)
        right[rest] = np.abs(found[rest] - wanted[rest]) <= allowed
        return right


def _numbers(dtype: str) -> Any:
    if dtype == "float16":
        return np.arange(_SIXTEEN_BITS).astype("uint16").view("float16")
    if dtype == "bfloat16":
        return (np.arange(_SIXTEEN_BITS).astype("uint32") << 16).view("float32")
    if dtype == "float64":
        return (np.arange(0, 2**32, _STEP).astype("uint64") << np.uint64(32)).view("float64")
    return np.arange(0, 2**32, _STEP).astype("uint32").view("float32")

"""The general case: builds the arguments from data, calls the function, compares with an independent reference."""

from __future__ import annotations

from typing import Any, Collection, Mapping, NamedTuple, Sequence

import numpy as np

from runners.core.public import names
from runners.core.testing import compare, properties, references, repeats, tree
from runners.core.testing.arrays import KEY, carrier, nearest
from runners.core.testing.inputs import Builder, Built
from runners.core.testing.trial import Trial

_REAL_PARTS = {"complex64": "float32", "complex128": "float64"}


def call(
    trial: Trial,
    expect: Mapping[str, Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    tolerance: Mapping[str, Any] | None = None,
    writes: Sequence[int | str] = (),
) -> None:
    """Raises compare.Mismatch if the output differs from ``expect`` (see schema/manifest.schema.json), and
    repeats.Overwritten if an argument has changed that is neither ``out`` nor in ``writes``: positions and names.

    The reference gets floating inputs as float64 and complex ones as complex128. Every output tensor must have the
    expected dtype. If no dtype is given and the reference returns floating numbers, that is the dtype of the first
    floating input.
    """
    facts = names.framework(trial.framework)
    builder = Builder(trial, facts)
    built = builder.all(args)
    named = builder.named(kwargs or {})
    if "raises" in expect:
        kinds = expect["raises"]["class"]
        kinds = [kinds] if isinstance(kinds, str) else kinds
        given = {key: item.device for key, item in named.items()}
        trial.raises(kinds, expect["raises"]["message"], *[item.device for item in built], **given)
        return
    # It checks its arguments itself.
    trial.writes = True
    output = trial.call(*[item.device for item in built], **{key: item.device for key, item in named.items()})
    if not writes:
        trial.keep(output)
    if trial.is_timed:
        _check_arguments(trial, [*enumerate(built), *named.items()], {"out", *writes})

    for step in expect.get("output", []):
        output = output[step]
    if "shape" in expect:
        _check_shape(trial, output, expect["shape"])
    if "dtype" in expect:
        # An output without leaves has no dtype.
        for name in [trial.dtype_name(leaf) for leaf in tree.leaves(output)] or [None]:
            compare.check_dtype(name, expect["dtype"])
        trial.checks += 1
    host = [item.host for item in built]
    if "property" in expect:
        properties.find(expect["property"])(trial, output, host, **expect.get("params", {}))
        return
    expected = builder.one(expect["value"]).host if "value" in expect else _reference(expect, builder, host)
    floating = next((name for name in map(trial.dtype_name, _tensors(built)) if name in compare.TOLERANCES), "")
    is_exact = not tolerance and expect.get("numpy") in references.EXACT
    checks = _Checks(
        tolerance=tolerance or {},
        floating=None if "dtype" in expect else floating,
        signed_zeros="zeros" in expect or (is_exact and expect["numpy"] in references.MOVING),
        is_exact=is_exact,
    )
    _check_output(trial, output, expected, checks)


def _reference(expect: Mapping[str, Any], builder: Builder, host: Sequence[Any]) -> Any:
    library = "numpy" if "numpy" in expect else "scipy"
    arguments = host
    if "args" in expect:
        arguments = [
            host[item["arg"]] if isinstance(item, dict) and "arg" in item else builder.one(item).host
            for item in expect["args"]
        ]
    named = {key: built.host for key, built in builder.named(expect.get("kwargs", {})).items()}
    with np.errstate(all="ignore"):
        return references.find(library, expect[library])(*arguments, **named)


def _check_arguments(
    trial: Trial, arguments: Sequence[tuple[int | str, Built]], written: Collection[int | str]
) -> None:
    for name, item in arguments:
        if name in written:
            continue
        for leaf, made in zip(tree.leaves(item.device), tree.leaves(item.host)):
            dtype = trial.dtype_name(leaf)
            if isinstance(made, np.ndarray) and dtype and not dtype.startswith(("float8", KEY)):
                repeats.check_unchanged(f"{name}", made.astype(carrier(dtype)), trial.numpy(leaf))


def _tensors(built: Sequence[Any]) -> Any:
    return tree.leaves([item.device for item in built])


def _check_shape(trial: Trial, output: Any, shape: Sequence[int]) -> None:
    trial.checks += 1
    found = list(np.shape(trial.numpy(output)))
    if found != list(shape):
        raise compare.Mismatch(f"shape: expected {list(shape)}, got {found}")


class _Checks(NamedTuple):
    """How an output is compared. ``floating`` is the dtype that a floating output must have; '' means any, None that
    the dtype is checked already. ``is_exact``: the reference computes nothing, so that the values are the same."""

    tolerance: Mapping[str, Any]
    floating: str | None
    signed_zeros: bool
    is_exact: bool


def _check_output(trial: Trial, output: Any, expected: Any, checks: _Checks) -> None:
    """Compares leaf by leaf if the reference returns several arrays, else one array."""
    if isinstance(expected, (tuple, list)) and isinstance(output, (tuple, list)):
        if len(expected) != len(output):
            raise compare.Mismatch(f"shape: expected {len(expected)} outputs, got {len(output)}")
        for part, wanted in zip(output, expected):
            _check_output(trial, part, wanted, checks)
        return
    if isinstance(output, (tuple, list)) and any(trial.dtype_name(leaf) for leaf in tree.leaves(output)):
        raise compare.Mismatch(f"shape: expected one array, got {len(output)} outputs")
    dtype = trial.dtype_name(output)
    if checks.is_exact and dtype is not None and dtype in compare.TOLERANCES:
        trial.close(output, nearest(expected, dtype), 0.0, 0.0, signed_zeros=checks.signed_zeros)
    else:
        stated = checks.tolerance if dtype in checks.tolerance.get("dtypes", (dtype,)) else {}
        trial.close(output, expected, stated.get("rtol"), stated.get("atol"), signed_zeros=checks.signed_zeros)
    if checks.floating is not None:
        _check_kind(dtype, np.asarray(expected), checks.floating)


def _check_kind(found: str | None, expected: Any, floating: str) -> None:
    """Raises Mismatch if a tensor has another kind than the reference, or another floating dtype than the input."""
    if found is None and expected.ndim == 0:
        # A plain number is accepted where a single number is expected.
        return
    kind = expected.dtype.kind
    if kind == "b":
        compare.check_dtype(found, "bool")
    elif kind in "iu" and (found is None or found in compare.TOLERANCES or found == "bool"):
        raise compare.Mismatch(f"dtype: expected an integer type, got {found or 'no tensor'}")
    elif kind == "f" and floating in _REAL_PARTS:
        compare.check_dtype(found, _REAL_PARTS[floating])
    elif kind in "fc" and floating.startswith("complex") == (kind == "c"):
        compare.check_dtype(found, floating or found or "a floating type")

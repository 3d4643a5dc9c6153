"""How a plain program compares an output with what was expected: as the runner does, in a few lines of NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from portbench.formats.exact_references import exact_references

Data = Mapping[str, Any]

TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (7.9e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-12, 1e-12),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-12, 1e-12),
}
"""The relative and absolute difference that the runner allows, by the dtype of the output; none for others."""
ROUNDED = {
    "float16": (4.9e-4, 3e-8),
    "bfloat16": (3.91e-3, 4.6e-41),
    "float32": (6e-8, 7.1e-46),
    "complex64": (6e-8, 7.1e-46),
}
"""What one rounding to a dtype changes at most: half of the last digit. Nothing is rounded to others."""

_CHECK = """
def check(found, expected):
    if isinstance(expected, (tuple, list)) and isinstance(found, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            check(one, other)
    else:
        found = to_numpy(found)
{overflow}        np.testing.assert_allclose(found, expected, rtol={rtol:g}, atol={atol:g})
{signs}"""
_OVERFLOW = """\
        # What is too large for the dtype is infinite in it, and finite in the expected float64.
        too_large = np.isinf(found) & (np.abs(expected) > {largest!r})
        expected = np.where(too_large, np.copysign(np.inf, expected), expected)
"""
_SIGNS = """\
        for part in (np.real, np.imag):
            assert ((part(found) != 0) | (np.signbit(part(found)) == np.signbit(part(expected)))).all()
"""
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
# NumPy has no bfloat16.
_TO_NUMPY = {
    "torch": """
def to_numpy(value):
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu().to_dense()
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
""",
    "tensorflow": """
def to_numpy(value):
    return np.asarray(tf.cast(value, tf.float32) if getattr(value, "dtype", None) == tf.bfloat16 else value)
""",
    "jax": """
def to_numpy(value):
    value = np.asarray(value)
    return value.astype("float32") if value.dtype == jax.numpy.bfloat16 else value
""",
}


def check_of(framework: str, test: Data, dtypes: Sequence[str], may_overflow: bool) -> list[str]:
    """The lines that define ``check(found, expected)`` of a test. ``dtypes``: those of its tensors in their order;
    ``may_overflow``: whether a value may be too large for its dtype."""
    possible = [test["expect"].get("dtype"), *dtypes]
    given = test.get("tolerance", {})
    if not set(given.get("dtypes", possible)).intersection(possible):
        given = {}
    allowed = ROUNDED if _is_exact(test, "moving", "choosing") else TOLERANCES
    rtol, atol = next((allowed[dtype] for dtype in possible if dtype in allowed), (0.0, 0.0))
    if possible[0] is not None and possible[0] not in allowed:
        rtol = atol = 0.0
    largest = _LARGEST.get(str(possible[0] or next(iter(dtypes), ""))) if may_overflow else None
    lines = _CHECK.format(
        rtol=given.get("rtol", rtol),
        atol=given.get("atol", atol),
        overflow=_OVERFLOW.format(largest=largest) if largest else "",
        signs=_SIGNS if "zeros" in test["expect"] or _is_exact(test, "moving") else "",
    ).splitlines()
    return [*_TO_NUMPY[framework].splitlines(), *lines, ""]


def _is_exact(test: Data, *kinds: str) -> bool:
    """Whether the reference computes nothing: the runner compares for equality then."""
    reference = test["expect"].get("numpy")
    return "tolerance" not in test and any(reference in exact_references()[kind] for kind in kinds)

"""How a plain program compares an output with what was expected: as the runner does, in a few lines of NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from portbench.formats.comparing import exact_references, floating_dtypes

Data = Mapping[str, Any]

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
    allowed = rounded() if _is_exact(test, "moving", "choosing") else tolerances()
    rtol, atol = next((allowed[dtype] for dtype in possible if dtype in allowed), (0.0, 0.0))
    if possible[0] is not None and possible[0] not in allowed:
        rtol = atol = 0.0
    result = floating_dtypes().get(str(possible[0] or next(iter(dtypes), "")), {})
    largest = result.get("largest") if may_overflow else None
    lines = _CHECK.format(
        rtol=given.get("rtol", rtol),
        atol=given.get("atol", atol),
        overflow=_OVERFLOW.format(largest=largest) if largest else "",
        signs=_SIGNS if "zeros" in test["expect"] or _is_exact(test, "moving") else "",
    ).splitlines()
    return [*_TO_NUMPY[framework].splitlines(), *lines, ""]


def tolerances() -> Mapping[str, tuple[float, float]]:
    """The relative and absolute difference that the runner allows, by the dtype of the output; none for others."""
    return {dtype: (facts["rtol"], facts["atol"]) for dtype, facts in floating_dtypes().items()}


def rounded() -> Mapping[str, tuple[float, float]]:
    """What one rounding from float64 to a dtype changes at most: half of the last digit. Others have every digit."""
    return {
        dtype: (facts["epsilon"] / 2, facts["smallest"] / 2)
        for dtype, facts in floating_dtypes().items()
        if "smallest" in facts
    }


def _is_exact(test: Data, *kinds: str) -> bool:
    """Whether the reference computes nothing: the runner compares for equality then."""
    reference = test["expect"].get("numpy")
    return "tolerance" not in test and any(reference in exact_references()[kind] for kind in kinds)

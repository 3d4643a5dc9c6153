"""Random draws of several axes and of many elements: nothing is drawn twice, and all of it is within its range."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.torch.cases.seeds import drawing


def draws(
    trial: Trial,
    args: Sequence[Any],
    low: float,
    high: float,
    shape: Sequence[int],
    dtype: str = "float32",
    made: Sequence[Any] | None = None,
    method: str = "__call__",
    distinct: bool = False,
    reaches: float | None = None,
) -> None:
    """All of many draws are numbers from ``low`` to ``high``, and neighbors are different.

    ``made``: the function is a class, whose instance is made of these arguments and draws in ``method``. ``shape`` and
    ``dtype``: those of the output. ``distinct``: no slice along any axis is a copy of another one, but elements can be
    equal. ``reaches``: the largest draw is at least this.
    """
    draw = drawing(trial, args, {}, made, method)
    torch.manual_seed(7)
    output = draw()
    trial.equal([trial.dtype_name(output), list(output.shape)], [dtype, list(shape)])
    found = widened(trial.numpy(output))
    outside = int(np.sum(~((found >= low) & (found <= high))))
    trial.check(outside == 0, f"{outside} of {found.size} draws are not in [{low}, {high}]")
    if reaches is not None:
        trial.check(found.max() >= reaches, f"the largest draw is {found.max():.4g}, expected {reaches} or more")
    if not distinct:
        # Neighbors of a uniform float32 in [0, 1) agree once in eight million times.
        equal = int(np.sum(np.diff(found.ravel()) == 0))
        trial.check(equal < found.size / 1000, f"{equal} of {found.size} neighbors are equal")
        return
    for axis in range(found.ndim):
        rows = np.moveaxis(found, axis, 0).reshape(found.shape[axis], -1)
        different = len(np.unique(rows, axis=0))
        trial.check(different == len(rows), f"axis {axis}: {different} of {len(rows)} slices are different")


def digits_of_float64(
    trial: Trial,
    args: Sequence[Any],
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    method: str = "__call__",
    distinct: bool = True,
) -> None:
    """Draws in float64, or those of the parameters of a new layer, have digits that float32 lacks.

    ``made``: the function is a class, whose instance is made of these arguments and draws in ``method``. ``distinct``:
    no two draws are equal. Of up to 100,000 uniform draws with 53 bits each, two are equal once in 1.8 million times.
    """
    draw = drawing(trial, args, options, made, method)
    torch.manual_seed(7)
    output = draw()
    tensors = list(output.parameters()) if isinstance(output, torch.nn.Module) else [output]
    for tensor in tensors:
        trial.equal(trial.dtype_name(tensor), "float64")
        found = trial.numpy(tensor.detach()).ravel()
        rounded = int(np.sum(found.astype("float32") == found))
        trial.check(rounded < found.size / 100 + 1, f"{rounded} of {found.size} draws have the digits of float32 only")
        different = len(np.unique(found))
        trial.check(different == found.size or not distinct, f"{different} of {found.size} draws are different")


def each_once(trial: Trial, weights: Sequence[Any], dtype: str) -> None:
    """As many draws without replacement as there are weights above zero give each of these once, whatever their
    scale."""
    tensor = trial.tensor(np.array(weights, "float64"), dtype)
    rows = np.atleast_2d(np.array(weights, "float64"))
    drawn = trial.call(tensor, int((rows[0] > 0).sum()))
    trial.equal(trial.dtype_name(drawn), "int64")
    for row, found in zip(rows, np.atleast_2d(trial.numpy(drawn))):
        trial.equal(np.sort(found), np.nonzero(row)[0])


def every_place(
    trial: Trial,
    args: Sequence[Any],
    limit: float,
    share: float,
    shape: Sequence[int],
    within: Sequence[float],
    calls: int = 40,
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    method: str = "__call__",
    independent: bool = True,
    dtype: str = "float32",
    step: int = 1,
) -> None:
    """At every place of the output, also the last ones, about the ``share`` of many calls has a number that is at most
    the ``limit``; no place follows another one (``independent``).

    ``shape``, ``dtype``: those of the output, of which every ``step``-th element is looked at. ``within``: the smallest
    and the largest number; the largest draw of all calls is not much smaller. ``made``: the function is a class, whose
    instance is made of these arguments and draws in ``method``.
    """
    draw = drawing(trial, args, options, made, method)
    torch.manual_seed(7)
    outputs = []
    for _ in range(calls):
        output = draw()
        trial.equal([trial.dtype_name(output), list(output.shape)], [dtype, list(shape)])
        outputs.append(widened(trial.numpy(output)).ravel()[::step])
    found = np.array(outputs)
    low, high = within
    trial.check(bool((found >= low).all() and (found <= high).all()), f"a draw is not in [{low}, {high}]")
    trial.check(found.max() >= high - 0.05 * (high - low), f"the largest draw is {found.max():.4g}, expected {high}")
    small = found <= limit
    # More than 5.5 standard deviations occur once in 25 million times.
    allowed = 5.5 * (share * (1 - share) / calls) ** 0.5
    shares = small.mean(0)
    place = int(np.abs(shares - share).argmax())
    trial.check(
        bool(abs(shares[place] - share) <= allowed),
        f"at place {place} {shares[place]:.0%} of the draws are at most {limit}, expected {share:.0%}",
    )
    if independent:
        columns = len(np.unique(small, axis=1).T)
        trial.check(columns == small.shape[1], f"only {columns} of {small.shape[1]} places have draws of their own")

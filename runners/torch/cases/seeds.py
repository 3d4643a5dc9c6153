"""Random functions and the seed of PyTorch's default generator. What the draws are like, other cases check."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch

from runners.core.public import names
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


def follows_seed(
    trial: Trial, args: Sequence[Any], made: Sequence[Any] | None = None, method: str = "__call__"
) -> None:
    """The same seed repeats the output, and another seed and the next call without one give another one.

    ``made``: the function is a class, whose instance is made of these arguments and draws in ``method``.
    """
    draw = drawing(trial, args, {}, made, method)
    outputs = []
    for seed in (5, None, 5, 6):
        if seed is not None:
            torch.manual_seed(seed)
        outputs.append(trial.numpy(draw()).copy())
    first, following, again, other = outputs
    trial.equal(again, first)
    trial.check(other.shape == first.shape, f"another seed gives the shape {other.shape}, not {first.shape}")
    trial.check((other != first).any(), "another seed gives the same output")
    trial.check((following != first).any(), "a second call gives the same output")


def unrelated(
    trial: Trial,
    args: Sequence[Any],
    shape: Sequence[int],
    highest: float,
    dtype: str = "float32",
    options: Mapping[str, Any] = {},
    made: Sequence[Any] | None = None,
    method: str = "__call__",
) -> None:
    """No call repeats a part of the draws of another call, also not at other places, and so do no two rows of one
    output. All calls follow each other, with the default generator.

    ``shape``, ``dtype``: those of an output. ``highest``: no draw is above it.
    """
    draw = drawing(trial, args, options, made, method)
    torch.manual_seed(11)
    outputs = []
    for _ in range(3):
        output = draw()
        trial.equal([trial.dtype_name(output), list(output.shape)], [dtype, list(shape)])
        outputs.append(trial.numpy(output).copy())
        trial.check(outputs[-1].max() <= highest, f"a draw is {outputs[-1].max():.6g}, expected {highest:.6g} or less")
    rows = [row for output in outputs for row in (output if output.ndim > 1 else output[None])]
    sequences = [row.ravel() for row in rows[:: -(-len(rows) // 12)]]
    for number, one in enumerate(sequences):
        for other in sequences[number + 1 :]:
            for shift in range(min(64, one.size // 2)):
                count = one.size - shift
                equal = max(np.mean(one[shift:] == other[:count]), np.mean(one[:count] == other[shift:]))
                trial.check(equal < 0.9, f"{equal:.0%} of the draws are those of another call, moved by {shift}")


def one_by_one(trial: Trial, made: Sequence[Any], shape: Sequence[int], shares: Sequence[float], dtype: str) -> None:
    """An instance draws once at each call, hundreds of times: no draw repeats another one, the category of the largest
    part occurs in its share of the draws, and whether it follows itself is left to chance.

    ``made``: the arguments of the class; ``shape``: of one draw. A correct generator fails with a probability below
    1e-8.
    """
    count = 400
    for method in ("sample", "rsample"):
        for given in ((), ((),), ((1,),)):
            draw = drawing(trial, given, {}, made, method)
            torch.manual_seed(8)
            draws = [draw() for _ in range(count)]
            trial.equal([trial.dtype_name(draws[-1]), list(draws[-1].shape)[-len(shape) :]], [dtype, list(shape)])
            found = np.stack([trial.numpy(each).reshape(shape) for each in draws])
            rows = found.reshape(count, -1)
            trial.equal(len(np.unique(rows, axis=0)), count)
            first = (found.argmax(-1) == 0).reshape(count, -1) - shares[0]
            variance = shares[0] * (1 - shares[0])
            trial.check(float(np.abs(first.sum(0)).max()) < 6.5 * (count * variance) ** 0.5, "a share is wrong")
            following = np.abs((first[1:] * first[:-1]).sum(0)).max()
            trial.check(float(following) < 8 * variance * count**0.5, "a draw depends on the one before")


def drawing(
    trial: Trial, args: Sequence[Any], options: Mapping[str, Any], made: Sequence[Any] | None, method: str
) -> Callable[[], Any]:
    """Return a function that draws once at each call, from new tensors with the same values.

    ``made``: the function is a class, whose instance is made of these arguments, once, and draws in ``method``.
    """
    builder = Builder(trial, names.framework(trial.framework))
    trial.writes = True
    trial.repeatable = False
    named = {key: item.device for key, item in builder.named(options).items()}
    instance = None if made is None else trial.make(*(item.device for item in builder.all(made)))
    if isinstance(instance, torch.nn.Module):
        instance.to(trial.device)

    def draw() -> Any:
        given = [item.device for item in builder.all(args)]
        if instance is None:
            return trial.call(*given, **named)
        return trial.call_method(instance, method, *given)

    return draw

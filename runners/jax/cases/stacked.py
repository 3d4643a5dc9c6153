"""jax.numpy.stack of plain numbers, of an array's rows and of what is no sequence."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial


def weak_numbers(trial: Trial) -> None:
    """Plain numbers have a weak type together, with an array the array's; a dtype makes the type its own."""
    half = trial.tensor(np.array(1.5), "float16")
    trial.repeatable = False  # each call is one of a row
    for axis in (0, -1):
        for numbers, dtype in (([1.0, 2.5], "float32"), ((1, 2), "int32"), ([True, False], "bool")):
            output = trial.call(numbers, axis=axis)
            trial.exact(output, np.array(numbers, "float64"), dtype)
            if dtype != "bool":
                trial.equal(bool(output.weak_type), True)
            strong = trial.call(numbers, axis=axis, dtype=trial.dtype("float32"))
            trial.exact(strong, np.array(numbers, "float64"), "float32")
            trial.equal(bool(strong.weak_type), False)
            trial.exact(trial.call([half, *numbers], axis=axis), np.array([1.5, *numbers]), "float16")
        arrays = [trial.tensor(np.array(number), "float32") for number in (1.0, 2.5)]
        output = trial.call(arrays, axis=axis)
        trial.equal(bool(output.weak_type), False)
        trial.exact(output, [1, 2.5], "float32")


def rows_of_arrays(trial: Trial, dtype: str) -> None:
    """An array instead of a list stands for its rows, along every axis, also where all axes have one length; a tuple, a
    list and NumPy arrays give the same. Of three axes all calls are in one compiled program."""
    trial.repeatable = False  # each call is one of a row
    trial.has_random_inputs = False  # other values would compile the same program again
    for shape in ((3, 3), (4,), (2, 3, 4)) if dtype == "float32" else ((2, 3, 4),):
        moved = trial.tensor(trial.random(*shape, dtype=dtype if dtype != "bfloat16" else "float32"), dtype)
        host, narrow = trial.numpy(moved), np.asarray(moved)
        axes = range(-len(shape), len(shape))

        def each(
            function: Callable[..., Any], moved: Any, rows: Any, axes: Any = axes, narrow: Any = narrow
        ) -> list[Any]:
            given = (moved, narrow, rows, tuple(narrow), [rows[0], *narrow[1:]])
            return [function(value, axis) for axis in axes for value in given]

        def body(function: Callable[..., Any], *arrays: Any, each: Any = each) -> Any:
            return jax.jit(lambda *arrays: each(function, *arrays))(*arrays)

        arrays = moved, [trial.tensor(row, dtype) for row in narrow]
        outputs = each(trial.call, *arrays) if len(shape) < 3 else trial.call_inside(body, *arrays)
        trial.equal(len(outputs), 5 * len(axes))
        for number, output in enumerate(outputs):
            trial.exact(output, np.stack(list(host), axes[number // 5]), dtype)


def refuses_unordered(trial: Trial) -> None:
    """A generator, a set, a dict, a single number and axes that are no numbers are refused."""
    rows: list[Any] = [trial.tensor(trial.random(2, seed=seed)) for seed in range(2)]
    for given in ((row for row in rows), iter(rows), 3.5, None):
        trial.raises(["TypeError"], "", given)
    for axis in ("0", 1.0, [0]):
        trial.raises(["TypeError"], "", rows, axis)
    trial.exact(trial.call(rows), np.stack([trial.numpy(row) for row in rows]), "float32")

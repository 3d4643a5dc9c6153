"""NumPy arrays that change after they were given: a later call reads them again, and what was made of them stays."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.options import FUNCTIONS
from runners.tensorflow.cases.together import close_output, expected_of, random_hosts

_ROUNDS = (80, 180, 280)


def given_again(
    trial: Trial,
    subject: str,
    shapes: Sequence[Sequence[int]],
    dtype: str = "float32",
    special: str | None = None,
    **options: Any,
) -> None:
    """Called again with the same arrays after other values were written into them, the function has the output of the
    new values. With ``special`` values, which it only moves, each call has them in other places."""
    about = FUNCTIONS[subject]
    rounds = [random_hosts(trial, about, shapes, dtype, seed) for seed in _ROUNDS]
    if special:
        found = random_hosts(trial, about, shapes, dtype, special=special)
        rounds = [[np.roll(host, shift) for host in found] for shift in range(3)]
    arrays = [host.copy() for host in rounds[0]]
    trial.repeatable = False

    def body(function: Callable[..., Any]) -> Any:
        return about.call(function, *arrays, **options)

    for hosts in [*rounds, rounds[0]]:
        for array, host in zip(arrays, hosts):
            array[...] = host
        expected = expected_of(about, hosts, options)
        output = trial.call_inside(body)
        if special:
            trial.exact(output, expected, dtype)
        else:
            close_output(trial, about, output, expected, dtype, options)


def _aligned(host: Any) -> Any:
    """A copy that begins at a multiple of 64 bytes, as a framework may want for memory that it uses as it is."""
    memory = np.zeros(host.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    found = memory[start : start + host.nbytes].view(host.dtype).reshape(host.shape)
    found[...] = host
    return found


def kept(trial: Trial, subject: str, sizes: Sequence[int], dtype: str, **options: Any) -> None:
    """What was made of an array stays when other values are written into the array."""
    about = FUNCTIONS[subject]
    host = trial.random(*sizes, dtype=dtype, seed=80)
    array = _aligned(host)

    def body(function: Callable[..., Any]) -> Any:
        return about.call(function, array, **options)

    trial.repeatable = False
    output = trial.call_inside(body)
    array[...] = 77
    trial.exact(output, about.compute(host, **options), dtype)

"""Many calls of a function in one compiled program: numbers of each kind, types, and sizes around blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Mapping, Sequence

import jax
import numpy as np

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


def one_program(trial: Trial, calls: Sequence[Mapping[str, Any]]) -> None:
    """Each call in the program has its own output, also beside others that differ in one argument or its type alone.
    Plain numbers are constants of the program, arrays its inputs.

    Each of the ``calls`` has the arguments, ``expect`` and ``tolerance`` of a manifest's ``call``. With ``weak`` it
    says whether the output has a weak type.
    """
    every = [Given(trial, call.get("args", ()), call.get("kwargs")) for call in calls]
    weak: list[bool] = []

    @lru_cache(maxsize=1)
    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def program(inputs: Any) -> Any:
            outputs = [function(*one.with_tensors(each), **one.kwargs) for one, each in zip(every, inputs)]
            weak[:] = [_is_weak(output) for output in outputs]
            return outputs

        return jax.jit(program)

    trial.has_random_inputs = False  # other values would compile the same program again
    outputs = trial.call_inside(lambda function, inputs: made(function)(inputs), [one.tensors for one in every])
    for one, call, output, weakly in zip(every, calls, outputs, weak):
        expect, tolerance = call["expect"], call.get("tolerance", {})
        one.check(trial, output, one.host, expect, tolerance.get("rtol"), tolerance.get("atol"))
        if expect.get("zeros") == "signed":
            wanted = np.asarray(one.expected(expect, one.host))
            found = trial.numpy(output).astype("float64")
            trial.equal(np.signbit(found[wanted == 0]).tolist(), np.signbit(wanted[wanted == 0]).tolist())
        if "weak" in call:
            trial.equal(weakly, call["weak"])


def _is_weak(output: Any) -> bool:
    return bool(jax.tree_util.tree_leaves(output)[0].aval.weak_type)

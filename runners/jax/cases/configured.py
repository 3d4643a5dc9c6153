"""Settings of JAX that are in force around a call."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Sequence

import jax

from runners.core.testing.trial import Trial
from runners.jax.cases.given import Given


def refuses(
    trial: Trial,
    setting: str,
    value: Any,
    error: Sequence[str],
    word: str,
    calls: Sequence[Mapping[str, Any]],
) -> None:
    """Under a setting such as ``numpy_rank_promotion`` each of the ``calls`` is an error; before and after it the
    function gives what is expected.

    Each of the ``calls`` has the arguments and what is expected as in a manifest's ``call``.
    """
    for each in calls:
        given = Given(trial, each["args"], each.get("kwargs"))

        def body(function: Callable[..., Any], given: Given = given) -> Any:
            with getattr(jax, setting)(value):
                return jax.block_until_ready(function(*given.with_tensors(given.tensors), **given.kwargs))

        for is_set in (False, True, False):
            if is_set:
                trial.raises_inside(error, word, body)
            else:
                output = trial.call(*given.with_tensors(given.tensors), **given.kwargs)
                given.check(trial, output, given.host, each["expect"], rtol=3e-6)


def precise(trial: Trial, args: Sequence[Any], expect: Mapping[str, Any]) -> None:
    """Where products have the precision of float32, the traced program asks for the highest one; before and after it,
    for none."""
    given = Given(trial, args, None)

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        def found() -> list[str]:
            return _precisions(jax.make_jaxpr(lambda *x: function(*given.with_tensors(x)))(*tensors).jaxpr)

        before = found()
        with jax.default_matmul_precision("float32"):
            within, output = found(), function(*given.with_tensors(tensors))
        return before, within, found(), output

    before, within, after, output = trial.call_inside(body, *given.tensors)
    trial.equal((before, after), (["None"], ["None"]))
    trial.check("HIGHEST" in within[0], f"expected the highest precision, got {within[0]}")
    given.check(trial, output, given.host, expect)


def asked_precisions(trial: Trial, args: Sequence[Any], expect: Mapping[str, Any]) -> None:
    """The traced program asks for the precisions that are given, one for each argument in their order, and for none
    after it. The values are those of the reference."""
    given = Given(trial, args, None)
    highest, default = jax.lax.Precision.HIGHEST, jax.lax.Precision.DEFAULT
    asked = [(highest, default), None]
    wanted = [["HIGHEST", "DEFAULT"], []]
    found: list[list[str]] = []

    def body(function: Callable[..., Any], *tensors: Any) -> Any:
        def program(precision: Any) -> list[str]:
            def of(*tensors: Any) -> Any:
                return function(*given.with_tensors(tensors), precision=precision)

            return re.findall("HIGHEST|HIGH|DEFAULT", " ".join(_precisions(jax.make_jaxpr(of)(*tensors).jaxpr)))

        found[:] = map(program, asked)
        return function(*given.with_tensors(tensors), precision=highest)

    output = trial.call_inside(body, *given.tensors)
    trial.equal(found, wanted)
    given.check(trial, output, given.host, expect)


def _precisions(jaxpr: Any) -> list[str]:
    """Return the precisions of a program's products, also of the programs within it."""
    found = []
    for equation in jaxpr.eqns:
        if "precision" in equation.params:
            found.append(str(equation.params["precision"]))
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            found += _precisions(inner) if hasattr(inner, "eqns") else []
    return found

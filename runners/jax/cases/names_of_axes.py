"""Collectives as they are traced: axes named by any object, singly or several, and groups in lists and tuples."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from runners.core.testing.trial import Trial

_SIZES = [("i", 2), ("j", 3), ("k", 7), (None, 6), (("a", 1), 5), (2.5, 1030)]


def names_of_axes(trial: Trial, through: str) -> None:
    """An axis is named by any object with a hash but an integer; several names are in a tuple, of pmax also in a list,
    and each counts. Groups are lists or tuples, which are left as they are. Trees of any kinds of arrays keep their
    containers and types. all_gather: tiled may be any true value, and each axis can be counted from the end."""
    is_max = through == "pmax"
    trial.repeatable = False
    sizes = dict(_SIZES)
    x = jax.ShapeDtypeStruct((2, 3), np.dtype("int8"))
    named: list[Any] = ["i", ("i",), ("i", "j"), ("j", "i"), ("i", "j", "k"), None, (("a", 1),), 2.5, (None, 2.5)]
    if is_max:
        named += [["i", "j"], ["k"], ["i", "j", "k"], ("k", "j", "i"), [None, "i"]]
    for names in named:
        given = list(names) if isinstance(names, list) else names
        try:
            equation, (output,) = _traced(trial, lambda f, x, given=given: f(x, given, axis_index_groups=None), x)
        except Exception as error:
            # Some versions, such as 0.10, do not trace a list of names.
            if not isinstance(names, list) or "not hashable" not in str(error):
                raise
            continue
        trial.equal(given == names, True)
        wanted = tuple(names) if isinstance(names, (tuple, list)) else (names,)
        found = equation.params["axes" if is_max else "axis_name"]
        trial.equal((tuple(found) if isinstance(found, (tuple, list)) else (found,)) == wanted, True)
        count = int(np.prod([sizes[name] for name in wanted]))
        trial.equal((output.shape, str(output.dtype)), ((2, 3) if is_max else (count, 2, 3), "int8"))
    for names in ((),) if is_max else ():
        jaxpr = trial.call_inside(lambda f, names=names: jax.make_jaxpr(lambda x: f(x, names), axis_env=_SIZES)(x))
        trial.equal([(aval.shape, str(aval.dtype)) for aval in jaxpr.out_avals], [((2, 3), "int8")])
    for groups in ([[0, 2], [3, 1]], ((0, 2), (3, 1)), [(0, 2), [3, 1]]):
        given = type(groups)(list(group) if isinstance(group, list) else group for group in groups)
        equation, (output,) = _traced(
            trial, lambda f, x, given=given: f(x, "four", axis_index_groups=given), x, [("four", 4)]
        )
        trial.equal(given == groups, True)
        trial.equal(equation.params["axis_index_groups"], ((0, 2), (3, 1)))
        trial.equal(output.shape, (2, 3) if is_max else (2, 2, 3))
    kinds = ["float32", "float16", "bfloat16", "int8", "uint8", "uint16", "int32", "uint32", "bool", "complex64"]
    tree = {
        "b": [jax.ShapeDtypeStruct((4,), trial.dtype(kind)) for kind in kinds],
        "a": (None, [], {}, jax.ShapeDtypeStruct((), np.dtype("int16"))),
    }

    def whole(f: Any, tree: Any) -> Any:
        outputs = f(tree, "k")
        trial.equal(jax.tree_util.tree_structure(outputs) == jax.tree_util.tree_structure(tree), True)
        return outputs

    _, outputs = _traced(trial, whole, tree)
    front = () if is_max else (7,)
    trial.equal([(output.shape, str(output.dtype)) for output in outputs[1:]], [((*front, 4), kind) for kind in kinds])
    trial.equal((outputs[0].shape, str(outputs[0].dtype)), (front, "int16"))
    for tiled in () if is_max else (True, 1, False, 0):
        for axis in range(-2 if tiled else -3, 2 if tiled else 3):
            _, (output,) = _traced(trial, lambda f, x, axis=axis, tiled=tiled: f(x, "k", axis=axis, tiled=tiled), x)
            shape = [2, 3]
            if tiled:
                shape[axis] *= 7
            else:
                shape.insert(axis % 3, 7)
            trial.equal(output.shape, tuple(shape))


def _traced(trial: Trial, call: Any, x: Any, sizes: Any = _SIZES) -> Any:
    """Return the first equation and the types of the outputs."""

    jaxpr = trial.call_inside(lambda function: jax.make_jaxpr(lambda x: call(function, x), axis_env=sizes)(x))
    equations = jaxpr.jaxpr.eqns
    several = len(jaxpr.out_avals)
    trial.check(len(equations) in (1, several), f"expected one equation for each array or for all, got {equations}")
    return equations[0], jaxpr.out_avals

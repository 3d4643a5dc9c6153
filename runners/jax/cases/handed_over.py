"""Functions that name, bind or rebuild others hand over each argument, leaf and output as it is, not a copy of it."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict
from functools import partial
from typing import Any, Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.jax.containers import Labelled, Pair

_COPIES: tuple[Callable[[Any], Any], ...] = (
    copy.copy,
    copy.deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),
)


def _documented(first: Any, *rest: Any, key: Any = None) -> Any:
    """Its own text."""
    return Pair(first, [rest, key])


def _zero() -> int:
    return 0


def named_objects(trial: Trial) -> None:
    """jax.named_call: outside of a trace, arguments and outputs are the caller's objects: lists that the function may
    change, NumPy arrays, numbers, a generator. The new function has the name and text of the plain one."""
    listed, wide = [1], np.array([2**53 + 1, -1])
    named = trial.call(_documented, name="documented")
    output = named(listed, wide, 7, key=listed)
    trial.equal((type(output), output.first is listed, output.second[1] is listed), (Pair, True, True))
    trial.equal((output.second[0][0] is wide, type(output.second[0][1])), (True, int))
    trial.equal((named.__name__, named.__doc__), (_documented.__name__, _documented.__doc__))

    kept = {"a": listed}
    trial.check(trial.call(lambda: kept, name="kept")() is kept, "the output is a copy")
    trial.call(lambda target: target.append(2), name="appended")(listed)
    trial.equal(listed, [1, 2])

    def counted(count: int) -> Iterator[int]:
        started.append(count)
        yield from range(count)

    for output in ((1.5,), [wide], {"a": 2}, (), None, ((),), Pair(1, 2)):
        trial.check(
            trial.call(lambda output=output: output, name="alone")() is output, f"{output!r} became another one"
        )

    started: list[int] = []
    numbers = trial.call(counted, name="counted")(3)
    trial.equal((len(started), next(numbers), list(numbers), len(started)), (0, 0, [1, 2], 1))


def named_in_trace(trial: Trial) -> None:
    """jax.named_call: in a compiled function numbers stay numbers of Python with a weak type, outputs keep their named
    tuple, derivatives reach arguments by keyword, and a function without arguments has its name in the program."""
    host, weight = trial.random(4), trial.random(4, seed=1)
    seen: list[Any] = []

    def body(named_call: Callable[..., Any], x: Any, weight: Any) -> Any:
        seen.clear()

        @named_call
        def scaled(x: Any, turns: int, factor: float, *, weight: Any) -> Any:
            seen.append((type(turns), type(factor)))
            for _ in range(turns):
                x = x * weight
            return Pair(x * factor, jnp.asarray(factor) * jnp.ones(2, "float16"))

        def loss(x: Any, weight: Any) -> Any:
            pair = scaled(x, 2, 0.5, weight=weight)
            return pair.first.sum(), pair

        (_, pair), slopes = jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))(x, weight)
        alone = named_call(lambda: lax.sin(jnp.arange(3.0)), name="whole/alone")
        return pair, slopes, [str(each.source_info.name_stack) for each in jax.make_jaxpr(alone)().eqns]

    pair, (to_x, to_weight), names = trial.call_inside(body, trial.tensor(host), trial.tensor(weight))
    trial.equal((seen, type(pair)), ([(int, float)], Pair))
    x, weight = widened(host), widened(weight)
    trial.close(pair.first, 0.5 * x * weight**2, dtype="float32")
    trial.exact(pair.second, [0.5, 0.5], "float16")
    trial.close(to_x, 0.5 * weight**2, dtype="float32")
    trial.close(to_weight, x * weight, dtype="float32")
    trial.check(names and all(name == "whole/alone" for name in names), f"expected whole/alone, got {names}")


def partial_objects(trial: Trial) -> None:
    """jax.tree_util.Partial: what is bound is the caller's object, and reaches the function as it is and in order: a
    list that changes later, a NumPy array of 64 bits, a number, a text. Its repr shows all of it."""
    listed, wide = [1], np.array([2**53 + 1, -1])
    made = trial.call(lambda *args, **named: (args, named), listed, wide, 2.5, z="text", a=listed)
    listed.append(2)
    (first, second, number), named = made(b=3, z=wide)
    trial.equal((first is listed, second is wide, type(number)), (True, True, float))
    trial.equal((list(named), named["z"] is wide, named["a"] is listed), (["z", "a", "b"], True, True))
    trial.equal((made.args[0] is listed, made.args[1] is wide, made.keywords["a"] is listed), (True, True, True))
    named["a"] = None
    trial.equal(made()[1]["a"] is listed, True)
    text = repr(trial.call(np.sin, 2.5, key=[1, 2]))
    trial.check(all(part in text for part in ("sin", "2.5", "key=[1, 2]")), f"the repr is {text}")


def partial_copies(trial: Trial) -> None:
    """jax.tree_util.Partial: a copy, a deep one and one that was pickled are partials with the same function, arguments
    and keywords; a deep one has arrays of its own. Structures are equal if the functions are."""
    bound = np.array([1.5, -2.0])
    made = trial.call(_documented, bound, key=3)
    for way in _COPIES:
        found = way(made)
        trial.check(type(found) is type(made), f"the copy is a {type(found).__name__}")
        trial.equal((found.func is _documented, list(found.keywords.items())), (True, [("key", 3)]))
        trial.equal((found.args[0].tolist(), found.args[0] is bound), ([1.5, -2.0], way is copy.copy))
        trial.equal(jax.tree_util.tree_structure(found), jax.tree_util.tree_structure(made))
        trial.equal(found(5).second, [(5,), 3])
    other = trial.call(Pair, bound, key=3)
    trial.equal(jax.tree_util.tree_structure(other) == jax.tree_util.tree_structure(made), False)


def unflattened_leaves(trial: Trial) -> None:
    """jax.tree_util.tree_unflatten: NumPy arrays and scalars are the given objects, also those of 64 bits and within
    containers of all kinds; each container keeps what is not a leaf: a factory, a label, a function."""
    leaves: list[Any] = [np.array([2**53 + 1, -1]), np.array([0.1]), np.float64(0.1), np.int64(2**40), np.zeros(0), 7]
    tree: list[Any] = [
        defaultdict(_zero, a=0),
        Labelled(0, "label"),
        Pair(0, jax.tree_util.Partial(_documented, 0)),
        Labelled({"b": (0, None)}, "other"),
        0,
    ]
    output = trial.call(jax.tree_util.tree_structure(tree), leaves)
    counted, labelled, pair, nested, last = output
    found = [counted["a"], labelled.value, pair.first, pair.second.args[0], nested.value["b"][0], last]
    trial.equal([one is two for one, two in zip(found, leaves)], [True] * 6)
    trial.equal((type(counted), counted.default_factory), (defaultdict, _zero))
    trial.equal((type(labelled), labelled.label, nested.label), (Labelled, "label", "other"))
    trial.equal((type(pair), type(pair.second), pair.second.func), (Pair, jax.tree_util.Partial, _documented))
    leaves[0][0] = 3
    trial.equal(counted["a"].tolist(), [3, -1])
    for kind in (dict, OrderedDict, partial(defaultdict, _zero)):
        alone = trial.call(jax.tree_util.tree_structure(kind(a=0)), leaves[-1:])
        trial.equal((type(alone), repr(alone)), (type(kind()), repr(kind(a=7))))
    alone = trial.call(jax.tree_util.tree_structure(Labelled(0, "alone")), leaves[-1:])
    trial.equal((type(alone), alone.value, alone.label), (Labelled, 7, "alone"))
    alone = trial.call(jax.tree_util.tree_structure(jax.tree_util.Partial(_documented, 0)), leaves[-1:])
    trial.equal((type(alone), alone.func, alone.args), (jax.tree_util.Partial, _documented, (7,)))


def partial_value_objects(trial: Trial) -> None:
    """PartialVal: a known value is the very object that was given, also where it equals another one (1 and True, 0.0
    and -0.0) or is a NumPy array, which can be written to as before; copies of a pair are partial values that are equal
    to it."""
    numbers = [1, True, 0, False, 1.0, 0.0, -0.0, float("nan"), 1j, np.float32(-0.0), np.bool_(True), np.int8(-1)]
    arrays = [np.zeros(()), np.array([2**53 + 1, -1]), np.array([-0.0, np.nan, np.inf], "float32"), np.zeros((0, 3))]
    bytes_before = [array.tobytes() for array in arrays]
    known = trial.make((None, 2.5)).known
    for value in (*numbers, *arrays, trial.tensor(np.zeros(1, "float32"))):
        for made in (trial.make((None, value)), known(value)):
            trial.equal(
                (trial.call_method(made, "is_known"), trial.call_method(made, "get_known") is value), (True, True)
            )
            aval = trial.call_method(made, "get_aval")
            wanted = jax.dtypes.canonicalize_dtype(np.asarray(value).dtype)
            trial.equal(
                (aval.shape, aval.dtype, bool(aval.weak_type)),
                (np.shape(value), wanted, type(value) in (int, float, complex)),
            )
    trial.equal([array.tobytes() for array in arrays], bytes_before)
    trial.check(all(array.flags.writeable for array in arrays), "an array can no longer be written to")
    made = trial.make((None, 2.5))
    trial.equal((made == (None, 2.5), hash(made) == hash((None, 2.5)), isinstance(made, tuple)), (True, True, True))
    for way in _COPIES:
        found = way(made)
        trial.equal((type(found) is type(made), found.is_known(), found.get_known()), (True, True, 2.5))

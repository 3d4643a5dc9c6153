"""Objects of JAX in detail: arguments by name, odd callables, subclasses, other threads and errors."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, Callable

import jax
import numpy as np
from jax import lax

from runners.core.testing.trial import Trial
from runners.jax.settings import setting


def partial_value_forms(trial: Trial) -> None:
    """PartialVal: the pair can be a list, and constants and abstract values of all kinds are kept as they are: numbers
    too large for 32 bits, text, a pair of two values. known and unknown take their argument by name too. A number's
    type depends on the 64-bit setting at that time."""
    aval = jax.core.ShapedArray((2, 3), np.dtype("float32"), True)
    token = jax.core.abstract_token if hasattr(jax.core, "abstract_token") else jax._src.core.abstract_token
    for abstract in (aval, token, jax.core.ShapedArray((), np.dtype("int8"))):
        for pair in ((abstract, None), [abstract, None]):
            made = trial.make(pair)
            trial.equal((type(made) is type(trial.make((None, 1))), made[0] is abstract, made[1]), (True, True, None))
            trial.check(trial.call_method(made, "get_aval") is abstract, "the abstract value is another object")
        for other in (type(made).unknown(abstract), type(made).unknown(aval=abstract)):
            trial.equal((other.is_known(), other[0] is abstract, other.get_known()), (False, True, None))
    array = np.arange(3)
    for value in (
        2**40,
        -(2**70),
        1e300,
        float("nan"),
        -0.0,
        1e300 + 1e300j,
        "text",
        b"",
        array,
        np.float64(1e300),
        (),
    ):
        pairs = [trial.make((None, value)), trial.make([None, value])]
        for made in (*pairs, type(pairs[0]).known(value), type(pairs[0]).known(const=value)):
            trial.check(trial.call_method(made, "get_known") is value, f"{value!r} is another object")
            trial.equal((made[1] is value, made.is_known(), len(made)), (True, True, 2))
    trial.check(array.flags.writeable, "a known array cannot be written to any more")
    for value, weak in ((jax.numpy.asarray(2.5), True), (trial.tensor(array), False)):
        known = trial.make((None, value))
        trial.equal((known.get_aval().shape, bool(known.get_aval().weak_type)), (value.shape, weak))
        trial.equal((known[-1] is value, known[-2], known[1:][0] is value, known[:1]), (True, None, True, (None,)))
        trial.equal((known.count(None), known.index(None), [part is value for part in known]), (1, 0, [False, True]))
    both = trial.make((aval, 3))
    trial.equal((both[0] is aval, both[1], both.is_known(), both.get_known()), (True, 3, False, None))
    trial.check(both.get_aval() is aval, "the abstract value is another object")
    for wide in (False, True, False):
        for value, dtype in ((1.5, "float"), (7, "int"), (1j, "complex"), (np.float64(2), "float"), (True, "bool")):
            with setting("jax_enable_x64", wide):
                found = str(type(both).known(value).get_aval().dtype)
            bits = "" if dtype == "bool" else str((64 if wide else 32) * (1 + (dtype == "complex")))
            trial.equal(found, dtype + bits)


def named_callables(trial: Trial) -> None:
    """named_call: with a name any callable will do, one without a name of its own needs one. The output is the very
    object. Defaults and the function's own name are those at the call and at the wrapping. The name, of any letters,
    is set in other threads too."""

    class Scale:
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return args, kwargs

    partial = functools.partial(dict, a=1)
    for function, args, wanted in (
        *((dict, (), {"b": 2}), (partial, (), {"a": 1, "b": 2}), (Scale(), (1,), ((1,), {"b": 2}))),
        (Scale().__call__, (1,), ((1,), {"b": 2})),
    ):
        trial.equal(trial.call(function, name="chosen")(*args, b=2), wanted)
    for function in (len, np.size, lambda value: len(value)):
        trial.equal(trial.call(function)([1, 2]), 2)
    for function in (partial, Scale()):
        trial.raises(["AttributeError"], "__name__", function)
    results: list[Any] = [1, True, -0.0, 2.5, 1j, "text", None, (), [1], {}, np.float32(2), np.arange(2), int, object()]
    last = trial.call(lambda *, number=-1: results[number])
    for number, result in enumerate(results):
        trial.check(last(number=number) is result, f"{result!r} is returned as another object")

    def changed(x: Any = None, *, key: Any = 1) -> Any:
        return x if x is None else lax.sin(x), key

    named = trial.call(changed)
    changed.__kwdefaults__["key"] = 2
    changed.__name__ = "renamed"
    trial.equal(named()[1], 2)
    stacks: list[str] = []

    def trace(function: Callable[..., Any]) -> None:
        jaxpr = jax.make_jaxpr(lambda x: (function(x), lax.cos(x))[1])(1.0)
        stacks.append(" ".join(str(each.source_info.name_stack) for each in jaxpr.jaxpr.eqns))

    trace(named)
    trial.equal("changed" in stacks[0] and "renamed" not in stacks[0], True)
    for name in ("größe 大きさ", "a/b(c)", "100%_{}", "x" * 300):
        given = trial.call(changed, name=name)
        thread = threading.Thread(target=trace, args=(given,))
        thread.start()
        thread.join()
        trial.check(name in stacks[-1] and stacks[-1].count(name) == 1, f"{name} is not once in {stacks[-1]}")


def named_again_and_again(trial: Trial) -> None:
    """named_call: the name is there at each of 20 calls, as often as calls are within each other, in each of several
    named functions, and may be of a subclass of str. The named function has the signature of the function, which keeps
    its own name and attributes."""

    def work(x: Any, left: int = 0, *, key: Any = 1) -> Any:
        return made[0](x, left - 1) if left else lax.sin(x)

    made: list[Any] = []
    name = type("Own", (str,), {})("chosen")
    named = trial.call(work, name=name)
    made.append(named)
    trial.equal(str(inspect.signature(named)), str(inspect.signature(work)))
    named.mark = 1
    trial.equal((work.__name__, hasattr(work, "mark")), ("work", False))

    def several(x: Any) -> Any:
        for _ in range(20):
            x = named(x)
        return lax.cos(named(x, 3))

    jaxpr = jax.make_jaxpr(several)(1.0).jaxpr
    stacks = [str(equation.source_info.name_stack) for equation in jaxpr.eqns]
    trial.equal(stacks, ["chosen"] * 20 + ["/".join(["chosen"] * 4), ""])
    for wrong in ({"names": "a"}, {"prefix": "a"}):
        trial.raises(["TypeError"], "", work, **wrong)


def kinds_of_functions(trial: Trial) -> None:
    """Partial: func is the very function, of any kind, and partials of it have one structure whatever the values are;
    with another function, name or number of arguments they have another."""
    structure = jax.tree_util.tree_structure
    trial.repeatable = False
    kinds = [len, np.add, int, max, dict, [].append, "a".join, lax.sin, jax.jit(lax.sin), (lambda x: x), Trial.equal]
    for number, function in enumerate(kinds):
        one, two = trial.call(function, 1, key=2), trial.call(function, "a", key=None)
        trial.check(one.func is function and two.func is function, f"{function} is another object")
        trial.equal((one.args, one.keywords, two.args, two.keywords), ((1,), {"key": 2}, ("a",), {"key": None}))
        trial.equal(structure(one) == structure(trial.call(function, 2.5, key=(3,)[0])), True)
        for other in (
            *(trial.call(kinds[number - 1], 1, key=2), trial.call(function, 1), trial.call(function, 1, other=2)),
            *(trial.call(function, 1, 2), trial.call(function, [1], key=2), trial.call(function, 1, key=None)),
        ):
            trial.equal(structure(one) == structure(other), False)
    trial.equal((trial.call(max, 3)(2, 5), trial.call("{}{}".format, None)(None)), (5, "NoneNone"))


def contexts_within(trial: Trial) -> None:
    """eval_context: each of six contexts within each other takes part, and the outer ones hold when the inner ones have
    ended, in each of several threads. An error of any class passes through as the object that it is."""

    def body(eval_context: Callable[..., Any]) -> Any:
        found: list[Any] = []

        def computed() -> bool:
            return not isinstance(lax.sin(np.float32(1)), jax.core.Tracer)

        def nested(left: int) -> None:
            with eval_context():
                found.append(computed())
                if left:
                    jax.make_jaxpr(
                        lambda x: (found.append(computed()), nested(left - 1), found.append(computed()), x)[-1]
                    )(1.0)
                found.append(computed())

        nested(5)
        raised = []
        for kind in (
            KeyError,
            IndexError,
            ZeroDivisionError,
            StopIteration,
            GeneratorExit,
            KeyboardInterrupt,
            TypeError,
        ):
            error = kind("inside")
            try:
                with eval_context():
                    raise error
            except BaseException as caught:
                raised.append(caught is error)
        return found, raised

    found, raised = trial.call_inside(body)
    half = [True, False] * 5 + [True]
    trial.equal(found, half + half[::-1])
    trial.equal(raised, [True] * 7)


def bound_forms(trial: Trial) -> None:
    """Partial: values of the call, False and None too, replace kept ones, also those of an inner functools.partial.
    Any name but those of Partial's own arguments will do. Arrays are the given ones and stay writable. A subclass makes
    its own objects; errors are the function's."""

    def given(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    array = np.arange(3.0)
    named = {"array": array, "self": 3, "args": (4,), "keywords": {}, "name": "n", "kw": False}
    kept = trial.call_inside(lambda partial: partial(given, 1, array, **named))
    for value in (False, 0, None, (), "", True, -0.0, array):
        args, kwargs = kept(value, kw=value, name=value)
        trial.equal((args[0], args[1] is array, args[2] is value), (1, True, True))
        trial.equal([kwargs[key] is value for key in ("kw", "name")], [True, True])
        trial.equal((kwargs["array"] is array, kwargs["args"], kwargs["keywords"], kwargs["self"]), (True, (4,), {}, 3))
    trial.equal(list(kept.keywords), list(named))
    trial.check(array.flags.writeable, "a bound array cannot be written to any more")
    array[1] = 7
    trial.equal((float(kept.args[1][1]), float(kept()[1]["array"][1])), (7.0, 7.0))
    inner = functools.partial(given, 1, a=1, b=2)
    outer = trial.call(inner, 3, b=4, c=5)
    trial.equal(outer(6, a=7, d=8), ((1, 3, 6), {"a": 7, "b": 4, "c": 5, "d": 8}))
    trial.equal((outer(), inner()), (((1, 3), {"a": 1, "b": 4, "c": 5}), ((1,), {"a": 1, "b": 2})))
    trial.equal((outer.args, outer.keywords, jax.tree_util.tree_leaves(outer)), ((3,), {"b": 4, "c": 5}, [3, 4, 5]))
    trial.equal((inner.args, inner.keywords), ((1,), {"a": 1, "b": 2}))
    own = type("Own", (type(kept),), {})
    made = own(given, 1, key=2)
    trial.equal((type(made) is own, made(3)), (True, ((1, 3), {"key": 2})))
    for kind in (KeyError, ZeroDivisionError, StopIteration, TypeError):
        error = kind("own")
        try:
            trial.call(_raise, error)()
        except Exception as caught:
            trial.check(caught is error, f"a {kind.__name__} is raised as {caught!r}")
        else:
            trial.check(False, f"a {kind.__name__} of the function is lost")


def _raise(error: Exception) -> None:
    raise error

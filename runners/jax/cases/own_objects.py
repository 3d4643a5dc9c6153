"""Objects of JAX beside their values: their class, which of them are equal or the same, what each call makes new."""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from runners.core.testing.trial import Trial


def partial_value_kinds(trial: Trial) -> None:
    """PartialVal: is_known is True or False itself, get_aval gives the very abstract value, each pair is true and has
    two elements, and a subclass makes its own objects. None can be known."""
    for dtype, weak in (("float32", False), ("int32", True), ("bool", False)):
        aval = jax.core.ShapedArray((2, 3), trial.dtype(dtype), weak)
        unknown = trial.make((aval, None))
        trial.check(trial.call_method(unknown, "is_known") is False, "an unknown value is known")
        trial.check(trial.call_method(unknown, "get_aval") is aval, "the abstract value is another object")
        trial.check(trial.call_method(unknown, "get_known") is None, "an unknown value has a constant")
        trial.equal((bool(unknown), len(unknown), unknown[0] is aval, unknown[1]), (True, 2, True, None))
    for value in (None, 0, False, 0.0, np.zeros(()), np.int8(0)):
        known = trial.make((None, value))
        trial.check(trial.call_method(known, "is_known") is True, f"{value!r} is not known")
        trial.check(trial.call_method(known, "get_known") is value, f"{value!r} is another object")
        trial.equal((bool(known), len(known), known[0]), (True, 2, None))
    own = type("Own", (type(known),), {})
    made = own((None, 2.5))
    trial.equal((type(made) is own, made.is_known(), made.get_known()), (True, True, 2.5))


def aval_kinds(trial: Trial) -> None:
    """get_aval: NumPy's numbers and arrays of each dtype, also without axes, empty, of eight axes and of a subclass,
    have their own shape and dtype and no weak type. What is no number, a class too, is refused."""

    class Own(np.ndarray):
        pass

    for dtype in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "complex64"):
        one = np.ones((), dtype)
        for value in (one[()], one, one.reshape((1,) * 8), np.zeros((2, 0, 3), dtype), np.zeros((3, 2), dtype).T):
            aval = trial.call(value)
            trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), (value.shape, dtype, False))
        if dtype == "float32":
            aval = trial.call(np.zeros((2, 3), dtype).view(Own))
            trial.equal((aval.shape, str(aval.dtype), bool(aval.weak_type)), ((2, 3), dtype, False))
    for value in (True, np.array([1, 2]), np.uint64(2**63), 2**31 - 1, -(2**31)):
        aval = trial.call(value)
        dtype = "int32" if type(value) is int else jax.dtypes.canonicalize_dtype(np.asarray(value).dtype)
        trial.equal(
            (aval.shape, str(aval.dtype), bool(aval.weak_type)), (np.shape(value), str(dtype), type(value) is int)
        )
    for value in (int, np.float32, [1], (1, 2), {}, "1", b"1", None, range(3), object(), slice(1), Ellipsis):
        trial.raises(["TypeError"], "", value)
    trial.raises(["TypeError", "AssertionError"], "", np.array([1, None]))


def partial_objects(trial: Trial) -> None:
    """Partial: func, args and keywords hold the very objects, None too; a call runs the function each time and None
    replaces a kept keyword. Each partial is equal to itself only. It has attributes and a class of its own."""
    seen: list[Any] = []
    values = [1, True, -0.0, "text", None, np.float32(2), np.zeros(2), [1], {}]

    class Scale:
        def apply(self, *args: Any, **kwargs: Any) -> Any:
            seen.append((self, args, kwargs))
            return len(seen)

    bound = Scale().apply
    made = trial.call(bound, *values, name=None, fun=values[6])
    trial.check(made.func is bound, "func is not the function that was given")
    trial.equal([kept is value for kept, value in zip(made.args, values)], [True] * len(values))
    trial.check(made.keywords["fun"] is values[6], "a keyword is another object")
    trial.equal(list(made.keywords), ["name", "fun"])
    trial.equal([made(3), made(3), made(3, fun=None, more=1)], [1, 2, 3])
    for (owner, args, kwargs), keywords in zip(seen, (["name", "fun"], ["name", "fun"], ["name", "fun", "more"])):
        trial.check(owner is bound.__self__, "the method's object is another one")
        trial.equal([given is value for given, value in zip(args, [*values, 3])], [True] * 10)
        trial.equal((len(args), list(kwargs), kwargs["name"]), (10, keywords, None))
    trial.check(seen[2][2]["fun"] is None, "None did not replace the kept keyword")
    trial.equal(list(made.keywords), ["name", "fun"])
    seen.clear()
    plain = trial.call(bound)
    trial.equal([plain(1), plain(1), plain(1.0), plain()], [1, 2, 3, 4])
    trial.equal([args for _, args, _ in seen], [(1,), (1,), (1.0,), ()])
    same, other = trial.call(bound, 1), trial.call(bound, 1)
    trial.equal((same == same, same == other, same != other, len({same, other, same})), (True, False, True, 2))
    made.note = "own"
    trial.equal((made.note, hasattr(plain, "note"), type(made) is type(plain)), ("own", False, True))
    again = jax.tree_util.tree_map(lambda leaf: leaf, made)
    trial.equal((type(again) is type(made), again.func == bound, again.args[4]), (True, True, None))


def contexts_apart(trial: Trial) -> None:
    """eval_context: each call makes a context of its own, which does nothing before it is entered, gives None and
    changes no option of JAX, in a traced function either."""

    def body(eval_context: Callable[..., Any]) -> Any:
        found: list[Any] = []

        def traced(x: Any) -> Any:
            first, second = eval_context(), eval_context()
            found.append((first is second, isinstance(jax.numpy.sin(np.ones(2)), jax.core.Tracer)))
            before = _options()
            with first as inner:
                found.append((inner, isinstance(jax.numpy.sin(np.ones(2)), jax.core.Tracer)))
                with second:
                    found.append((_options() == before, isinstance(jax.numpy.sin(np.ones(2)), jax.core.Tracer)))
            found.append((_options() == before, isinstance(jax.numpy.sin(x), jax.core.Tracer)))
            return x

        jax.make_jaxpr(traced)(np.ones(3, "float32"))
        return found

    trial.equal(trial.call_inside(body), [(False, True), (None, False), (True, False), (True, True)])


def _options() -> dict[str, Any]:
    """Return JAX's options as they are in this thread. The one that eval_context sets in newer versions is left out."""
    names = [name for name in jax.config.values if "constant_folding" not in name]
    return {name: getattr(jax.config, name, None) for name in names}


def named_beside(trial: Trial) -> None:
    """named_call: an empty name is no name of the function's; keywords called name, fun and self reach the function,
    which stays reachable as __wrapped__; its document, module and attributes are the wrapped one's."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        """Return what it got."""
        return args, kwargs

    plain.note = "own"  # type: ignore[attr-defined]
    numbers, keywords = [1, True, 2.5, None, "text", [3]], {"name": 1, "fun": None, "func": 2, "key": 3}
    for options in ({}, {"name": "chosen"}, {"name": ""}, {"name": "a b/c" * 9}, {"name": None}):
        named = trial.call(plain, **options)
        for _ in range(2):
            args, kwargs = named(*numbers, **keywords)
            trial.equal([given is value for given, value in zip(args, numbers)], [True] * len(numbers))
            trial.equal((len(args), kwargs), (len(numbers), keywords))
        trial.check(named.__wrapped__ is plain, "the function is not reachable")
        trial.equal((named.__name__, named.__doc__, named.note), ("plain", plain.__doc__, "own"))
        trial.equal((named.__module__, named.__qualname__), (plain.__module__, plain.__qualname__))
    for name, wanted in (("", False), (None, True), ("plain", True)):
        jaxpr = jax.make_jaxpr(trial.call(_plain, name=name))(1.0)
        stack = str(jaxpr.jaxpr.eqns[0].source_info.name_stack)
        trial.equal("plain" in stack, wanted)


def _plain(x: Any) -> Any:
    return jax.lax.sin(x)


def path_kinds(trial: Trial) -> None:
    """einsum_path: the path is a list of tuples of Python integers, and the report is no text."""
    hosts = [np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))]
    for options in ({}, {"optimize": "optimal"}, {"optimize": "greedy"}, {"optimize": [(1, 2), (0, 1)]}):
        path, facts = trial.call("ij,jk,kl->il", *hosts, **options)
        trial.equal((type(path), type(facts) is str), (list, False))
        steps = [step for step in path if type(step) is tuple and all(type(number) is int for number in step)]
        trial.equal(len(steps), 2)


def eager_contexts_apart(trial: Trial) -> None:
    """disable_jit: each call makes a context of its own, which does nothing before it is entered."""
    for options in ({}, {"disable": True}, {"disable": False}):
        before = bool(jax.config.jax_disable_jit)
        first, second = trial.call(**options), trial.call(**options)
        trial.equal((first is second, bool(jax.config.jax_disable_jit)), (False, before))
        with first as found, second:
            trial.equal((found, bool(jax.config.jax_disable_jit)), (None, options.get("disable", True)))
        trial.equal(bool(jax.config.jax_disable_jit), before)

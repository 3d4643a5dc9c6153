"""What holds within a function or a context of JAX: the caller's settings, errors, contexts within contexts."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

import jax
import numpy as np
from jax import lax
from jax._src import source_info_util

from runners.core.testing.trial import Trial
from runners.jax.cases.partial_evaluation import wrapped
from runners.jax.double import x64

_OWN = {"eval_context": "constant_folding", "disable_jit": "jax_disable_jit"}
"""The setting that a context has to change."""


def settings_within(trial: Trial, through: str) -> None:
    """A function that is called, traced or differentiated sees every setting of JAX and NumPy as its caller does,
    whether they are at their defaults or others, and afterwards they are as before. An error of its own of any class
    reaches the caller as the object that it is."""
    x = trial.tensor(np.ones(2))
    seen: list[Any] = []

    def noted(*args: Any) -> Any:
        seen.append(_settings(_OWN.get(through, through)))
        return args

    def body(function: Callable[..., Any]) -> Any:
        before = _settings(_OWN.get(through, through))
        _reached(through, function, noted, x)
        with contextlib.ExitStack() as stack:
            for entered in (
                *(jax.debug_nans(True), jax.debug_infs(True), jax.numpy_dtype_promotion("strict"), x64()),
                *(jax.default_matmul_precision("bfloat16"), jax.numpy_rank_promotion("raise"), np.errstate(all="warn")),
                jax.default_prng_impl("rbg"),
            ):
                stack.enter_context(entered)
            expected = _settings(_OWN.get(through, through))
            _reached(through, function, noted, x)
            seen.append(_settings(_OWN.get(through, through)))
        raised = []
        for kind in (KeyError, IndexError, ZeroDivisionError, AttributeError, RuntimeError, OSError, AssertionError):
            error = kind("own")
            try:
                _reached(through, function, lambda *args, error=error: _raise(error), x)
            except Exception as caught:
                raised.append(caught is error)
        return expected, before, _settings(_OWN.get(through, through)), raised

    trial.repeatable = False
    others, defaults, after, raised = trial.call_inside(body)
    trial.equal(len(seen), 3)
    for found, expected in zip((*seen, after), (defaults, others, others, defaults)):
        trial.equal({name: value for name, value in found.items() if value != expected[name]}, {})
    trial.equal(raised, [True] * 7)


def _raise(error: Exception) -> None:
    raise error


def _reached(through: str, function: Callable[..., Any], work: Callable[..., Any], x: Any) -> None:
    """Have the work called once by the function under test."""
    if through in _OWN:
        with function():
            work(x)
    elif through == "trace_to_jaxpr_dynamic":
        aval = jax.core.ShapedArray((2,), np.dtype("float32"))
        function(wrapped(lambda x: [*work(x)], 1), [aval])
    elif through == "make_jaxpr":
        function(work)(x)
    elif through in ("vjp", "tree_map"):
        function(work, x)
    elif through == "Partial":
        function(work, x)()
    else:
        function(work)(x)


def _settings(left_out: str) -> dict[str, str]:
    """Return JAX's settings, NumPy's handling of errors and the names around what is traced."""
    names = [name for name in dir(jax.config) if name.startswith("jax_") and left_out not in name]
    found = {"numpy errors": repr(np.geterr()), "numpy printing": repr(np.get_printoptions())}
    if left_out not in ("named_call", "vjp"):
        found["names"] = str(source_info_util.current_name_stack())
    for name in names:
        with contextlib.suppress(Exception):
            found[name] = repr(getattr(jax.config, name))
    return found


def switched_within(trial: Trial) -> None:
    """disable_jit: of contexts within each other the innermost counts, however many there are, and the outer ones hold
    again when it has ended, with or without an error. What is compiled before is not compiled again."""
    traces: list[int] = []

    @jax.jit
    def compiled(x: Any) -> Any:
        traces.append(isinstance(x, jax.core.Tracer))
        return x

    x = trial.tensor(np.ones(2))
    pattern = [True, True, False, True, False, False, True, True, True]

    def body(disable_jit: Callable[..., Any]) -> Any:
        found: list[bool] = []

        def nested(left: list[bool]) -> None:
            with disable_jit(left[0]), contextlib.suppress(KeyError):
                found.append(bool(jax.config.jax_disable_jit))
                if left[1:]:
                    nested(left[1:])
                found.append(bool(jax.config.jax_disable_jit))
                raise KeyError

        compiled(x)
        nested(pattern)
        compiled(x)
        with disable_jit():
            compiled(x)
            with disable_jit(disable=False):
                compiled(x)
            compiled(x)
        compiled(x)
        return found

    trial.repeatable = False
    trial.equal(trial.call_inside(body), [*pattern, *reversed(pattern)])
    trial.equal(traces, [True, False, False])
    trial.check(not jax.config.jax_disable_jit, "jit is disabled afterwards")


def stopped_leaves(trial: Trial) -> None:
    """stop_gradient: of 70 leaves of several shapes and types none lets a tangent through, also within vmap and a
    second derivative: the program that computes the tangents takes none of the given ones."""
    shapes = [((), "float32"), ((1,), "float32"), ((2, 3), "float16"), ((1, 1), "bfloat16"), ((0,), "float32")]
    shapes += [((), "complex64"), ((3,), "complex64"), ((300,), "float32"), ((), "float16"), ((), "bfloat16")]
    tree = [{"a": jax.ShapeDtypeStruct(shape, trial.dtype(dtype)), "b": None} for shape, dtype in shapes * 7]

    def body(stop_gradient: Callable[..., Any]) -> Any:
        def derived(values: Any, tangents: Any) -> Any:
            return jax.jvp(lambda values: stop_gradient(values), (values,), (tangents,))[1]

        return jax.make_jaxpr(derived)(tree, tree).jaxpr

    jaxpr = trial.call_inside(body)
    given = {id(variable) for variable in jaxpr.invars[len(tree) :]}
    used = [variable for equation in jaxpr.eqns for variable in equation.invars] + list(jaxpr.outvars)
    trial.equal(len(jaxpr.outvars), len(tree))
    trial.equal([number for number, variable in enumerate(used) if id(variable) in given], [])
    for wrong in (b"a", object(), np.array(["a"])):
        trial.raises(["TypeError"], "valid jax", {"a": [1.0, wrong]})


def jaxpr_arguments(trial: Trial) -> None:
    """make_jaxpr: containers reach the function as they are, with None and empty ones, by name too; the shapes that are
    returned are in the containers of the output. An axis can have any size. Numbers that fit no type are refused."""
    x = jax.ShapeDtypeStruct((2,), np.dtype("float16"))
    seen: list[Any] = []
    trial.repeatable = False

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append([*map(type, args), *(type(kwargs[name]) for name in sorted(kwargs))])
        return [args[0], None, (), {"b": (args[1][0],), "a": []}, True, 2.5]

    for flag in (True, 1, False, 0):
        made = trial.call_inside(
            lambda make_jaxpr, flag=flag: make_jaxpr(noted, return_shape=flag)(
                x, (x, None), [], {"k": x}, None, named=(x,), empty={}
            )
        )
        jaxpr, shape = made if flag else (made, None)
        trial.equal([str(aval.dtype) for aval in jaxpr.in_avals], ["float16"] * 4)
        trial.equal([str(aval.dtype) for aval in jaxpr.out_avals], ["float16"] * 2 + ["bool", "float32"])
        if flag:
            shape, structure = jax.tree_util.tree_flatten(shape)
            expected = [x, None, (), {"b": (x,), "a": []}, x, x]
            trial.equal(structure == jax.tree_util.tree_structure(expected), True)
            trial.equal([str(leaf.dtype) for leaf in shape], ["float16"] * 2 + ["bool", "float32"])
    # Newer versions trace the same function once.
    trial.equal([kinds[1:] for kinds in seen], [[tuple, list, dict, type(None), dict, tuple]] * len(seen))
    trial.check(seen, "the function was not called")
    for size, axes in ((1, [("i", 1)]), (300, (("j", 2), ["i", 300])), (70000, [("i", 70000), ("j", 2)])):
        jaxpr = trial.call(lambda x: (lax.all_gather(x, "i"), lax.psum(1, "i")), axis_env=axes)(x)
        trial.equal([aval.shape for aval in jaxpr.out_avals], [(size, 2), ()])
    for number in (2**31, -(2**40)):
        trial.raises_inside(["OverflowError"], "", lambda make_jaxpr, number: make_jaxpr(noted)(number, [1]), number)
    for wrong in (b"a", [1.0, int]):
        trial.raises_inside(["TypeError"], "", lambda make_jaxpr, wrong: make_jaxpr(noted)(wrong, [1]), wrong)


def traced_inputs(trial: Trial) -> None:
    """trace_to_jaxpr_dynamic: the lists of types and of inputs to keep are left as they are, with all, some or none of
    them kept. Without outputs there are none. An output that occurs twice, a number and an input are outputs each."""
    avals = [jax.core.ShapedArray((n,), np.dtype("float32")) for n in (2, 3)]
    seen: list[Any] = []

    for keep in ([True, True], [True, False], [False, True], [False, False]):
        for outputs, count in (
            *((lambda args: [], 0), (lambda args: [*args, *args, 2.5, 3], None), (lambda args: [True], 1)),
        ):
            kept = sum(keep)

            def given(*args: Any, outputs: Callable[..., Any] = outputs) -> Any:
                seen.append([arg.shape for arg in args])
                return outputs(args)

            types, mask = list(avals), list(keep)
            jaxpr, out, constants = trial.call(wrapped(given, kept), types, keep_inputs=mask)[:3]
            trial.equal((len(types), [one is two for one, two in zip(types, avals)], mask), (2, [True, True], keep))
            trial.equal(seen[-1], [(n,) for n, is_kept in zip((2, 3), keep) if is_kept])
            wanted = 2 * kept + 2 if count is None else count
            trial.equal((len(jaxpr.invars), len(jaxpr.outvars), len(out), len(constants)), (2, wanted, wanted, 0))
            if count is None:
                shapes = [*seen[-1], *seen[-1], (), ()]
                trial.equal([aval.shape for aval in out], shapes)
                trial.equal([variable.aval.shape for variable in jaxpr.outvars], shapes)
                trial.equal([str(aval.dtype) for aval in out], ["float32"] * (2 * kept + 1) + ["int32"])

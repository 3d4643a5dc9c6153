"""Outputs that keep their shapes and types, and arguments in other containers: jax.vjp, make_jaxpr, lax.all_gather."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def pullback_shapes(trial: Trial) -> None:
    """Outputs and gradients keep all axes, also those of length one and zero, and their dtypes; the gradients come in a
    tuple, also of one argument. All of them are in one compiled program."""
    shapes = ((), (1,), (1, 1), (2, 1, 3), (0,), (3, 0, 1))
    kinds = [(shape, dtype) for shape in shapes for dtype in ("float32", "float16", "bfloat16", "complex64")]
    moved = [trial.tensor(trial.random(*shape, dtype=dtype), dtype) for shape, dtype in kinds]
    ones = [trial.tensor(np.ones(shape), dtype) for shape, dtype in kinds]

    def body(vjp: Callable[..., Any], moved: Any, ones: Any) -> Any:
        def one(x: Any, cotangent: Any) -> Any:
            output, back, aux = vjp(lambda x: ([x * 2, (-x,)], x), x, has_aux=True)
            return output, back([cotangent, (cotangent,)]), aux

        return jax.jit(lambda moved, ones: list(map(one, moved, ones)))(moved, ones)

    trial.has_random_inputs = False  # other values would compile the same program again
    for (shape, dtype), x, (output, gradients, aux) in zip(kinds, moved, trial.call_inside(body, moved, ones)):
        host = trial.numpy(x)
        trial.equal((type(output), type(output[1]), type(gradients), len(gradients)), (list, tuple, tuple, 1))
        trial.exact(output[0], host * 2, dtype)
        trial.exact(output[1][0], -host, dtype)
        trial.exact(aux, host, dtype)
        trial.exact(gradients[0], np.ones(shape), dtype)


def jaxpr_keeps_its_function(trial: Trial) -> None:
    """What jax.make_jaxpr returns names itself and the function that it traces, with its text. Static arguments may be
    given as a list, a tuple, or numbers of NumPy; they are no inputs."""

    def chosen(x: Any, turns: Any, name: Any) -> Any:
        """Text of the function."""
        return {"a": lax.sin, "b": lax.cos}[name](x) * turns

    x = trial.tensor(trial.random(3))

    def body(make_jaxpr: Callable[..., Any], x: Any, places: Any) -> Any:
        made = make_jaxpr(chosen, static_argnums=places)
        return made, made(x, 2, "b")

    for places in ([1, 2], (2, 1), (np.int64(1), 2), [np.int8(2), np.int8(1)], range(1, 3)):
        made, jaxpr = trial.call_inside(body, x, places)
        trial.equal((made.__wrapped__ is chosen, made.__doc__), (True, chosen.__doc__))
        trial.check(made.__name__.startswith("make_jaxpr("), f"its name is {made.__name__}")
        trial.equal([aval.shape for aval in jaxpr.in_avals], [(3,)])
        trial.equal([equation.primitive.name for equation in jaxpr.eqns], ["cos", "mul"])
    for places in ([2], np.int64(2), (2,)):
        jaxpr = trial.call_inside(body, x, places)[1]
        trial.equal([bool(aval.weak_type) for aval in jaxpr.in_avals], [False, True])


def gathered_leaves(trial: Trial, axis: int, tiled: bool) -> None:
    """Each array of a nested value is gathered along the axis, with its own dtype and number of axes; a plain number
    is gathered as an array of its type."""
    kinds = ("float32", "int8", "bool", "bfloat16", "complex64")
    moved = {
        kind: trial.tensor(trial.random(*(3, 2, 4, 5)[: 3 + place % 2], dtype=kind), kind)
        for place, kind in enumerate(kinds)
    }

    def body(all_gather: Callable[..., Any], tree: Any) -> Any:
        def each(row: Any) -> Any:
            return all_gather([row, (row["int8"],)], "rows", axis=axis, tiled=tiled)

        return jax.jit(jax.vmap(each, axis_name="rows"))(tree)

    trial.has_random_inputs = False  # other values would compile the same programs again
    output, (again,) = trial.call_inside(body, moved)
    for kind, found in [*output.items(), ("int8", again)]:
        rows = list(trial.numpy(moved[kind]))
        joined = (np.concatenate if tiled else np.stack)(rows, axis=axis)
        trial.exact(found, np.stack([joined] * 3), kind)

    def numbers(all_gather: Callable[..., Any], x: Any) -> Any:
        return jax.jit(jax.vmap(lambda row: all_gather([3, 2.5, True, row], "rows"), axis_name="rows"))(x)

    host = trial.random(4)
    outputs = trial.call_inside(numbers, trial.tensor(host))
    for found, number, kind in zip(outputs, (3, 2.5, True, host), ("int32", "float32", "bool", "float32")):
        trial.exact(found, np.broadcast_to(number, (4, 4)), kind)


def gathered_over_two(trial: Trial) -> None:
    """Over two named axes all rows of both are gathered. The traced program names both, in their order, and the
    groups."""

    def body(all_gather: Callable[..., Any], x: Any, names: Any, options: Any) -> Any:
        traced = jax.make_jaxpr(lambda x: all_gather(x, names, **options), axis_env=[("a", 2), ("b", 3)])
        return traced(x)

    x = trial.tensor(trial.random(4, 5))
    for names, options, shape in (
        (("a", "b"), {}, (6, 4, 5)),
        (("b", "a"), {"axis": 1}, (4, 6, 5)),
        (("a", "b"), {"axis": -1, "tiled": True}, (4, 30)),
        (("b",), {"axis": -1}, (4, 5, 3)),
        ("a", {"axis": 1, "tiled": True}, (4, 10)),
        ("b", {"axis_index_groups": [[0], [2], [1]]}, (1, 4, 5)),
    ):
        jaxpr = trial.call_inside(body, x, names, options)
        trial.equal([(aval.shape, str(aval.dtype)) for aval in jaxpr.out_avals], [(shape, "float32")])
        (equation,) = [equation for equation in jaxpr.eqns if equation.primitive.name == "all_gather"]
        found = equation.params["axis_name"]
        trial.equal(found if isinstance(found, tuple) else (found,), names if isinstance(names, tuple) else (names,))
        groups = equation.params["axis_index_groups"]
        trial.equal(groups and [list(group) for group in groups], options.get("axis_index_groups"))


def known_tracer(trial: Trial) -> None:
    """jax._src.interpreters.partial_eval.PartialVal: in compiled, mapped and differentiated functions a traced value is
    a known one, and is the same object."""
    host = trial.random(3)
    seen: list[Any] = []

    def body(partial: Any, x: Any) -> Any:
        def noted(x: Any) -> Any:
            value = partial((None, x))
            seen.append((value.is_known(), value.get_known() is x, value[0], value[1] is x, value.get_aval().shape))
            return jnp.sum(value.get_known() * 2) if value.is_known() else jnp.sum(x)

        seen.clear()
        return jax.jit(noted)(x), jax.vmap(noted)(x), jax.grad(noted)(x)

    compiled, mapped, slope = trial.call_inside(body, trial.tensor(host))
    trial.equal(seen, [(True, True, None, True, shape) for shape in ((3,), (), (3,))])
    trial.close(compiled, 2 * widened(host).sum(), rtol=1e-6, dtype="float32")
    trial.exact(mapped, host * 2, "float32")
    trial.exact(slope, np.full(3, 2), "float32")


def pullback_types(trial: Trial) -> None:
    """jax.vjp: an argument that the function does not use has a gradient of zeros, a real argument of a complex output
    a real one, and a NaN in a cotangent stays. A plain number is weakly typed in the function and has a weakly typed
    gradient, an array neither. Further outputs of the function come as they are."""
    host = trial.random(3)
    x, cotangent = trial.tensor(host), trial.tensor(np.array([1, np.nan, -2], "float32"))
    seen: list[Any] = []

    def function(x: Any, unused: Any, number: Any) -> Any:
        seen[:] = [bool(each.aval.weak_type) for each in (x, number)]
        return x * number, {"note": 3, "array": host, "x": x}

    def body(vjp: Callable[..., Any], x: Any, unused: Any, cotangent: Any) -> Any:
        output, back, aux = vjp(function, x, unused, 2.5, has_aux=True)
        return output, back(cotangent), aux

    for dtype, shape in (("float32", (2, 1)), ("bfloat16", ()), ("complex64", (0, 3))):
        unused = trial.tensor(np.ones(shape), dtype)
        output, gradients, aux = trial.call_inside(body, x, unused, cotangent)
        trial.close(output, widened(host) * 2.5, dtype="float32")
        trial.equal((seen, type(gradients), type(aux["note"]), aux["array"] is host), ([False, True], tuple, int, True))
        trial.exact(aux["x"], host, "float32")
        trial.close(gradients[0], [2.5, np.nan, -5], dtype="float32")
        trial.exact(gradients[1], np.zeros(shape), dtype)
        trial.equal([bool(each.weak_type) for each in gradients], [False, False, True])

    def real_of_complex(vjp: Callable[..., Any], x: Any, cotangent: Any) -> Any:
        return vjp(lambda x: x * (1 + 2j), x)[1](cotangent)[0]

    weights = trial.random(3, dtype="complex64", seed=2)
    gradient = trial.call_inside(real_of_complex, x, trial.tensor(weights))
    trial.close(gradient, ((1 + 2j) * weights.astype("complex128")).real, rtol=1e-6, atol=1e-6, dtype="float32")


def gathered_in_derivative(trial: Trial) -> None:
    """The forward derivative of gathered rows is the gathered derivatives; an axis may be a number of NumPy, and None
    in a nested value stays."""
    host, tangent = trial.random(3, 2, 4), trial.random(3, 2, 4, seed=1)

    def body(all_gather: Callable[..., Any], x: Any, tangent: Any, axis: Any, tiled: bool) -> Any:
        def each(row: Any) -> Any:
            return all_gather([row, None, {"a": None}], "rows", axis=axis, tiled=tiled)

        return jax.jvp(jax.vmap(each, axis_name="rows"), (x,), (tangent,))

    for kind in (int, np.int64, np.int8):
        for axis in (0, 1, -1):
            for tiled in (False, True):
                moved = trial.tensor(host), trial.tensor(tangent)
                outputs = trial.call_inside(body, *moved, kind(axis), tiled)
                for (found, *nothing), rows in zip(outputs, (host, tangent)):
                    joined = (np.concatenate if tiled else np.stack)(list(rows), axis=axis)
                    trial.exact(found, np.stack([joined] * 3), "float32")
                    trial.equal(nothing, [None, {"a": None}])

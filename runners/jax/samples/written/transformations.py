"""jax: transformations of functions with known derivatives, control flow, compilation, calls of the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.core.testing.written import Call, values

_X, _V = values(3), values(3, seed=1)


def _cube(x: Any) -> Any:
    return x**3


def _cubes(x: Any) -> Any:
    return (x**3).sum()


def table(call: Call) -> None:
    _derivatives(call)
    _rules(call)
    _control(call)
    _compiled(call)
    _of_host(call)
    _checks(call)


def _derivatives(call: Call) -> None:
    def named(name: str, body: Any, expect: Any) -> None:
        call(f"jax.{name}", body, _X, _V, expect=expect)

    named("grad", lambda f, x, v: f(_cubes)(x), lambda x, v: 3 * x**2)
    named("value_and_grad", lambda f, x, v: [*f(_cubes)(x)], lambda x, v: [(x**3).sum(), 3 * x**2])
    for name in ("jacfwd", "jacrev", "jacobian"):
        named(name, lambda f, x, v: f(_cube)(x), lambda x, v: np.diag(3 * x**2))
    named("hessian", lambda f, x, v: f(_cubes)(x), lambda x, v: np.diag(6 * x))
    named("jvp", lambda f, x, v: [*f(_cube, (x,), (v,))], lambda x, v: [x**3, 3 * x**2 * v])
    named("vjp", lambda f, x, v: [*f(_cube, x)[1](v)], lambda x, v: [3 * x**2 * v])
    named("linearize", lambda f, x, v: f(_cube, x)[1](v), lambda x, v: 3 * x**2 * v)
    named("linear_transpose", lambda f, x, v: [*f(lambda y: 3 * y, x)(v)], lambda x, v: [3 * v])
    named("fwd_and_bwd", lambda f, x, v: f(_cube, argnums=0)[0](x)[0], lambda x, v: x**3)
    named("vmap", lambda f, x, v: f(lambda a, b: a * b.sum(), (0, None))(x, v), lambda x, v: x * v.sum())
    for name in ("checkpoint", "remat"):
        named(name, lambda f, x, v: jax.grad(lambda y: f(jnp.sin)(y).sum())(x), lambda x, v: np.cos(x))
    named("closure_convert", lambda f, x, v: (made := f(lambda y: x * y, v))[0](v, *made[1]), lambda x, v: x * v)
    named("ad_checkpoint.checkpoint_name", lambda f, x, v: f(x, "x"), lambda x, v: x)
    named("ad_checkpoint.print_saved_residuals", lambda f, x, v: f(_cube, x) is None, True)


def _rules(call: Call) -> None:
    def forward(f: Any, x: Any) -> Any:
        made = f(_cube)
        made.defjvp(lambda primals, tangents: (primals[0] ** 3, 5 * tangents[0]))
        return jax.grad(lambda y: made(y).sum())(x)

    def backward(f: Any, x: Any) -> Any:
        made = f(_cube)
        made.defvjp(lambda y: (y**3, None), lambda kept, given: (5 * given,))
        return jax.grad(lambda y: made(y).sum())(x)

    five = {"expect": lambda x: np.full(3, 5.0)}
    call("jax.custom_jvp", forward, _X, **five)
    call("jax.custom_vjp", backward, _X, **five)
    call(
        "jax.custom_gradient",
        lambda f, x: jax.grad(lambda y: f(lambda z: (z**3, lambda g: 5 * g))(y).sum())(x),
        _X,
        **five,
    )
    call(
        "jax.custom_batching.sequential_vmap", lambda f, x: jax.vmap(f(lambda y: 2 * y))(x), _X, expect=lambda x: 2 * x
    )
    call("jax.custom_batching.custom_vmap", _mapped, _X, expect=lambda x: 7 * x)
    linear = "jax.custom_derivatives.linear_call"
    call(linear, lambda f, x: f(lambda r, y: r * y, lambda r, y: r * y, 2.0, x), _X, expect=lambda x: 2 * x)
    zero = "jax.custom_derivatives.zero_from_primal"
    call(zero, lambda f, x: list(f(x).shape), _X, expect=[3])


def _mapped(f: Any, x: Any) -> Any:
    made = f(lambda y: 2 * y)
    made.def_vmap(lambda size, batched, y: (7 * y, True))
    return jax.vmap(made)(x)


def _control(call: Call) -> None:
    def lax(name: str, body: Any, expect: Any) -> None:
        call(f"jax.lax.{name}", body, _X, expect=expect)

    lax("cond", lambda f, x: f(x.sum() > 100, jnp.sin, jnp.cos, x), np.cos)
    lax("switch", lambda f, x: f(jnp.int32(1), [jnp.sin, jnp.cos, jnp.tan], x), np.cos)
    lax("fori_loop", lambda f, x: f(0, 4, lambda i, y: y + i, x), lambda x: x + 6)
    lax("while_loop", lambda f, x: f(lambda s: s[0] < 3, lambda s: (s[0] + 1, 2 * s[1]), (0, x))[1], lambda x: 8 * x)
    lax(
        "scan",
        lambda f, x: [*f(lambda c, y: (c + y, c * y), jnp.float32(0), x)],
        lambda x: [x.sum(), (np.cumsum(x) - x) * x],
    )
    lax("map", lambda f, x: f(lambda y: 2 * y, x), lambda x: 2 * x)
    lax("platform_dependent", lambda f, x: f(x, default=lambda y: 2 * y), lambda x: 2 * x)
    lax("optimization_barrier", lambda f, x: f(x), lambda x: x)
    lax("after_all", lambda f, x: f(jax.lax.create_token()) is not None, True)
    lax("create_token", lambda f, x: f(x) is not None, True)
    lax("dce_sink", lambda f, x: f(x) is None, True)


def _compiled(call: Call) -> None:
    twice = {"expect": lambda x: 2 * x}
    call("jax.jit", lambda f, x: f(lambda y: 2 * y)(x), _X, **twice)
    call("jax.pmap", lambda f, x: f(lambda y: 2 * y)(x[None])[0], _X, **twice)
    call("jax.named_call", lambda f, x: f(lambda y: 2 * y, name="double")(x), _X, **twice)
    call("jax.make_jaxpr", lambda f, x: len(f(lambda y: 2 * y)(x).jaxpr.eqns), _X, expect=1)
    call("jax.eval_shape", lambda f, x: list(f(lambda y: y[None], x).shape), _X, expect=[1, 3])
    call("jax.typeof", lambda f, x: list(f(x).shape), _X, expect=[3])
    call("jax.named_scope", lambda f, x: _inside(f("scope"), lambda: 2 * x), _X, **twice)
    for name in ("disable_jit", "ensure_compile_time_eval", "checking_leaks"):
        call(f"jax.{name}", lambda f, x: _inside(f(), lambda: jax.jit(lambda y: 2 * y)(x)), _X, **twice)
    for name in (
        *("check_tracer_leaks", "debug_nans", "debug_infs", "enable_checks", "threefry_partitionable"),
        *("numpy_rank_promotion", "numpy_dtype_promotion", "default_matmul_precision", "enable_x64"),
    ):
        value: Any = {"numpy_rank_promotion": "raise", "numpy_dtype_promotion": "standard"}.get(name, True)
        value = "float32" if name == "default_matmul_precision" else value
        call(f"jax.{name}", lambda f, x, v=value: _inside(f(v), lambda: jax.jit(lambda y: 2 * y)(x)), _X, **twice)
    call(
        "jax.default_device",
        lambda f, x: _inside(f(jax.devices()[0]), lambda: 2 * jnp.ones(3)),
        _X,
        expect=2 * np.ones(3),
    )
    call("jax.clear_caches", lambda f, x: [f() is None, 2 * x], _X, expect=lambda x: [True, 2 * x])


def _inside(context: Any, compute: Any) -> Any:
    with context:
        return compute()


def _of_host(call: Call) -> None:
    shape = jax.ShapeDtypeStruct((3,), "float32")
    call("jax.pure_callback", lambda f, x: f(lambda y: np.asarray(2 * y), shape, x), _X, expect=lambda x: 2 * x)
    call("jax.debug.callback", _noted, _X, expect=lambda x: x.sum())
    call("jax.debug.print", lambda f, x: f("{}", x) is None, _X, expect=True)
    call("jax.effects_barrier", lambda f: f() is None, expect=True)
    for name in ("device_put", "device_get", "block_until_ready"):
        call(f"jax.{name}", lambda f, x: f(x), _X, expect=lambda x: x)
    call("jax.copy_to_host_async", lambda f, x: f(x) is not None or True, _X, expect=True)
    call("jax.ShapeDtypeStruct", lambda f: list(f((2, 3), "float32").shape), expect=[2, 3])
    for name in ("device_count", "local_device_count"):
        call(f"jax.{name}", lambda f: f() >= 1, expect=True)
    for name in ("devices", "local_devices", "host_ids", "process_indices"):
        call(f"jax.{name}", lambda f: len(list(f())) >= 1, expect=True)
    for name, value in (("process_count", 1), ("process_index", 0), ("host_count", 1), ("host_id", 0)):
        call(f"jax.{name}", lambda f: f(), expect=value)
    call("jax.default_backend", lambda f: f() == jax.devices()[0].platform, expect=True)
    call("jax.live_arrays", lambda f, x: any(each is x for each in f()), _X, expect=True)
    _references(call)


def _noted(f: Any, x: Any) -> Any:
    noted: list[Any] = []
    f(lambda y: noted.append(np.asarray(y).sum()), x)
    jax.effects_barrier()
    return jnp.asarray(noted[0])


def _references(call: Call) -> None:
    r = "jax.ref."
    call("jax.new_ref", lambda f, x: f(x)[...], _X, expect=lambda x: x)
    call("jax.freeze", lambda f, x: f(jax.new_ref(x)), _X, expect=lambda x: x)
    call("jax.free_ref", lambda f, x: f(jax.new_ref(x)) is None or True, _X, expect=True)
    call(f"{r}get", lambda f, x: f(jax.new_ref(x), slice(0, 2)), _X, expect=lambda x: x[:2])
    for name, value in (("set", 9.0), ("addupdate", 9.0)):

        def body(f: Any, x: Any, v: Any = value) -> Any:
            kept = jax.new_ref(x)
            f(kept, 1, v)
            return kept[...]

        added = 0.0 if name == "set" else 1.0
        call(f"{r}{name}", body, _X, expect=lambda x, a=added: np.array([x[0], a * x[1] + 9, x[2]]))
    call(f"{r}swap", lambda f, x: f(jax.new_ref(x), 1, 9.0), _X, expect=lambda x: x[1])


def _checks(call: Call) -> None:
    t = "jax.test_util."
    call(f"{t}check_grads", lambda f, x: f(jnp.sin, (x,), order=2) is None, _X, expect=True)
    call(f"{t}check_jvp", lambda f, x: f(jnp.sin, lambda p, q: jax.jvp(jnp.sin, p, q), (x,)) is None, _X, expect=True)
    call(f"{t}check_vjp", lambda f, x: f(jnp.sin, lambda *a: jax.vjp(jnp.sin, *a), (x,)) is None, _X, expect=True)

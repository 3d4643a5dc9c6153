"""Differentiation in reverse and forward mode, transformations of functions, checkpoints, with known derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import of, t

_X = t(3, seed=4)
_V = t(3, seed=5)


def table(call: Call) -> None:
    _reverse(call)
    _forward(call)
    _of_functions(call)
    _functional(call)
    _checkpoints(call)


def _cubes(x: torch.Tensor) -> torch.Tensor:
    return (x**3).sum()


def _cube(x: torch.Tensor) -> torch.Tensor:
    return x**3


def _leaf(x: torch.Tensor) -> torch.Tensor:
    return x.detach().clone().requires_grad_()


def _reverse(call: Call) -> None:
    def backward(f: Any, x: torch.Tensor) -> Any:
        leaf = _leaf(x)
        f(_cubes(leaf))
        return leaf.grad

    call("torch.autograd.backward", backward, _X, expect=lambda x: 3 * x**2)
    call("torch.autograd.grad", lambda f, x: f(_cubes(leaf := _leaf(x)), leaf), _X, expect=lambda x: [3 * x**2])
    for name in ("gradcheck", "gradgradcheck"):
        call(f"torch.autograd.{name}", lambda f, x: f(_cube, (_leaf(x.double()),)), _X, expect=True)
    once = "torch.autograd.function.once_differentiable"
    call(once, lambda f, x: f(lambda context, y: 2 * y)(None, x), _X, expect=lambda x: 2 * x)
    call("torch.autograd.function.FunctionCtx", lambda f: f().set_materialize_grads(False) is None, expect=True)


def _forward(call: Call) -> None:
    module = torch.autograd.forward_ad
    both = {"expect": lambda x, v: [x**3, 3 * x**2 * v]}

    def dual(f: Any, x: torch.Tensor, v: torch.Tensor) -> Any:
        with module.dual_level():
            return [*module.unpack_dual(f(x, v) ** 3)]

    def level(f: Any, x: torch.Tensor, v: torch.Tensor) -> Any:
        with f():
            return [*module.unpack_dual(module.make_dual(x, v) ** 3)]

    def unpacked(f: Any, x: torch.Tensor, v: torch.Tensor) -> Any:
        with module.dual_level():
            return [*f(module.make_dual(x, v) ** 3)]

    def entered(f: Any, x: torch.Tensor, v: torch.Tensor) -> Any:
        f()
        try:
            return [*module.unpack_dual(module.make_dual(x, v) ** 3)]
        finally:
            module.exit_dual_level()

    def left(f: Any, x: torch.Tensor, v: torch.Tensor) -> Any:
        module.enter_dual_level()
        try:
            return [*module.unpack_dual(module.make_dual(x, v) ** 3)]
        finally:
            f()

    for name, body in (
        *(("make_dual", dual), ("dual_level", level), ("unpack_dual", unpacked)),
        *(("enter_dual_level", entered), ("exit_dual_level", left)),
    ):
        call(f"torch.autograd.forward_ad.{name}", body, _X, _V, **both)
    call("torch.autograd.forward_ad.UnpackedDualTensor", lambda f, x, v: [*f(x, v)], _X, _V, expect=lambda x, v: [x, v])


def _of_functions(call: Call) -> None:
    def named(name: str, *args: Any, **kwargs: Any) -> None:
        call(f"torch.func.{name}", *args, **kwargs)

    named("grad", lambda f, x: f(_cubes)(x), _X, expect=lambda x: 3 * x**2)
    named("grad_and_value", lambda f, x: [*f(_cubes)(x)], _X, expect=lambda x: [3 * x**2, (x**3).sum()])
    for name in ("jacfwd", "jacrev"):
        named(name, lambda f, x: f(_cube)(x), _X, expect=lambda x: np.diag(3 * x**2))
    named("hessian", lambda f, x: f(_cubes)(x), _X, expect=lambda x: np.diag(6 * x))
    named("jvp", lambda f, x, v: [*f(_cube, (x,), (v,))], _X, _V, expect=lambda x, v: [x**3, 3 * x**2 * v])
    named("vjp", lambda f, x, v: [*f(_cube, x)[1](v)], _X, _V, expect=lambda x, v: [3 * x**2 * v])
    named("linearize", lambda f, x, v: f(_cube, x)[1](v), _X, _V, expect=lambda x, v: 3 * x**2 * v)
    named("functionalize", lambda f, x: f(lambda y: y.clone().add_(1).mul_(2))(x), _X, expect=lambda x: 2 * (x + 1))
    call("torch.vmap", lambda f, x: f(lambda row: row.sum())(x), t(4, 3), expect=lambda x: x.sum(1))
    call("torch.vmap", lambda f, x: f(torch.dot, in_dims=(0, None))(x, x[0]), t(4, 3), expect=lambda x: x @ x[0])
    for name in ("torch.func.functional_call", "torch.nn.utils.stateless.functional_call"):
        call(name, _with_weights, t(2, 3), t(4, 3), t(4), expect=lambda x, w, b: x @ w.T + b)
    named("stack_module_state", _stacked, t(2, 3), expect=[3, 2, 3])
    named("replace_all_batch_norm_modules_", _without_statistics, t(2, 3), expect=True)
    call(
        "torch.cond", lambda f, x: f(x.sum() > 100, lambda y: y + 1, lambda y: y - 1, (x,)), _X, expect=lambda x: x - 1
    )


def _with_weights(f: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return f(torch.nn.Linear(3, 4), {"weight": weight, "bias": bias}, (x,))  # type: ignore[no-any-return]


def _stacked(f: Any, x: torch.Tensor) -> Any:
    parameters, _ = f([torch.nn.Linear(3, 2) for _ in range(3)])
    return list(parameters["weight"].shape)


def _without_statistics(f: Any, x: torch.Tensor) -> bool:
    return f(torch.nn.Sequential(torch.nn.BatchNorm1d(3)))[0].running_mean is None


def _functional(call: Call) -> None:
    def named(name: str, body: Any, expect: Any) -> None:
        call(f"torch.autograd.functional.{name}", body, _X, _V, expect=expect)

    named("jacobian", lambda f, x, v: f(_cube, x), lambda x, v: np.diag(3 * x**2))
    named("hessian", lambda f, x, v: f(_cubes, x), lambda x, v: np.diag(6 * x))
    for name in ("jvp", "vjp"):
        named(name, lambda f, x, v: [*f(_cube, x, v)], lambda x, v: [x**3, 3 * x**2 * v])
    for name in ("hvp", "vhp"):
        named(name, lambda f, x, v: [*f(_cubes, x, v)], lambda x, v: [(x**3).sum(), 6 * x * v])


def _checkpoints(call: Call) -> None:
    module = "torch.utils.checkpoint."

    def gradient(f: Any, x: torch.Tensor) -> Any:
        leaf = _leaf(x)
        f(_cube, leaf, use_reentrant=False).sum().backward()
        return leaf.grad

    def of_sequence(f: Any, x: torch.Tensor) -> Any:
        leaf = _leaf(x)
        f([_cube, torch.sin], 2, leaf, use_reentrant=False).sum().backward()
        return leaf.grad

    call(f"{module}checkpoint", gradient, _X, expect=lambda x: 3 * x**2)
    call(f"{module}checkpoint_sequential", of_sequence, _X, expect=lambda x: np.cos(x**3) * 3 * x**2)
    call(f"{module}detach_variable", lambda f, x: f((_leaf(x) * 2,))[0].grad_fn is None, _X, expect=True)
    call(f"{module}check_backward_validity", lambda f, x: f([_leaf(x)]) is None, _X, expect=True)
    call(f"{module}noop_context_fn", lambda f: len(f()), expect=2)
    call(f"{module}get_device_states", lambda f, x: len(f(x.cpu())[0]), _X, expect=0)
    for name in ("set_checkpoint_debug_enabled", "set_checkpoint_early_stop"):
        call(f"{module}{name}", lambda f: _entered(f(True)), expect=True)
    call(f"{module}create_selective_checkpoint_contexts", lambda f: len(f([torch.ops.aten.mm.default])), expect=2)
    call(f"{module}SelectiveCheckpointContext", lambda f: f(is_recompute=True).is_recompute, expect=True)
    call("torch.autograd.NestedIOFunction", lambda f: f() is not None, expect=True)
    call("torch.norm_except_dim", None, t(4, 3), 2, 0, expect=lambda x, *a: np.linalg.norm(x, axis=1)[:, None])
    index = of(0, 2, kind=torch.int64)
    call("torch.index_put_", lambda f, x, i: f(x.clone(), (i,), x.new_zeros(2)), _X, index, expect=_zeroed)


def _zeroed(x: Any, places: Any) -> Any:
    found = x.copy()
    found[places] = 0
    return found


def _entered(context: Any) -> bool:
    with context:
        return True

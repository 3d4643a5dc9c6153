"""Settings of the process: each call restores what it has changed."""

from __future__ import annotations

from typing import Any, List

import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import CPU, t


def table(call: Call) -> None:
    _modes(call)
    _flags(call)
    _autocast(call)
    _seeds(call)
    _host(call)


def _modes(call: Call) -> None:
    def grows(f: Any, x: Any) -> bool:
        with f():
            return (x.detach().clone().requires_grad_() * 2).requires_grad

    for name, expected in (("no_grad", False), ("enable_grad", True), ("inference_mode", False)):
        call(f"torch.{name}", grows, t(2), expect=expected)
        call(f"torch.{name}", lambda f, x: f()(lambda: torch.is_grad_enabled())(), t(2), expect=expected)
    call("torch.autograd.set_grad_enabled", _restored_grad, t(2), expect=[False, True])
    call("torch.is_grad_enabled", lambda f: [f(), _without_grad(f)], expect=[True, False])
    call("torch.is_inference_mode_enabled", lambda f: [f(), torch.inference_mode()(f)()], expect=[False, True])
    call("torch.autograd.detect_anomaly", _during(torch.is_anomaly_enabled), expect=[True, False])
    call("torch.autograd.set_detect_anomaly", _during(torch.is_anomaly_enabled, True), expect=[True, False])
    call("torch.is_anomaly_enabled", lambda f: [f(), _with_anomaly(f)], expect=[False, True])
    call("torch.is_anomaly_check_nan_enabled", lambda f: f(), expect=True)
    call("torch.set_anomaly_enabled", _set_and_asked(torch.is_anomaly_enabled), expect=[True, False])
    call("torch.autograd.set_multithreading_enabled", lambda f: _entered(f(False)), expect=True)


def _flags(call: Call) -> None:
    deterministic = torch.are_deterministic_algorithms_enabled
    call("torch.use_deterministic_algorithms", _set_and_asked(deterministic), expect=[True, False])
    call("torch.are_deterministic_algorithms_enabled", lambda f: f(), expect=False)
    call("torch.is_deterministic_algorithms_warn_only_enabled", lambda f: f(), expect=False)
    call("torch.get_deterministic_debug_mode", lambda f: f(), expect=0)
    mode = torch.get_deterministic_debug_mode
    call("torch.set_deterministic_debug_mode", _set_and_asked(mode, "warn", "default"), expect=[1, 0])
    call("torch.set_warn_always", _set_and_asked(torch.is_warn_always_enabled), expect=[True, False])
    call("torch.is_warn_always_enabled", lambda f: f(), expect=False)
    call("torch.get_float32_matmul_precision", lambda f: f() == "highest", expect=True)
    call("torch.set_float32_matmul_precision", _precision, expect=[True, True])
    call("torch.get_default_dtype", lambda f: f() == torch.float32, expect=True)
    call("torch.get_default_device", lambda f: f().type == "cpu", expect=True)
    call("torch.set_default_device", _default_device, expect=[True, True])
    call("torch.set_default_tensor_type", _default_type, expect=[True, True])
    call("torch.set_flush_denormal", lambda f: [f(True) in (True, False), f(False) in (True, False)], expect=[True] * 2)
    call("torch.set_printoptions", _printed, t(1), expect=True)


def _autocast(call: Call) -> None:
    def lower(f: Any, x: Any) -> Any:
        with f(x.device.type, dtype=torch.bfloat16):
            return (x @ x).dtype == torch.bfloat16

    call("torch.autocast", lower, t(3, 3), expect=True)
    call("torch.is_autocast_enabled", lambda f: [f(CPU), torch.autocast(CPU)(f)(CPU)], expect=[False, True])
    call("torch.is_autocast_cpu_enabled", lambda f: [f(), torch.autocast(CPU)(f)()], expect=[False, True])
    call("torch.is_autocast_cache_enabled", lambda f: f(), expect=True)
    call(
        "torch.set_autocast_cache_enabled",
        lambda f: [f(False), torch.is_autocast_cache_enabled(), f(True)][1],
        expect=False,
    )
    call("torch.get_autocast_dtype", lambda f: f(CPU) == torch.bfloat16, expect=True)
    call("torch.get_autocast_cpu_dtype", lambda f: f() == torch.bfloat16, expect=True)
    call("torch.set_autocast_dtype", lambda f: _lower_on_cpu(lambda kind: f(CPU, kind)), expect=[True, True])
    call("torch.set_autocast_cpu_dtype", lambda f: _lower_on_cpu(f), expect=[True, True])
    enabled = torch.is_autocast_cpu_enabled
    call("torch.set_autocast_cpu_enabled", _set_and_asked(enabled), expect=[True, False])
    call(
        "torch.set_autocast_enabled",
        lambda f: [(f(CPU, each), enabled())[1] for each in (True, False)],
        expect=[True, False],
    )
    call("torch.autocast_increment_nesting", lambda f: [f(), torch.autocast_decrement_nesting()], expect=[1, 0])
    call("torch.autocast_decrement_nesting", lambda f: [torch.autocast_increment_nesting(), f()], expect=[1, 0])
    call("torch.cpu.amp.autocast", lambda f, x: _entered(f(enabled=False)), t(1), expect=True)
    call("torch.cpu.amp.GradScaler", lambda f, x: f(enabled=False).scale(x), t(2), expect=lambda x: x)
    call("torch.clear_autocast_cache", lambda f: f() is None, expect=True)
    call("torch.amp.is_autocast_available", lambda f: f(CPU), expect=True)
    for name in ("custom_fwd", "custom_bwd"):
        call(f"torch.amp.{name}", _decorated, t(2), expect=lambda x: 2 * x)
    call(
        "torch.GradScaler",
        lambda f, x: f(x.device.type, init_scale=8.0, enabled=False).scale(x),
        t(2),
        expect=lambda x: x,
    )


def _seeds(call: Call) -> None:
    def repeats(f: Any, d: Any) -> bool:
        state = f(7) and torch.rand(5)
        f(7)
        return torch.equal(state, torch.rand(5))

    call("torch.manual_seed", repeats, CPU, expect=True)
    call("torch.initial_seed", lambda f: (torch.manual_seed(11), f())[1], expect=11)
    call("torch.seed", lambda f: f() == torch.initial_seed(), expect=True)
    call(
        "torch.get_rng_state",
        lambda f: [_drawn_again(f(), torch.set_rng_state), f().numel() > 100],
        expect=[True, True],
    )
    call("torch.set_rng_state", lambda f: _drawn_again(torch.get_rng_state(), f), expect=True)
    call("torch.random.fork_rng", _forked, expect=True)


def _host(call: Call) -> None:
    call("torch.get_num_threads", lambda f: f() > 0, expect=True)
    call("torch.get_num_interop_threads", lambda f: f() > 0, expect=True)
    call("torch.set_num_threads", lambda f: [f(torch.get_num_threads()), torch.get_num_threads() > 0][1], expect=True)
    call("torch.cpu.is_available", lambda f: f(), expect=True)
    call("torch.cpu.is_initialized", lambda f: f(), expect=True)
    call("torch.cpu.device_count", lambda f: f(), expect=1)
    call("torch.cpu.current_device", lambda f: f() == "cpu", expect=True)
    for name in ("current_stream", "Stream"):
        call(f"torch.cpu.{name}", lambda f: type(f()).__name__ == "Stream", expect=True)
    call("torch.cpu.Event", lambda f: [f().query(), f().record() is None], expect=[True, True])
    call("torch.cpu.set_device", lambda f: f("cpu") is None, expect=True)
    call("torch.cpu.synchronize", lambda f: f() is None, expect=True)
    for name in ("stream", "StreamContext"):
        call(f"torch.cpu.{name}", lambda f: _entered(f(torch.cpu.current_stream())), expect=True)
    call("torch.jit.isinstance", lambda f: [f([1, 2], List[int]), f(["a"], List[int])], expect=[True, False])


class _Context:
    _fwd_used_autocast, _dtype = False, None


def _decorated(f: Any, x: torch.Tensor) -> torch.Tensor:
    return f(lambda context, y: 2 * y, device_type="cpu")(_Context(), x)  # type: ignore[no-any-return]


def _entered(context: Any) -> bool:
    with context:
        return True


def _during(ask: Any, *args: Any) -> Any:
    def body(f: Any) -> Any:
        with f(*args):
            inside = ask()
        return [inside, ask()]

    return body


def _set_and_asked(ask: Any, on: Any = True, off: Any = False) -> Any:
    def body(f: Any) -> Any:
        f(on)
        inside = ask()
        f(off)
        return [inside, ask()]

    return body


def _without_grad(f: Any) -> Any:
    with torch.no_grad():
        return f()


def _with_anomaly(f: Any) -> Any:
    with torch.autograd.set_detect_anomaly(True):
        return f()


def _restored_grad(f: Any, x: Any) -> Any:
    with f(False):
        inside = torch.is_grad_enabled()
    return [inside, torch.is_grad_enabled()]


def _precision(f: Any) -> Any:
    before = torch.get_float32_matmul_precision()
    f("high")
    changed = torch.get_float32_matmul_precision() == "high"
    f(before)
    return [changed, torch.get_float32_matmul_precision() == before]


def _default_device(f: Any) -> Any:
    f("meta")
    try:
        changed = torch.ones(2).is_meta
    finally:
        f(None)
    return [changed, not torch.ones(2).is_meta]


def _default_type(f: Any) -> Any:
    f(torch.DoubleTensor)
    try:
        changed = torch.tensor(1.5).dtype == torch.float64
    finally:
        f(torch.FloatTensor)
    return [changed, torch.tensor(1.5).dtype == torch.float32]


def _printed(f: Any, x: torch.Tensor) -> bool:
    f(precision=2)
    try:
        return "0.12" in str(torch.tensor([0.123456])) and "0.123" not in str(torch.tensor([0.123456]))
    finally:
        f(profile="default")


def _lower_on_cpu(change: Any) -> Any:
    change(torch.float16)
    changed = torch.get_autocast_dtype("cpu") == torch.float16
    change(torch.bfloat16)
    return [changed, torch.get_autocast_dtype("cpu") == torch.bfloat16]


def _drawn_again(state: Any, restore: Any) -> bool:
    first = torch.rand(5)
    restore(state)
    return torch.equal(first, torch.rand(5))


def _forked(f: Any) -> bool:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with f(devices=[]):
        torch.rand(100)
    return torch.equal(expected, torch.rand(3))

"""Tensors that are made, converted and asked about."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import CPU, of, t


def table(call: Call) -> None:
    _made(call)
    _of_type(call)
    _random(call)
    _asked(call)
    _dtypes(call)


def _made(call: Call) -> None:
    nested = [[1.5, 2.0], [3.0, -4.0]]
    for name in ("as_tensor", "asarray"):
        call(f"torch.{name}", lambda f, device: f(nested, device=device), CPU, expect=np.array(nested))
        call(f"torch.{name}", lambda f, x: f(x) is x, t(3), expect=True)
    call("torch.from_numpy", lambda f: f(np.arange(6.0).reshape(2, 3)), expect=np.arange(6.0).reshape(2, 3))
    call("torch.frombuffer", lambda f: f(bytearray(b"\x01\x02\x03"), dtype=torch.uint8), expect=np.array([1, 2, 3]))
    call("torch.utils.dlpack.from_dlpack", lambda f, x: f(x * 2), t(2, 3), expect=lambda x: 2 * x)
    call("torch.Tensor", lambda f: f([1.0, 2.5]), expect=np.array([1.0, 2.5]))
    call("torch.Size", lambda f, x: [f(x.shape).numel(), f([2, 3]) == x.shape], t(2, 3), expect=[6, True])
    call("torch.device", lambda f: [f("cpu").type == "cpu", f("cpu", 0).index], expect=[True, 0])
    call("torch.Generator", lambda f: f().manual_seed(5).initial_seed(), expect=5)
    call("torch.empty_strided", lambda f, d: list(f((2, 3), (1, 2), device=d).stride()), CPU, expect=[1, 2])
    window = {"periodic": False}
    for name, counterpart in (("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman)):
        call(f"torch.{name}_window", lambda f, d: f(8, **window, device=d), CPU, expect=counterpart(8))
    call("torch.bartlett_window", lambda f, d: f(8, **window, device=d), CPU, expect=np.bartlett(8))
    call("torch.kaiser_window", lambda f, d: f(8, **window, beta=6.0, device=d), CPU, expect=np.kaiser(8, 6.0))
    for name in ("fftfreq", "rfftfreq"):
        counterpart = getattr(np.fft, name)
        call(f"torch.fft.{name}", lambda f, d: f(7, d=0.5, device=d), CPU, expect=counterpart(7, 0.5))
    call("torch.vander", lambda f, x: f(x, N=3), t(4), expect=lambda x: np.vander(x, 3))
    call("torch.fill_", lambda f, x: f(x.clone(), 2.0), t(2, 3), expect=lambda x: np.full((2, 3), 2.0))
    call("torch.zero_", lambda f, x: f(x.clone()), t(2, 3), expect=lambda x: np.zeros((2, 3)))
    call("torch.resize_as_", lambda f, x, y: list(f(x.clone(), y).shape), t(6), t(2, 3), expect=[2, 3])
    for name in ("detach", "detach_"):
        call(f"torch.{name}", lambda f, x: f(x * 2).requires_grad, t(2, 3), expect=False)
    call("torch.detach_copy", None, t(2, 3), expect=lambda x: x)
    call("torch.select_copy", None, t(2, 3), 1, 2, expect=lambda x, d, i: x[:, 2])
    call("torch.slice_copy", None, t(4, 3), 0, 1, 3, expect=lambda x, *a: x[1:3])
    call("torch.slice_inverse", lambda f, x, y: f(y[1:3], y, 0, 1, 3, 1).shape[0], t(2, 3), t(4, 3), expect=4)
    call("torch.split_copy", lambda f, x: list(f(x, 2)), t(4, 3), expect=lambda x: [x[:2], x[2:]])
    call("torch.unsafe_split_with_sizes", lambda f, x: list(f(x, [1, 3])), t(4), expect=lambda x: [x[:1], x[1:]])
    call("torch.view_as_real_copy", lambda f, x: f(torch.complex(x, 2 * x)), t(3), expect=lambda x: np.c_[x, 2 * x])
    call("torch.view_as_complex_copy", None, t(3, 2), expect=lambda x: x[:, 0] + 1j * x[:, 1])
    call("torch.is_same_size", None, t(2, 3), t(2, 3), expect=True)
    call("torch.utils.swap_tensors", _swapped, t(2), t(3), expect=lambda x, y: [y, x])


def _of_type(call: Call) -> None:
    for name in ("FloatTensor", "DoubleTensor", "IntTensor", "LongTensor", "ShortTensor", "CharTensor", "ByteTensor"):
        call(f"torch.{name}", lambda f: f([1, 2, 3]), expect=np.array([1, 2, 3]))
    call("torch.BoolTensor", lambda f: f([True, False]), expect=np.array([True, False]))


def _random(call: Call) -> None:
    def seeded(make: Any) -> Any:
        def body(f: Any, *args: Any) -> Any:
            torch.manual_seed(3)
            first = make(f, *args)
            torch.manual_seed(3)
            # The same seed draws the same on any device, other values there than on the host.
            return [list(first.shape), torch.equal(first, make(f, *args))]

        return body

    same = {"expect": [[200, 50], True]}
    for name in ("rand", "randn"):
        call(f"torch.{name}", seeded(lambda f, d: f(200, 50, device=d)), CPU, **same)
    for name in ("rand_like", "randn_like"):
        call(f"torch.{name}", seeded(lambda f, x: f(x)), t(200, 50), **same)
    call("torch.randint", seeded(lambda f, d: f(3, 9, (200, 50), device=d)), CPU, **same)
    call("torch.randint_like", seeded(lambda f, x: f(x, 3, 9)), t(200, 50), **same)
    call("torch.normal", seeded(lambda f, x: f(x, 2.0)), t(200, 50), **same)
    call("torch.bernoulli", seeded(lambda f, x: f(x)), t(200, 50, low=0), **same)
    call("torch.poisson", seeded(lambda f, x: f(x)), t(200, 50, low=0), **same)
    call("torch.binomial", seeded(lambda f, x: f(x.new_full((200, 50), 9.0), x)), t(200, 50, low=0), **same)
    call("torch.rrelu", seeded(lambda f, x: f(x, 0.1, 0.3, True)), t(200, 50), **same)
    mean = {"variant": "moments", "expect": True}
    # 10,000 draws: the bounds are five standard errors or more, so that a false alarm has a probability below 1e-6.
    call("torch.rand", lambda f, d: _is(f(10000, device=d), 0.5, 1 / 12**0.5), CPU, **mean)
    call("torch.randn", lambda f, d: _is(f(10000, device=d), 0.0, 1.0), CPU, **mean)
    call("torch.rand_like", lambda f, x: _is(f(x), 0.5, 1 / 12**0.5), t(10000), **mean)
    call("torch.randn_like", lambda f, x: _is(f(x), 0.0, 1.0), t(10000), **mean)
    call("torch.randint", lambda f, d: _is(f(10, (10000,), device=d).float(), 4.5, 8.25**0.5), CPU, **mean)
    call("torch.bernoulli", lambda f, x: _is(f(x * 0 + 0.3), 0.3, 0.21**0.5), t(10000), **mean)
    call("torch.poisson", lambda f, x: _is(f(x * 0 + 4.0), 4.0, 2.0), t(10000), **mean)
    call("torch.normal", lambda f, x: _is(f(x * 0 + 1.0, 2.0), 1.0, 2.0), t(10000), **mean)
    for name in ("dropout", "feature_dropout"):
        call(f"torch.{name}", lambda f, x: _is(f(x * 0 + 1, 0.5, True), 1.0, 1.0), t(10000, 1), **mean)
    for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
        call(f"torch.{name}", None, t(4, 3), 0.5, False, variant="evaluation", expect=lambda x, *a: x)
        call(f"torch.{name}_", lambda f, x: f(x.clone(), 0.5, False), t(4, 3), variant="evaluation", expect=lambda x: x)
    call("torch.native_dropout", lambda f, x: f(x, 0.5, False)[0], t(4, 3), expect=lambda x: x)


def _asked(call: Call) -> None:
    c = torch.tensor([1 + 2j, 3 - 1j])
    call("torch.is_tensor", lambda f, x: [f(x), f([1])], t(2), expect=[True, False])
    call("torch.is_storage", lambda f, x: [f(x.untyped_storage()), f(x)], t(2), expect=[True, False])
    call("torch.is_complex", lambda f, x, y: [f(x), f(y)], t(2), c, expect=[False, True])
    call("torch.is_floating_point", lambda f, x, y: [f(x), f(y)], t(2), of(1, 2), expect=[True, False])
    call("torch.is_signed", lambda f, x: [f(x), f(x.to(torch.uint8))], t(2), expect=[True, False])
    call("torch.is_conj", _bit("conj", lambda x: x.conj()), c, expect=[False, True, False])
    call("torch.is_neg", _bit("neg", lambda x: x.conj().imag), c, expect=[False, True, False])
    call("torch.is_nonzero", lambda f, x: [f(x[0]), f(x[1])], of(0.0, 2.0), expect=[False, True])
    call("torch.is_inference", lambda f, x: f(x), t(2), expect=False)
    call("torch.numel", lambda f, x: f(x), t(2, 3), expect=6)
    call("torch.get_device", lambda f, x: f(x) == x.get_device(), t(2), expect=True)
    call("torch.typename", lambda f, x: [f(x.long()).endswith("LongTensor"), f(3) == "int"], t(2), expect=[True, True])


def _dtypes(call: Call) -> None:
    half, single, whole = torch.float16, torch.float32, torch.int64
    call("torch.can_cast", lambda f: [f(half, single), f(single, whole)], expect=[True, False])
    call("torch.promote_types", lambda f: [f(half, single) == single, f(whole, half) == half], expect=[True, True])
    call("torch.result_type", lambda f, x: [f(x, 2) == x.dtype, f(x.long(), 2.0) == single], t(2), expect=[True, True])
    call("torch.finfo", lambda f: [f(single).bits, f(single).eps == 2.0**-23, f(half).max], expect=[32, True, 65504.0])
    call("torch.iinfo", lambda f: [f(torch.int8).min, f(torch.int16).max], expect=[-128, 32767])


def _is(drawn: torch.Tensor, mean: float, deviation: float) -> bool:
    """Whether drawn values have this mean and standard deviation within five standard errors, for the deviation ten
    per cent."""
    bound = 5 * deviation / drawn.numel() ** 0.5
    return abs(float(drawn.mean()) - mean) < bound and abs(float(drawn.std()) / deviation - 1) < 0.1


def _bit(name: str, made: Any) -> Any:
    """Whether a plain tensor has the bit of a view, whether what is made of it has it as its method says, since a
    device may compute a view at once, and whether it is there after it was resolved."""

    def body(f: Any, x: torch.Tensor) -> Any:
        view = made(x)
        return [f(x), f(view) == getattr(view, f"is_{name}")(), f(getattr(view, f"resolve_{name}")())]

    return body


def _swapped(f: Any, first: torch.Tensor, second: torch.Tensor) -> Any:
    one, other = first.clone(), second.clone()
    f(one, other)
    return [one, other]

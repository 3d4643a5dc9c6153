"""torch.utils.data: what loaders, samplers and data sets give, and in which order; files; torch.jit."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch

from runners.core.testing.written import Call
from runners.torch.samples.written.inputs import t


def table(call: Call) -> None:
    u = "torch.utils.data."
    x = t(5, 2)
    call(f"{u}DataLoader", lambda f, x: list(f(x, batch_size=2)), x, expect=lambda x: [x[:2], x[2:4], x[4:]])
    call(
        f"{u}DataLoader",
        lambda f, x: sorted(int(each) for each in f(range(6), shuffle=True)),
        x,
        expect=lambda x: list(range(6)),
    )
    call(f"{u}TensorDataset", lambda f, x: [*f(x, 2 * x)[1]], x, expect=lambda x: [x[1], 2 * x[1]])
    call(f"{u}StackDataset", lambda f, x: [*f(x, 2 * x)[1]], x, expect=lambda x: [x[1], 2 * x[1]])
    call(f"{u}ConcatDataset", lambda f, x: f([x, 2 * x])[6], x, expect=lambda x: 2 * x[1])
    call(f"{u}ChainDataset", lambda f: list(f([_Counted(), _Counted()])), expect=[0, 1, 0, 1])
    call(f"{u}Subset", lambda f, x: f(x, [3, 1])[0], x, expect=lambda x: x[3])
    call(
        f"{u}random_split",
        lambda f, x: sorted(i for part in f(x, [2, 3]) for i in part.indices),
        x,
        expect=lambda x: list(range(5)),
    )
    call(f"{u}SequentialSampler", lambda f: list(f(range(4))), expect=[0, 1, 2, 3])
    call(f"{u}RandomSampler", lambda f: sorted(f(range(4))), expect=[0, 1, 2, 3])
    call(f"{u}SubsetRandomSampler", lambda f: sorted(f([5, 3, 9])), expect=[3, 5, 9])
    call(f"{u}WeightedRandomSampler", lambda f: list(f([0.0, 1.0, 0.0], 3)), expect=[1, 1, 1])
    call(f"{u}BatchSampler", lambda f: list(f(range(5), 2, False)), expect=[[0, 1], [2, 3], [4]])
    call(f"{u}DistributedSampler", lambda f: list(f(range(6), 2, 1, shuffle=False)), expect=[1, 3, 5])
    call(f"{u}Sampler", lambda f: f() is not None, expect=True)
    call(f"{u}get_worker_info", lambda f: f() is None, expect=True)
    call(f"{u}default_collate", lambda f, x: f([x[0], x[1]]), x, expect=lambda x: x[:2])
    call(f"{u}default_collate", lambda f: f([1, 2]), expect=np.array([1, 2]))
    call(f"{u}default_convert", lambda f: f(np.array([1.0, 2.0])), expect=np.array([1.0, 2.0]))
    call("torch.save", _saved, x, expect=lambda x: x)
    _compiled(call)


class _Counted(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(range(2))


def _saved(f: Any, x: torch.Tensor) -> Any:
    file = io.BytesIO()
    f(x, file)
    file.seek(0)
    return torch.load(file)


def _twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def _compiled(call: Call) -> None:
    """torch.jit: programs that are traced give what the function gives."""
    double = {"expect": lambda x: 2 * x}
    x = t(3)
    jit = torch.jit
    call("torch.jit.trace", lambda f, x: f(_twice, (x,))(x), x, **double)
    call(
        "torch.jit.trace_module",
        lambda f, x: f(torch.nn.ReLU(), {"forward": x})(x),
        x,
        expect=lambda x: np.maximum(x, 0),
    )
    call("torch.jit.script", lambda f, x: f(torch.nn.ReLU())(x), x, expect=lambda x: np.maximum(x, 0))
    call("torch.jit.script_if_tracing", lambda f, x: f(_twice)(x), x, **double)
    for name in ("freeze", "optimize_for_inference"):
        call(
            f"torch.jit.{name}",
            lambda f, x: f(jit.script(torch.nn.ReLU().eval()))(x),
            x,
            expect=lambda x: np.maximum(x, 0),
        )
    for name in ("export", "ignore", "unused"):
        call(f"torch.jit.{name}", lambda f, x: f(_twice)(x), x, **double)
    call("torch.jit.fork", lambda f, x: jit.wait(f(_twice, x)), x, **double)
    call("torch.jit.wait", lambda f, x: f(jit.fork(_twice, x)), x, **double)
    call("torch.jit.annotate", lambda f, x: f(torch.Tensor, x), x, expect=lambda x: x)
    call("torch.jit.Attribute", lambda f: f(3, int).value, expect=3)
    call("torch.jit.export_opnames", lambda f: len(f(jit.script(torch.nn.ReLU()))) > 0, expect=True)
    call("torch.jit.onednn_fusion_enabled", lambda f: f(), expect=False)
    call("torch.jit.enable_onednn_fusion", lambda f: f(False) is None, expect=True)
    call("torch.jit.set_fusion_strategy", lambda f: len(f([("STATIC", 2)])) > 0, expect=True)

"""A program that uses what a recorder could break: portbench record must not change what it prints."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import threading
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.arange(3.0).square() + index


class Named(torch.Tensor):
    """A subclass with rules of its own."""

    seen = 0

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Named.seen += 1
        return super().__torch_function__(function, types, args, kwargs or {})


class Counting(TorchFunctionMode):  # type: ignore[misc]
    seen = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Counting.seen += 1
        return function(*args, **(kwargs or {}))


class Threaded(threading.Thread):
    """A thread that replaces ``run``."""

    def run(self) -> None:
        self.found = float(torch.trapezoid(torch.ones(5)))


def train() -> float:
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(torch.ones(5, 6)), torch.tensor([0, 1, 2, 0, 1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss)


def views() -> list[float]:
    weights = torch.nn.Parameter(torch.zeros(4, 4))
    with torch.no_grad():
        weights.t()[1].fill_(2.0)
        weights += torch.eye(4)
    with torch.inference_mode():
        doubled = weights * 2
    with torch.autocast("cpu", torch.bfloat16):
        product = torch.matmul(weights, weights)
    half = weights.to(torch.float16).softmax(-1)
    waves = torch.fft.fft(weights.detach()).abs()
    return [float(each.float().sum()) for each in (weights, doubled, product, half, waves)]


def unusual() -> list[Any]:
    sparse = torch.eye(3).to_sparse()
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    masked, mask = torch.zeros(4, 2), torch.tensor([True, False, True, True])
    # Elements of any number take one row; three rows need three elements.
    masked[mask] = torch.ones(2)
    masked[mask] = torch.ones(3, 2)
    named = torch.ones(3).as_subclass(Named)
    scripted = torch.jit.script(scripted_function)
    traced = torch.jit.trace(lambda x: torch.sin(x) + 1, torch.zeros(2))
    mapped = torch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    with Counting():
        torch.add(named, 1)
    try:
        torch.matmul(torch.ones(2, 3), torch.ones(2, 3))
        refused = ""
    except RuntimeError as error:
        refused = str(error)
    found = [
        sparse.matmul(torch.ones(3, 1)).sum(),
        quantized.dequantize().sum(),
        (nested * 2).to_padded_tensor(0).sum(),
        torch.rand(3, generator=torch.Generator()).sum() - masked.sum(),
        # Infinite in float16; finite in the float64 of the reference.
        torch.full((3,), 300.0, dtype=torch.float16).mul(300.0).sum(),
    ]
    found += [scripted(torch.ones(2)).sum(), traced(torch.zeros(2)).sum(), mapped.sum()]
    return [*(float(each) for each in found), Named.seen, Counting.seen, refused]


def scripted_function(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x) * 2


def compiled_function(x: torch.Tensor) -> torch.Tensor:
    return torch.sinh(x) + x


def in_child() -> None:
    torch.cumprod(torch.ones(7), 0)


def main() -> None:
    torch.manual_seed(0)
    threads = [Threaded() for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("threads", [thread.found for thread in threads])
    print("trained", train())
    print("views", views())
    print("unusual", unusual())
    for method in ("fork", "spawn"):
        loader = DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context=method)
        print(method, [batch.sum().item() for batch in loader])
    child = multiprocessing.get_context("fork").Process(target=in_child)
    child.start()
    child.join()
    print("child", child.exitcode)
    print("compiled", float(torch.compile(compiled_function, backend="eager")(torch.ones(3)).sum()))
    sys.stdout.flush()
    # Words and numbers of the user's own.
    torch.einsum("ij->i", torch.tensor([[0.123456789, 42.0]]))
    torch.asarray([0.987654321] * 9).sum()
    torch.quantile(torch.ones(3), torch.tensor([0.456789123]))
    with contextlib.suppress(NotImplementedError):
        torch.nn.functional.pad(torch.ones(3), (1, 1), mode="the words of a user" * 9)
    raise SystemExit(3)


if __name__ == "__main__":
    main()

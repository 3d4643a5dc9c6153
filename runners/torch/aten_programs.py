"""Recorded programs of ATen's operations: makes them again on a device, with inputs of the same shapes.

The file is JSON, written by the recorder (portbench_recorder/torch_trace.py). An operation that PyTorch has only for
CPUs is replaced by others that compute the same.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, Callable, Mapping, Sequence

import torch

from runners.core.programs import Absent, Module
from runners.core.testing import tree

FORMS = ("aten",)
_FORMAT = 1


class AtenProgram:
    """A program that can be made on a device. ``left_out``: operations whose results are inputs, by how often.
    ``layers``: runs of operations that are forward, backward or update, with how many they are; empty if not known."""

    def __init__(self, module: Module) -> None:
        document = json.loads(module.content)
        if document.get("format") != _FORMAT:
            raise Absent(f"the program has the format {document.get('format')}, expected {_FORMAT}")
        self._document = document
        self._reached = 0
        self.left_out: Mapping[str, int] = document["left_out"]
        # Recordings of older versions have no layers.
        self.layers: Sequence[tuple[str, int]] = [(layer, count) for layer, count in document.get("layers", [])]

    @property
    def layer(self) -> str:
        """The layer of the operation that is being made, or empty if it is not known."""
        last = 0
        for layer, count in self.layers:
            last += count
            if self._reached < last:
                return layer
        return ""

    @property
    def input_bytes(self) -> int:
        """The memory of all inputs."""
        return sum(
            math.prod(each["shape"]) * torch.empty((), dtype=_attribute(each["dtype"])).element_size()
            for each in self._document["inputs"]
        )

    def inputs(self, device: Any) -> dict[int, Any]:
        """Zeros for each input."""
        return {each["value"]: _input(each, device) for each in self._document["inputs"]}

    def run(self, inputs: Mapping[int, Any], device: Any) -> list[Any]:
        """Makes all operations; returns what the program leaves behind.

        Raises Absent for an operation that this version of PyTorch does not have, and what the device raises.
        """
        values = dict(inputs)

        def made(data: Any) -> Any:
            if isinstance(data, list):
                return [made(each) for each in data]
            if not isinstance(data, dict):
                return data
            ((kind, value),) = data.items()
            return values[value] if kind == "value" else _MAKERS[kind](value, device)

        self._reached = 0
        with torch.no_grad():
            for name, args, kwargs, results in self._document["operations"]:
                found = _operation(name, device)(*made(args), **{key: made(value) for key, value in kwargs.items()})
                self._reached += 1
                leaves = list(tree.leaves(found))
                if len(leaves) != len(results):
                    raise Absent(f"{name} has {len(leaves)} results, {len(results)} were recorded")
                values.update({number: leaf for number, leaf in zip(results, leaves) if number is not None})
        return [values[number] for number in self._document["outputs"]]


def remarks(program: AtenProgram) -> list[str]:
    """What the verdict on a program does not cover."""
    said = []
    layers: Counter[str] = Counter()
    for layer, count in program.layers:
        layers[layer] += count
    if len(layers) > 1:
        said.append(f"operations: {', '.join(f'{count} {layer}' for layer, count in layers.items())}")
    names = [f"{name} ({count}x)" for name, count in program.left_out.items()]
    if names:
        said.append(f"without {', '.join(names)}, whose results depend on values or are not PyTorch's own")
    return said


_MAKERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "number": lambda value, device: float(value),
    "complex": lambda value, device: complex(*value),
    "torch": lambda value, device: _attribute(value),
    "device": lambda value, device: device,
}


def _attribute(name: str) -> Any:
    found = getattr(torch, name, None)
    if not isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
        raise Absent(f"this version of PyTorch has no torch.{name}")
    return found


def _input(data: Mapping[str, Any], device: Any) -> Any:
    shape, order = data["shape"], data.get("order")
    dtype = _attribute(data["dtype"])
    if order is None:
        return torch.zeros(shape, dtype=dtype, device=device)
    made = torch.zeros([shape[axis] for axis in order], dtype=dtype, device=device)
    return made.permute([order.index(axis) for axis in range(len(order))])


def _operation(name: str, device: Any) -> Callable[..., Any]:
    if name in _INSTEAD:
        return _INSTEAD[name]
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    if space not in ("aten", "prims"):
        raise Absent(f"{name} is not an operation of PyTorch")
    packet = getattr(getattr(torch.ops, space), base, None)
    found = getattr(packet, overload or "default", None)
    if found is None:
        raise Absent(f"this version of PyTorch has no operation {name}")
    if base.endswith("_backward") and torch.device(device).type == "xla" and not _has_xla_kernel(name):
        # A device without a kernel of its own has other gradients than the CPU: those of the parts of the function.
        from torch._decomp import decomposition_table

        return decomposition_table.get(found, found)  # type: ignore[no-any-return]
    return found  # type: ignore[no-any-return]


def _has_xla_kernel(name: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "XLA"))


def attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, **rest: Any
) -> tuple[Any, Any]:
    """As aten::_scaled_dot_product_flash_attention_for_cpu: the output, and the logarithm of the sums."""
    key, value = _for_each(query, key), _for_each(query, value)
    scores = _scores(query, key, is_causal, rest.get("attn_mask"), rest.get("scale"))
    sums = torch.logsumexp(scores, -1)
    weights = torch.softmax(scores, -1)
    return torch.dropout(weights, dropout_p, dropout_p > 0).to(value.dtype) @ value, sums


def attention_backward(
    grad: Any,
    query: Any,
    key: Any,
    value: Any,
    output: Any,
    sums: Any,
    dropout_p: float,
    is_causal: bool,
    **rest: Any,
) -> tuple[Any, Any, Any]:
    """The gradients of ``attention``, by the same method: Dao et al., "FlashAttention", NeurIPS 2022, appendix B."""
    own = key
    key, value = _for_each(query, key), _for_each(query, value)
    weights = torch.exp(_scores(query, key, is_causal, rest.get("attn_mask"), rest.get("scale")) - sums.unsqueeze(-1))
    of_weights = grad @ value.transpose(-2, -1)
    of_scores = weights * (of_weights - (grad * output).sum(-1, keepdim=True)) * _scale(query, rest.get("scale"))
    of_scores = of_scores.to(query.dtype)
    of_key, of_value = of_scores.transpose(-2, -1) @ query, weights.to(grad.dtype).transpose(-2, -1) @ grad
    return of_scores @ key, _of_groups(of_key, own), _of_groups(of_value, own)


def _for_each(query: Any, heads: Any) -> Any:
    """Keys or values for each head of the queries, which may share them in groups."""
    count = query.shape[-3] // heads.shape[-3]
    return heads if count == 1 else heads.repeat_interleave(count, -3)


def _of_groups(gradient: Any, heads: Any) -> Any:
    return gradient if gradient.shape == heads.shape else gradient.unflatten(-3, (heads.shape[-3], -1)).sum(-3)


def _scores(query: Any, key: Any, is_causal: bool, mask: Any, scale: float | None) -> Any:
    scores = (query @ key.transpose(-2, -1)).float() * _scale(query, scale)
    if is_causal:
        rows, columns = scores.shape[-2:]
        future = torch.ones(rows, columns, dtype=torch.bool, device=query.device).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    return scores if mask is None else scores + mask


def _scale(query: Any, scale: float | None) -> float:
    return float(query.shape[-1] ** -0.5) if scale is None else scale


_INSTEAD: Mapping[str, Callable[..., Any]] = {
    # Results may have other strides elsewhere.
    "aten::view": torch.reshape,
    "aten::_scaled_dot_product_flash_attention_for_cpu": attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward,
}

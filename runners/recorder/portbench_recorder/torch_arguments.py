"""PyTorch: arguments as the data of a manifest's test. Values of the program stay in the program: see ``facts``."""

from __future__ import annotations

import inspect
import math
from typing import Any, Hashable, Iterable

import torch

from portbench_recorder import plain
from portbench_recorder.privacy import rounded, settings_only
from portbench_recorder.recording import Arguments, Unnameable

_LITERAL_ELEMENTS = 64
_MOST_ITEMS = 64
_OF_DATA = {f"torch.{name}" for name in ("tensor", "as_tensor", "asarray", "scalar_tensor", "Tensor.new_tensor")}
"""Functions that make a tensor of Python's numbers."""

_MOST_PARAMETERS = 8
_LARGEST = 10_000_000
"""Of an optimizer's parameters: one of each shape and dtype is enough, and a test should not need the whole model."""
_SAMPLE_ELEMENTS = 1_000_000
_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    """Equal for calls that a test need not tell apart."""
    named = tuple((name, _key(value)) for name, value in sorted(kwargs.items()))
    return torch.is_grad_enabled(), _autocast(), tuple(map(_key, args)), named


def _key(value: Any) -> Hashable:
    if isinstance(value, torch.Tensor):
        if value.is_nested or value.is_quantized:
            return (type(value).__name__, value.dtype)
        return (
            value.shape,
            value.dtype,
            value.stride() if value.layout == torch.strided else None,
            value.requires_grad,
        )
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *map(_key, value))
    if isinstance(value, dict):
        return tuple((str(name), _key(each)) for name, each in value.items())
    if isinstance(value, slice):
        return ("slice", _key(value.start), _key(value.stop), _key(value.step))
    if isinstance(value, (bool, int, float, complex)):
        return (type(value).__name__, repr(value))
    if value is None or isinstance(value, (str, torch.dtype, torch.device, torch.memory_format, torch.layout)):
        return value  # type: ignore[no-any-return]
    return type(value).__name__


def described(args: tuple[Any, ...], kwargs: dict[str, Any], values: bool, name: str = "") -> Arguments:
    """The arguments of a function as data. Raises Unnameable for what data cannot describe."""
    if name == "torch.Tensor.__setitem__" and _selects_as_many(*args):
        raise Unnameable("a mask that selects as many elements as are assigned")
    if not values:
        args, kwargs = settings_only(args, kwargs, name in _OF_DATA)
    # What a generator of random numbers holds is not repeated: such results differ on every device.
    kwargs = {name: value for name, value in kwargs.items() if not isinstance(value, torch.Generator)}
    writer = _Writer(values)
    found: Arguments = {"args": [writer.one(value) for value in args]}
    if kwargs:
        found["kwargs"] = {name: writer.one(value) for name, value in kwargs.items() if value is not None}
    if writer.requires_grad:
        found["gradient"] = True
    autocast = _autocast()
    if autocast is not None:
        found["autocast"] = dtype_name(autocast)
    return found


def _selects_as_many(tensor: Any, index: Any, value: Any) -> bool:
    """Whether ``tensor[mask] = value`` needs a mask with a certain number of true elements, which no fact keeps."""
    parts = index if isinstance(index, tuple) else (index,)
    masks = [each for each in parts if isinstance(each, torch.Tensor) and each.dtype in (torch.bool, torch.uint8)]
    if not masks or not isinstance(value, torch.Tensor) or not value.dim():
        return False
    # Selected elements are one axis in place of those of the mask, before all axes that follow.
    behind = tensor.dim() - masks[0].dim() if len(parts) == 1 else 0
    return value.dim() > behind and value.shape[-1 - behind] != 1


def _autocast() -> torch.dtype | None:
    """The dtype that ``torch.autocast`` chooses for calls now."""
    if not torch._C._is_any_autocast_enabled():
        return None
    for kind in ("cuda", "xpu", "cpu"):
        if torch.is_autocast_enabled(kind):
            return torch.get_autocast_dtype(kind)
    return None


def dtype_name(dtype: torch.dtype) -> str:
    """Raises Unnameable for a dtype that no test can make."""
    name = str(dtype)[len("torch.") :]
    if name not in _DTYPES:
        raise Unnameable(f"the dtype {name}")
    return name


def of_optimizer(optimizer: Any) -> Arguments:
    """The test that repeats a step: shapes and dtypes of up to a few parameters, and the settings of the first group.

    Raises Unnameable for a setting that data cannot describe.
    """
    group = {name: value for name, value in optimizer.param_groups[0].items() if name != "params"}
    parameters = [each for group in optimizer.param_groups for each in group["params"] if each.numel() <= _LARGEST]
    distinct = list({(tuple(each.shape), each.dtype): each for each in parameters}.values())[:_MOST_PARAMETERS]
    known = inspect.signature(type(optimizer).__init__).parameters
    settings = {name: _setting(value) for name, value in group.items() if name in known and value is not None}
    return {
        "case": "torch.recorded:optimizer_steps",
        "params": {
            "shapes": [list(each.shape) for each in distinct],
            "dtypes": [str(each.dtype)[len("torch.") :] for each in distinct],
            "settings": settings,
        },
    }


def _setting(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value)
    if isinstance(value, (tuple, list)):
        return [_setting(each) for each in value]
    if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise Unnameable(f"a setting of type {type(value).__name__}")


class _Writer:
    def __init__(self, values: bool) -> None:
        self._values = values
        self._tensors = 0
        self.requires_grad = False

    def one(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise Unnameable("a number that is not known while torch.compile traces")
        if isinstance(value, (list, tuple)) and len(value) > _MOST_ITEMS:
            raise Unnameable(f"more than {_MOST_ITEMS} items in a list")
        if isinstance(value, torch.Size):
            return {"tuple": [self.one(each) for each in value]}
        found = plain.described(value, self.one)
        if found is not plain.OTHER:
            return found
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, (torch.memory_format, torch.layout)):
            return {"attribute": str(value)}
        if isinstance(value, torch.device):
            return {"device": "target"}
        if value in (float, int, bool):
            return {"dtype": {float: "float64", int: "int64", bool: "bool"}[value]}
        raise Unnameable(f"an argument of type {type(value).__name__}")

    def _tensor(self, tensor: torch.Tensor) -> Any:
        if tensor.is_nested:
            raise Unnameable("a nested tensor")
        if tensor.layout != torch.strided:
            raise Unnameable(f"a tensor of layout {tensor.layout}")
        if tensor.is_quantized:
            raise Unnameable("a quantized tensor")
        self._tensors += 1
        dtype = dtype_name(tensor.dtype)
        shape = [int(size) for size in tensor.shape]
        if self._values and tensor.numel() <= _LITERAL_ELEMENTS and not tensor.is_complex():
            data: dict[str, Any] = {"dtype": dtype, "values": _literal(tensor)}
        else:
            data = {"dtype": dtype, "shape": shape, "seed": self._tensors}
            data.update(_facts(tensor))
        order = _memory_order(tensor)
        if order is not None:
            data["order"] = order
        if tensor.requires_grad and torch.is_grad_enabled():
            data["requires_grad"] = True
            self.requires_grad = True
        return {"tensor": data}


def _literal(tensor: torch.Tensor) -> Any:
    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(each) for each in value]
        return value if value == value and abs(value) != float("inf") else str(float(value))

    return one(tensor.detach().cpu().tolist())


def _memory_order(tensor: torch.Tensor) -> list[int] | None:
    """The axes from the slowest to the fastest in memory, where that is not their own order."""
    if tensor.is_contiguous():
        return None
    strides = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda axis: -strides[axis])


def _facts(tensor: torch.Tensor) -> dict[str, Any]:
    """The range of the values and what else a function may need of them; nothing where they cannot be read."""
    try:
        return dict(_read_facts(tensor))
    except Exception:
        # Tensors without values: of torch.compile, of vmap, on the meta device.
        return {}


def _read_facts(tensor: torch.Tensor) -> Iterable[tuple[str, Any]]:
    if tensor.is_meta or tensor.numel() == 0 or tensor.is_complex():
        return
    tensor = _sample(tensor.detach())
    flat = tensor.reshape(-1)
    if tensor.dtype in _INTEGERS:
        low, high = (int(value) for value in torch.aminmax(flat))
        yield "low", low
        yield "high", high + 1
        if tensor.dim() > 1 and (low, high) == (0, 1) and bool((tensor.sum(-1) == 1).all()):
            yield "like", "one_hot"
    elif tensor.is_floating_point():
        yield from _floating_facts(tensor, flat.double())


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    """The first rows of a large tensor, as a view: a copy of it may not fit into memory."""
    while tensor.numel() > _SAMPLE_ELEMENTS:
        inner = tensor.numel() // tensor.shape[0]
        tensor = tensor[0] if inner > _SAMPLE_ELEMENTS else tensor[: _SAMPLE_ELEMENTS // inner]
    return tensor


def _floating_facts(tensor: torch.Tensor, flat: torch.Tensor) -> Iterable[tuple[str, Any]]:
    finite = flat[torch.isfinite(flat)]
    special = [
        name
        for name, found in (("nan", flat.isnan()), ("inf", flat == float("inf")), ("-inf", flat == float("-inf")))
        if bool(found.any())
    ]
    if special:
        yield "special", special
    if not finite.numel():
        return
    low, high = (rounded(float(value)) for value in torch.aminmax(finite))
    yield "low", low
    yield "high", high
    zeros = float((finite == 0).double().mean())
    if zeros >= 0.05 and low != high:
        yield "zeros", round(zeros, 2)
    if finite.numel() > 1 and bool((finite == finite.round()).all()):
        yield "integers", True
    like = _likeness(tensor, low)
    if like:
        yield "like", like


def _likeness(tensor: torch.Tensor, low: float) -> str:
    last = tensor.shape[-1] if tensor.dim() else 0
    if last > 1 and low >= 0 and bool(((tensor.double().sum(-1) - 1).abs() < 1e-3).all()):
        return "distribution"
    if tensor.dim() > 1 and tensor.shape[-2] == last and 1 < last <= 512 and bool((tensor == tensor.mT).all()):
        _, failed = torch.linalg.cholesky_ex(tensor.double())
        return "symmetric" if bool(failed.any()) else "positive_definite"
    if tensor.dim() == 1 and last > 2 and bool((tensor.diff() >= 0).all()):
        return "sorted"
    return ""

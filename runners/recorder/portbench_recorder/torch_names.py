"""PyTorch: the public function that does what an operator of Python or an internal name does.

A manifest names public functions only, and ``a + b`` is ``torch.add(a, b)``.
"""

from __future__ import annotations

from typing import Any

_TENSOR = "torch.Tensor."

_OPERATORS = {
    "add": "torch.add",
    "sub": "torch.sub",
    "mul": "torch.mul",
    "truediv": "torch.div",
    "div": "torch.div",
    "floordiv": "torch.floor_divide",
    "mod": "torch.remainder",
    "pow": "torch.pow",
    "matmul": "torch.matmul",
    "and": "torch.bitwise_and",
    "or": "torch.bitwise_or",
    "xor": "torch.bitwise_xor",
    "lshift": "torch.bitwise_left_shift",
    "rshift": "torch.bitwise_right_shift",
}
_SIMPLE = {
    **{f"__{name}__": public for name, public in _OPERATORS.items()},
    **{f"__i{name}__": _TENSOR + public.rpartition(".")[2] + "_" for name, public in _OPERATORS.items()},
    **{f"__{name}__": f"torch.{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs")},
    "__pos__": "torch.positive",
    "__invert__": "torch.bitwise_not",
    "__rsub__": "torch.rsub",
    "__bool__": _TENSOR + "item",
    "__int__": _TENSOR + "item",
    "__float__": _TENSOR + "item",
    "__index__": _TENSOR + "item",
    "__iter__": "torch.unbind",
    "__getitem__": _TENSOR + "__getitem__",
    "__setitem__": _TENSOR + "__setitem__",
}
_SWAPPED = {f"__r{name}__": public for name, public in _OPERATORS.items() if name not in ("sub", "div")}
_RECIPROCAL = ("__rtruediv__", "__rdiv__")

# They compute nothing, or show a tensor to people.
_LEFT_OUT = (
    {
        f"{_TENSOR}{name}"
        for name in [
            "size",
            "dim",
            "ndimension",
            "numel",
            "nelement",
            "stride",
            "element_size",
            "storage_offset",
            "is_contiguous",
            "is_floating_point",
            "is_complex",
            "is_signed",
            "get_device",
            "data_ptr",
            "storage",
            "untyped_storage",
            "type",
            "requires_grad_",
            "retain_grad",
            "register_hook",
            "backward",
            "numpy",
            "tolist",
            "refine_names",
            "is_shared",
            "share_memory_",
            "has_names",
            "untyped_storage",
            "is_inference",
            "is_conj",
            "is_neg",
            "dim_order",
            "register_post_accumulate_grad_hook",
            "is_pinned",
            # What they leave in memory is not defined.
            "new",
            "new_empty",
            "new_empty_strided",
        ]
    }
    | {"torch.empty", "torch.empty_like", "torch.empty_strided", "torch.empty_permuted"}
    | {
        "torch.is_floating_point",
        "torch.is_complex",
        "torch.is_tensor",
        "torch.numel",
        "torch.typename",
        "torch.device",
    }
)
_ALIASES = {"torch.functional.": "torch.", "torch._C._nn.": "torch.nn.functional.", "torch._VF.": "torch."}


def public_name(resolved: str | None, function: Any) -> str | None:
    """The name of a function that PyTorch calls ``resolved``. Operators keep their name; see ``as_public_call``."""
    if resolved is None:
        resolved = _by_operator(function)
    if (
        resolved is None
        or not resolved.startswith("torch.")
        or resolved in _LEFT_OUT
        or resolved.endswith((".__get__", ".__set__", ".__delete__"))
    ):
        return None
    for begin, public in _ALIASES.items():
        if resolved.startswith(begin):
            resolved = public + resolved[len(begin) :]
    last = resolved.rpartition(".")[2]
    if last.startswith("__"):
        return resolved if last in _SIMPLE or last in _SWAPPED or last in _RECIPROCAL else None
    return resolved


def as_public_call(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Name and arguments of the public function that computes the same: ``2 - x`` is ``torch.rsub(x, 2)``."""
    last = name.rpartition(".")[2]
    if last in _SWAPPED and len(args) == 2:
        if last in ("__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"):
            return _SWAPPED[last], args, kwargs
        return _SWAPPED[last], (args[1], args[0]), kwargs
    if last in _RECIPROCAL:
        return "torch.reciprocal", args[:1], {}
    return _SIMPLE.get(last, name), args, kwargs


def optimizer(kind: type) -> str | None:
    """``torch.optim.AdamW``; None for an optimizer of somebody else."""
    return f"torch.optim.{kind.__name__}" if kind.__module__.startswith("torch.optim") else None


def _by_operator(function: Any) -> str | None:
    """The name of a function of Python's ``operator``, which graphs have in place of ``a + b``."""
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") in ("_operator", "operator"):
        return f"{_TENSOR}__{name.strip('_')}__"
    return None

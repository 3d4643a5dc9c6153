"""Derives other calls from a recorded one: other dtypes, sizes and memory layouts of its tensors.

Works on the data of a call's arguments (schema/manifest.schema.json, ``argument``) and computes no tensor. Whether a
function accepts what is derived, only a call says.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from runners.core.errors import BadInput
from runners.core.testing.arrays import KEY

NONE = "none"
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "int32", "bool")
LAYOUTS = ("strided", "transposed")
MUTATIONS = (*DTYPES, "gradient", "empty", "scalar", "odd", "large", *LAYOUTS)
"""By name. A dtype takes the place of that of the first tensor, in all tensors that have it. ``gradient``: gradients
of all floating tensors are wanted. ``empty``: the first axis that is longer than one has no element. ``scalar``: no
axis. ``odd``: each size is doubled, plus one. ``large``: the last axis has 1,027 elements, no multiple of a tile.
``strided`` and ``transposed``: views with gaps or exchanged axes. A size that several axes have changes in all."""

LARGE = 1027
_MOST_ELEMENTS = 1 << 20
"""Of a tensor whose sizes were changed."""
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_NEEDS_FLOATS = ("low", "high", "integers", "zeros", "like", "special", "requires_grad")
"""What is known of floating values and has no meaning for other dtypes."""

Tensor = Mapping[str, Any]


class Call(NamedTuple):
    """The arguments of a call as data, and whether gradients are compared."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    gradient: bool = False


def mutated(call: Call, mutation: str) -> Call:
    """The call that ``mutation`` derives. Raises BadInput for an unknown one, and for a call to which it does not
    apply: it would be the same call, or too large."""
    if mutation == NONE:
        return call
    if mutation not in MUTATIONS:
        raise BadInput(f"there is no mutation {mutation!r}", f"Expected is one of {', '.join((NONE, *MUTATIONS))}.")
    tensors = [data for data in _tensors([call.args, call.kwargs]) if not data["dtype"].startswith(KEY)]
    if not tensors:
        raise BadInput(f"the mutation {mutation} needs a tensor, and the call has none", "Remove the test.")
    change = _of_dtype(mutation, tensors) if mutation in DTYPES else _CHANGES[mutation](tensors)
    found = _mapped(change, {"args": list(call.args), "kwargs": dict(call.kwargs)})
    if found == {"args": list(call.args), "kwargs": dict(call.kwargs)}:
        raise BadInput(f"the mutation {mutation} does not change the call", "Remove the test.")
    made = list(_tensors(found))
    if any(math.prod(shape_of(data)) > _MOST_ELEMENTS for data in made):
        raise BadInput(f"the mutation {mutation} makes a tensor of more than {_MOST_ELEMENTS} elements", "Remove it.")
    return Call(found["args"], found["kwargs"], any(data.get("requires_grad") for data in made))


def of_arguments(arguments: Mapping[str, Any], mutation: str) -> Mapping[str, Any]:
    """The same for a call as a recording has it: ``args``, ``kwargs``, ``gradient`` and others, which stay."""
    if mutation == NONE:
        return arguments
    before = Call(arguments.get("args", ()), arguments.get("kwargs", {}), arguments.get("gradient", False))
    return {**arguments, **mutated(before, mutation)._asdict()}


def shape_of(data: Tensor) -> list[int]:
    """The shape of a tensor's data."""
    if "shape" in data:
        return list(data["shape"])
    shape, values = [], data["values"]
    while isinstance(values, list):
        shape.append(len(values))
        values = values[0] if values else None
    return shape


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Mapping):
        if "tensor" in value:
            yield value["tensor"]
            return
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _mapped(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    if isinstance(value, Mapping):
        if "tensor" in value:
            data = value["tensor"]
            return {"tensor": data if data["dtype"].startswith(KEY) else change(data)}
        return {key: _mapped(change, item) for key, item in value.items()}
    return [_mapped(change, item) for item in value] if isinstance(value, (list, tuple)) else value


def _of_dtype(dtype: str, tensors: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    before = tensors[0]["dtype"]

    def change(data: Tensor) -> Tensor:
        if data["dtype"] != before:
            return data
        kept = dict(data, dtype=dtype)
        if dtype not in _FLOATS:
            kept = _without(kept, *_NEEDS_FLOATS, "seed") if "values" in kept else _without(kept, *_NEEDS_FLOATS)
        elif before not in _FLOATS and before != "bool" and "low" in kept:
            # Whole numbers stay whole: they may be positions.
            kept["integers"] = True
        return kept

    return change


def _with_gradient(tensors: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda data: dict(data, requires_grad=True) if data["dtype"] in _FLOATS else data


def _of_sizes(change: Callable[[int], int]) -> Callable[[Tensor], Tensor]:
    def changed(data: Tensor) -> Tensor:
        shape = shape_of(data)
        sizes = [change(size) for size in shape]
        return data if sizes == shape else dict(_as_random(data), shape=sizes)

    return changed


def _empty(tensors: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    shape = shape_of(tensors[0])
    chosen = next((size for size in shape if size > 1), shape[0] if shape else None)
    return _of_sizes(lambda size: 0 if size == chosen else size)


def _odd(tensors: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    return _of_sizes(lambda size: 2 * size + 1 if size > 1 else size)


def _large(tensors: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    shape = shape_of(tensors[0])
    chosen = shape[-1] if shape and shape[-1] > 1 else None
    return _of_sizes(lambda size: LARGE if size == chosen else size)


def _scalar(tensors: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    shape = shape_of(tensors[0])

    def change(data: Tensor) -> Tensor:
        if not shape or shape_of(data) != shape:
            return data
        return dict(_without(_as_random(data), "order", "layout", "like"), shape=[])

    return change


def _laid_out(layout: str, axes: int) -> Callable[[Sequence[Tensor]], Callable[[Tensor], Tensor]]:
    def change(data: Tensor) -> Tensor:
        return dict(_without(data, "order"), layout=layout) if len(shape_of(data)) >= axes else data

    return lambda tensors: change


_CHANGES: Mapping[str, Callable[[Sequence[Tensor]], Callable[[Tensor], Tensor]]] = {
    "gradient": _with_gradient,
    "empty": _empty,
    "scalar": _scalar,
    "odd": _odd,
    "large": _large,
    "strided": _laid_out("strided", 1),
    "transposed": _laid_out("transposed", 2),
}


def _as_random(data: Tensor) -> dict[str, Any]:
    """Given values as random ones of the same range, since other sizes need other values."""
    if "values" not in data:
        return dict(data)
    numbers = [value for value in _leaves(data["values"]) if isinstance(value, (int, float))]
    found = dict(_without(data, "values"), shape=shape_of(data), seed=1)
    if numbers and data["dtype"] != "bool" and not data["dtype"].startswith("complex"):
        found["low"], found["high"] = min(numbers), max(numbers)
        if "int" in data["dtype"]:
            found["high"] += 1
    return found


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, list):
        for item in values:
            yield from _leaves(item)
    else:
        yield values


def _without(data: Tensor, *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}

"""Nested outputs: tuples, lists and dicts are nodes, everything else is a leaf."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping


def leaves(value: Any) -> Iterator[Any]:
    """The leaves of a nested value, in order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same nesting with ``function`` applied to every leaf; named tuples stay what they are."""
    if isinstance(value, tuple):
        items = [mapped(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [mapped(function, item) for item in value]
    if isinstance(value, Mapping):
        return {key: mapped(function, item) for key, item in value.items()}
    return function(value)

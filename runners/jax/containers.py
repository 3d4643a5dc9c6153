"""Containers of leaves for tests of trees: a named tuple, and a class with a registered way to flatten it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax


class Pair(NamedTuple):
    first: Any
    second: Any


@jax.tree_util.register_pytree_node_class
class Labelled:
    """A container of one leaf. Its label is not a leaf."""

    def __init__(self, value: Any, label: str) -> None:
        self.value, self.label = value, label

    def tree_flatten(self) -> tuple[tuple[Any], str]:
        return (self.value,), self.label

    @classmethod
    def tree_unflatten(cls, label: str, children: Any) -> Labelled:
        return cls(*children, label)

"""jax.tree and jax.tree_util: flattening and mapping nested values."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from runners.core.testing.written import Call, values

_X, _Y = values(3), values(2, seed=1)


def _nested(x: Any, y: Any) -> Any:
    return {"a": x, "b": [y, None]}


def table(call: Call) -> None:
    for prefix in ("jax.tree.", "jax.tree_util.tree_"):
        _both(call, prefix)
    _paths(call)
    _structures(call)
    _registered(call)


def _both(call: Call, prefix: str) -> None:
    def named(name: str, body: Any, expect: Any) -> None:
        call(f"{prefix}{name}", body, _X, _Y, expect=expect)

    tree = jax.tree_util
    named("all", lambda f, x, y: [f({"a": True, "b": [1]}), f([True, 0])], [True, False])
    named("flatten", lambda f, x, y: f(_nested(x, y))[0], lambda x, y: [x, y])
    named("leaves", lambda f, x, y: f(_nested(x, y)), lambda x, y: [x, y])
    named(
        "map",
        lambda f, x, y: [(made := f(lambda a: 2 * a, _nested(x, y)))["a"], made["b"][0]],
        lambda x, y: [2 * x, 2 * y],
    )
    named("map", lambda f, x, y: f(lambda a, b: a + b, [x], [x])[0], lambda x, y: 2 * x)
    named("reduce", lambda f, x, y: f(lambda a, b: a + b.sum(), _nested(x, y), 0.0), lambda x, y: x.sum() + y.sum())
    named("reduce_associative", lambda f, x, y: f(lambda a, b: a + b, [x, x, x]), lambda x, y: 3 * x)
    named("structure", lambda f, x, y: f(_nested(x, y)).num_leaves, 2)
    named(
        "transpose",
        lambda f, x, y: f(tree.tree_structure([0, 0]), tree.tree_structure({"a": 0}), [{"a": x}, {"a": 2 * x}])["a"],
        lambda x, y: [x, 2 * x],
    )
    named("unflatten", lambda f, x, y: f(tree.tree_structure(_nested(0, 0)), [x, y])["b"][0], lambda x, y: y)
    named("broadcast", lambda f, x, y: f([x, y], [[0, 0], 0])[0], lambda x, y: [x, x])
    named("flatten_with_path", lambda f, x, y: tree.keystr(f(_nested(x, y))[0][1][0]) == "['b'][0]", True)
    named("leaves_with_path", lambda f, x, y: tree.keystr(f(_nested(x, y))[0][0]) == "['a']", True)
    named(
        "map_with_path",
        lambda f, x, y: f(lambda path, a: a * (1 + (path[0].key == "b")), _nested(x, y))["b"][0],
        lambda x, y: 2 * y,
    )


def _paths(call: Call) -> None:
    u = "jax.tree_util."
    for name, key, text in (
        *(("DictKey", "a", "['a']"), ("GetAttrKey", "a", ".a"), ("SequenceKey", 1, "[1]")),
        ("FlattenedIndexKey", 1, "[<flat index 1>]"),
    ):
        call(f"{u}{name}", lambda f, k=key, t=text: str(f(k)) == t, expect=True)
    call(f"{u}keystr", lambda f: f((jax.tree_util.DictKey("a"),)) == "['a']", expect=True)


def _structures(call: Call) -> None:
    u, tree = "jax.tree_util.", jax.tree_util
    call(f"{u}all_leaves", lambda f, x: [f([x, x]), f([x, [x]])], _X, expect=[True, False])
    call(f"{u}flatten_one_level", lambda f, x: f([x, 2 * x])[0], _X, expect=lambda x: [x, 2 * x])
    call(
        f"{u}flatten_one_level_with_keys",
        lambda f, x: [value for _, value in f([x, 2 * x])[0]],
        _X,
        expect=lambda x: [x, 2 * x],
    )
    call(f"{u}treedef_children", lambda f: len(f(tree.tree_structure([0, 0]))), expect=2)
    call(
        f"{u}treedef_is_leaf", lambda f: [f(tree.tree_structure(0)), f(tree.tree_structure([0]))], expect=[True, False]
    )
    call(f"{u}treedef_tuple", lambda f: f([tree.tree_structure(0)] * 3).num_leaves, expect=3)
    call(f"{u}Partial", lambda f, x: jax.jit(lambda g: g(1.0))(f(jax.numpy.add, x)), _X, expect=lambda x: x + 1)
    name = "jax.flatten_util.ravel_pytree"
    call(name, lambda f, x, y: f(_nested(x, y))[0], _X, _Y, expect=lambda x, y: np.r_[x, y])


def _registered(call: Call) -> None:
    u = "jax.tree_util."

    def pair() -> Any:
        @dataclasses.dataclass
        class Pair:
            first: Any
            second: Any

            def tree_flatten(self) -> Any:
                return (self.first, self.second), None

            def tree_flatten_with_keys(self) -> Any:
                return (
                    (jax.tree_util.GetAttrKey("first"), self.first),
                    (jax.tree_util.GetAttrKey("second"), self.second),
                ), None

            @classmethod
            def tree_unflatten(cls, facts: Any, children: Any) -> Any:
                return cls(*children)

        return Pair

    def leaves(kind: Any, x: Any) -> Any:
        return jax.tree_util.tree_leaves(kind(x, 2 * x))

    def node(f: Any, x: Any) -> Any:
        kind = pair()
        f(kind, kind.tree_flatten, kind.tree_unflatten)
        return leaves(kind, x)

    def keyed(f: Any, x: Any) -> Any:
        kind = pair()
        f(kind, kind.tree_flatten_with_keys, kind.tree_unflatten)
        return leaves(kind, x)

    two = {"expect": lambda x: [x, 2 * x]}
    call(f"{u}register_pytree_node", node, _X, **two)
    call(f"{u}register_pytree_with_keys", keyed, _X, **two)
    for name in ("register_pytree_node_class", "register_pytree_with_keys_class"):
        call(f"{u}{name}", lambda f, x: leaves(f(pair()), x), _X, **two)
    call(f"{u}register_dataclass", lambda f, x: leaves(f(pair(), ["first", "second"], []), x), _X, **two)
    call(f"{u}register_static", lambda f: len(jax.tree_util.tree_leaves(f(pair())(1, 2))), expect=0)

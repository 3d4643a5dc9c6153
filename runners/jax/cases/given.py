"""The arguments of a manifest's ``call`` for cases that call a function on them in another way."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import jax
import numpy as np

from runners.core.public import names
from runners.core.testing import properties, references
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


class Given:
    """A test's arguments: which of them are tensors, and the reference for them or for one row of each."""

    def __init__(self, trial: Trial, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
        self._builder = Builder(trial, names.framework(trial.framework))
        built = self._builder.all(args)
        self._leaves, self._structure = jax.tree_util.tree_flatten([item.device for item in built])
        self._places = [index for index, leaf in enumerate(self._leaves) if isinstance(leaf, jax.Array)]
        self._host_leaves, self._host_structure = jax.tree_util.tree_flatten([item.host for item in built])
        self.tensors = [self._leaves[place] for place in self._places]
        self.host = [item.host for item in built]
        self.kwargs = {name: item.device for name, item in self._builder.named(kwargs or {}).items()}

    def with_tensors(self, tensors: Sequence[Any]) -> Any:
        """Return the positional arguments with other arrays in place of the tensors."""
        leaves = list(self._leaves)
        for place, tensor in zip(self._places, tensors):
            leaves[place] = tensor
        return jax.tree_util.tree_unflatten(self._structure, leaves)

    def host_row(self, index: int) -> Any:
        """Return the host's arguments with one row of each array."""
        leaves = list(self._host_leaves)
        for place in self._places:
            leaves[place] = leaves[place][index]
        return jax.tree_util.tree_unflatten(self._host_structure, leaves)

    def expected(self, expect: Mapping[str, Any], host: Sequence[Any], **more: Any) -> Any:
        """Return the reference's output for the host's arguments, or for those that ``expect`` names. ``more``: keyword
        arguments beside those of ``expect``."""
        if "value" in expect:
            return self._builder.one(expect["value"]).host
        arguments = host
        if "args" in expect:
            arguments = [
                host[item["arg"]] if isinstance(item, dict) and "arg" in item else self._builder.one(item).host
                for item in expect["args"]
            ]
        named = {name: item.host for name, item in self._builder.named(expect.get("kwargs", {})).items()}
        library = "numpy" if "numpy" in expect else "scipy"
        return references.find(library, expect[library])(*arguments, **named, **more)

    def check(
        self,
        trial: Trial,
        output: Any,
        host: Sequence[Any],
        expect: Mapping[str, Any],
        rtol: float | None = None,
        atol: float | None = None,
    ) -> None:
        """Check an output as a manifest's ``call`` does. What only moves a NumPy array may return one."""
        for step in expect.get("output", []):
            output = output[step]
        dtype = expect.get("dtype", "float32")
        if "property" in expect:
            trial.equal([trial.dtype_name(part) for part in output], [dtype] * len(output))
            properties.find(expect["property"])(trial, output, host, **expect.get("params", {}))
            return
        with np.errstate(all="ignore"):
            expected = self.expected(expect, host)
        several = isinstance(expected, (tuple, list)) and isinstance(output, (tuple, list))
        if several:
            trial.equal(len(output), len(expected))
        for part, wanted in zip(output, expected) if several else [(output, expected)]:
            if isinstance(part, np.ndarray):
                trial.equal(part.dtype.name, dtype)
            trial.close(part, wanted, rtol, atol, dtype="" if isinstance(part, np.ndarray) else dtype)

"""Watches a function in a test: which mutants of it could change anything there."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from runners.core.adapter import Adapter
from runners.core.mutants import fine
from runners.core.mutants.mutant import stream_of
from runners.core.mutants.mutation import Call, Mutation
from runners.core.testing import tree

_ALWAYS = ("scaled", "shifted", "zeroed", "wrong-dtype", "wrong-shape", "first-argument")


class Probe(Mutation):
    """Calls the function as it is. ``possible`` are the mutants that could change anything: no others need a try."""

    def __init__(self, framework: str, adapter: Adapter, device: Any = None) -> None:
        super().__init__("", framework, adapter, device)
        self.differs = True
        self.possible = {"nothing"}

    def call(self, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The function's own output."""
        possible = self.possible
        framework = self.framework
        if not self.is_repeat:
            possible.update(("keyword-ignored", "keyword-2-ignored", "keyword-3-ignored")[: len(kwargs)])
            possible.update(("second-call", "second-stale") if self.calls > 1 else ("second-call",))
            given = {key: value for key, value in kwargs.items() if key != "out"}
            self._can_alter([list(args), given], fine.ARGUMENTS)
            if args and hasattr(framework, "overwrite") and isinstance(args[0], framework.ARRAYS):
                possible.add("overwritten")
            if sum(map(framework.is_differentiated, tree.leaves([list(args), dict(kwargs)]))) > 1:
                possible.add("gradient-of-one")
        before = stream_of(self, function, kwargs)
        if framework.has_state(function, args, kwargs):
            possible.add("state-lost")
        try:
            output = function(*args, **kwargs)
        except Exception:
            possible.add("accepted")
            raise
        if self.is_repeat:
            return output
        possible.update(_ALWAYS)
        self._can_alter(output, fine.OUTPUTS)
        if any(map(framework.is_differentiated, tree.leaves(output))):
            possible.update(("gradient-scaled", "gradient-zeroed"))
        if before != stream_of(self, function, kwargs):
            possible.update(("seed-ignored", "draws-repeated") if self.calls > 1 else ("seed-ignored",))
            self._can_alter(output, fine.DRAWS)
        return output

    def _can_alter(self, values: Any, names: tuple[str, ...]) -> None:
        """Adds those mutants of arrays that would change a leaf of the nested ``values``."""
        for leaf in tree.leaves(values):
            dtype = self.adapter.dtype_name(leaf)
            if dtype is None:
                continue
            try:
                array = self.adapter.to_numpy(leaf)
            except Exception:
                # A tracer or a symbolic tensor has no values to alter.
                continue
            self.possible.update(name for name in names if fine.changes(array, dtype, name))

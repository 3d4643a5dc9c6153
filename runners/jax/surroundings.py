"""What surrounds a call in its process: a watch over all that a function of arrays has no reason to change."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any, Iterator, Mapping

import jax
import numpy as np

from runners.core.testing.trial import Trial


@contextlib.contextmanager
def watched(trial: Trial, inner: bool = False) -> Iterator[None]:
    """Within, nothing is printed and nothing warned of; afterwards JAX's settings, the generators of Python and NumPy,
    NumPy's handling of errors, the environment and Python's own settings are as they were. Both generators move on
    before: one that an earlier call has seeded would otherwise look the same after it is seeded again. They do not
    where this is ``inner``, within another watch."""
    if not inner:
        random.random()
        np.random.random_sample()
    before = _state()
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield
        trial.check(list(warnings.filters) == filters, "the filters of warnings have changed")
    after = _state()
    trial.equal({name: value for name, value in after.items() if value != before.get(name)}, {})
    trial.equal(sorted(after), sorted(before))
    trial.equal(printed.getvalue(), "")
    trial.equal([str(warning.message) for warning in caught if _is_about_the_call(warning)], [])


def _is_about_the_call(warning: Any) -> bool:
    """Whether a warning tells the caller something: not one of old names, nor of files left open."""
    return not issubclass(warning.category, (DeprecationWarning, PendingDeprecationWarning, ResourceWarning))


def _state() -> Mapping[str, Any]:
    settings = {}
    for name in dir(jax.config):
        if name.startswith("jax_"):
            with contextlib.suppress(Exception):
                settings[name] = repr(getattr(jax.config, name))
    return {
        **settings,
        "numpy errors": np.geterr(),
        "numpy printing": repr(np.get_printoptions()),
        "numpy generator": repr(np.random.get_state()),
        "python generator": hash(random.getstate()),
        "environment": dict(os.environ),
        "recursion": sys.getrecursionlimit(),
        "place": str(Path.cwd()),
    }

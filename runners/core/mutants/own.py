"""Mutants that a user has written: a Python file with a list MUTANTS (manifests/README.md describes it).

Each is a dictionary: ``function``, a name of the manifest; ``name``; ``class``, any text, by which mutants are counted;
``what`` is wrong; ``mutate``, which takes the framework's function and returns what stands in for it, or a context
manager that patches something, yields what stands in, and undoes the patch.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, ContextManager, Iterator, Mapping, Sequence, cast

from runners.core.errors import BadInput
from runners.core.public import permitted
from runners.core.public.names import Forbidden, Missing

FACTS = ("function", "name", "class", "what")
MOST = 500
"""The most mutants of a file: each has a run file, which is open while the tests run."""
_LONGEST = 300
_FIX = "manifests/README.md describes files of mutants."

Mutate = Callable[[Any], Any]


class OwnMutant:
    """One of a file's mutants, for one test, while ``applied``: what stands in for the function under test."""

    differs = True
    is_repeat = False

    def __init__(self, path: str, name: str) -> None:
        (self._mutate,) = [cast(Mutate, each["mutate"]) for each in _loaded(path) if each["name"] == name]
        self._original: Any = None
        self._stand_in: Any = None

    @contextlib.contextmanager
    def applied(self, function: Any) -> Iterator[Any]:
        """Yields what the test takes for the function. A class or module is replaced as a whole, since instances and
        members are taken from it; of a function only the calls under test, so that references compute with the real
        one."""
        self._original = function
        with _stand_in(self._mutate, function) as self._stand_in:
            yield self._stand_in if isinstance(function, (type, ModuleType)) else function

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is called in place of the function. A method is that of the instance, whose class was mutated."""
        return cast(Callable[..., Any], self._stand_in) if function is self._original else function


def described(path: str, framework: str, functions: Sequence[str], is_selection: bool) -> Sequence[Mapping[str, str]]:
    """The FACTS of each mutant of a file, each of which was applied once. ``functions`` are those of the manifest; if
    they are a selection of these, the mutants of others are left out.

    Raises BadInput for a file that cannot be imported or holds something else.
    """
    found = []
    for number, mutant in enumerate(_loaded(path)):
        place = f"{path}: MUTANTS[{number}]"
        if mutant["function"] not in functions:
            if is_selection:
                continue
            raise BadInput(f"{place}: {mutant['function']} is no function of the manifest that this version has", _FIX)
        try:
            function = permitted.function(str(mutant["function"]), framework, private_names=True)
        except (Missing, Forbidden) as error:
            raise BadInput(f"{place}: {mutant['function']}: {error}", _FIX) from None
        try:
            with _stand_in(cast(Mutate, mutant["mutate"]), function) as stand_in:
                if not callable(stand_in) and not isinstance(stand_in, ModuleType):
                    raise TypeError(f"it returned {type(stand_in).__name__}, and nothing that can be called")
        except Exception as error:
            raise BadInput(f"{place}: mutate failed: {type(error).__name__}: {error}", _FIX) from None
        found.append({key: str(mutant[key]) for key in FACTS})
    if not found:
        raise BadInput(f"{path}: it has no mutant of the functions that are selected", _FIX)
    return found


def _stand_in(mutate: Mutate, function: Any) -> ContextManager[Any]:
    made = mutate(function)
    is_context = made is not function and hasattr(type(made), "__enter__")
    return cast("ContextManager[Any]", made) if is_context else contextlib.nullcontext(made)


@lru_cache(maxsize=None)
def _loaded(path: str) -> list[Mapping[str, object]]:
    spec = importlib.util.spec_from_file_location("portbench_own_mutants", Path(path))
    if spec is None or spec.loader is None:
        raise BadInput(f"{path}: expected a Python file, with the ending .py", _FIX)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{path} cannot be imported: {type(error).__name__}: {error}", _FIX) from None
    mutants = getattr(module, "MUTANTS", None)
    if not isinstance(mutants, (list, tuple)) or not 1 <= len(mutants) <= MOST:
        raise BadInput(f"{path}: expected a list MUTANTS with 1 to {MOST} mutants", _FIX)
    for number, mutant in enumerate(mutants):
        _check(mutant, f"{path}: MUTANTS[{number}]")
    names = [mutant["name"] for mutant in mutants]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise BadInput(f"{path}: MUTANTS[{number}]: the name {name} is that of another mutant", _FIX)
    return list(mutants)


def _check(mutant: Any, place: str) -> None:
    expected = {*FACTS, "mutate"}
    if not isinstance(mutant, dict) or set(mutant) != expected:
        found = ", ".join(map(str, mutant)) if isinstance(mutant, dict) else type(mutant).__name__
        raise BadInput(f"{place}: found {found}; expected a dictionary with {', '.join((*FACTS, 'mutate'))}", _FIX)
    for key in FACTS:
        text = mutant[key]
        if not isinstance(text, str) or not 1 <= len(text) <= _LONGEST or not text.isprintable():
            raise BadInput(f"{place}: {key}: expected a line of 1 to {_LONGEST} characters, found {text!r:.80}", _FIX)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutant["name"]):
        raise BadInput(f"{place}: name: expected lower-case words joined by '-', found {mutant['name']!r}", _FIX)
    if not callable(mutant["mutate"]):
        raise BadInput(f"{place}: mutate: expected a function, found {type(mutant['mutate']).__name__}", _FIX)

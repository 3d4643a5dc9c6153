"""The examples in docstrings: which public functions have some, and their code."""

from __future__ import annotations

import doctest
import hashlib
import re
import textwrap
from typing import Any, Iterable, NamedTuple, Sequence

from runners.core.public.functions import Function, ranked

_FENCED = re.compile(r"^[ \t]*```(?:python|py)?[ \t]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.) ?")


class Documented(NamedTuple):
    """A public function with examples: its canonical name, all its names, the module that defines it, the code of each
    example, and the digest of its docstring."""

    name: str
    names: Sequence[str]
    module: str
    snippets: Sequence[str]
    sha256: str


def documented(functions: Iterable[Function]) -> list[Documented]:
    """The functions with examples, in the order of their names."""
    found = {}
    for function in functions:
        text = _docstring(function.value)
        snippets = examples_in(text)
        if snippets:
            name, *aliases = ranked(function.names, function.qualname)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            found[name] = Documented(name, (name, *aliases), function.module, snippets, digest)
    return [found[name] for name in sorted(found)]


def examples_in(text: str) -> list[str]:
    """The code of each example of a docstring: after ``>>>``, and between lines of three backticks."""
    if ">>>" not in text and "```" not in text:
        return []
    try:
        found = [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:
        # Python's parser refuses what is indented in more than one way.
        found = _by_lines(text)
    fenced = (textwrap.dedent(code) for code in _FENCED.findall(text) if ">>>" not in code)
    return [code for code in (*found, *fenced) if code.strip()]


def _by_lines(text: str) -> list[str]:
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.lstrip().startswith(">>>"):
            found.append([])
        elif not (found and line.lstrip().startswith("...")):
            continue
        found[-1].append(_PROMPT.sub("", line, 1))
    return ["\n".join(lines) + "\n" for lines in found]


def _docstring(value: Any) -> str:
    try:
        found = value.__doc__
    except Exception:
        return ""
    return found if isinstance(found, str) else ""

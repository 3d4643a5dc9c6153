"""The process that imports a framework and lists its functions. It may hang, die or leave things behind, so it does
nothing else.

Started by ``runners.core.enumeration.listing`` as ``python -m runners.core.enumeration.child DESCRIPTOR`` with a socket
under that descriptor, in an empty folder that is also its home. It gets its task in one message, reports each module
before it enters it, and ends with ``done`` or ``broken``.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import warnings
from collections import Counter
from typing import Any, Mapping, Sequence

from runners.core import failure
from runners.core.enumeration.public_tests import HOW, tested_names
from runners.core.enumeration.study import KNOWN, guessed, met, study_functions
from runners.core.process.channel import Channel
from runners.core.public import library as libraries
from runners.core.public.functions import Function, entries, public_functions, public_methods
from runners.core.public.library import Library
from runners.core.public.modules import Tree, public_modules
from runners.core.result import Message

OUR_RULE = (
    "Modules: what the framework's module and its packages show under public names, and their files where it has "
    "public modules that only an import of their own shows. Tests, and what left_out names, are left out.\n"
    "Names: those in a module's __all__; without one all of a package, and of a plain module what it defines itself or "
    "what has only a private home. None begins with an underscore.\n"
    "Objects: functions, classes, built-in functions and other callables that the framework's own packages define. All "
    "public names of one object are one entry."
).splitlines()


def main(arguments: Sequence[str]) -> None:
    """Lists the functions of the framework in the first message and sends them."""
    channel = Channel(socket.socket(fileno=int(arguments[0])))
    asked = channel.receive() or {}
    sys.argv = ["portbench"]
    os.chdir(os.environ["HOME"])
    warnings.simplefilter("ignore")
    try:
        answer: Message = {"done": listed(libraries.from_json(asked["library"]), asked, channel)}
    except BaseException as error:
        answer = {"broken": failure.facts_of(error)}
    channel.send(answer)
    # At an orderly exit, threads and handlers of the framework would run.
    os._exit(0)


def listed(library: Library, asked: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    """The part of the document that needs the framework."""
    channel.send({"entering": library.module})
    # First, because our own rule imports more modules than the framework does.
    published = met(library, importlib.import_module(library.module)) if asked["as_study"] else None
    tree = public_modules(library, asked["skip"], lambda name: channel.send({"entering": name}))
    channel.send({"entering": library.module})
    ours = public_functions(library, tree.modules)
    if published is not None:
        functions = study_functions(published.members, ours.found)
        return _document(library, tree, functions, published.modules, ours.foreign, KNOWN, guessed(library.study))
    functions = ours.found
    if asked["methods"]:
        functions = [*functions, *public_methods(function for function in functions if function.kind == "class")]
    return _document(library, tree, functions, len(tree.modules), ours.foreign, OUR_RULE, [])


def _document(
    library: Library,
    tree: Tree,
    functions: Sequence[Function],
    modules: int,
    foreign: int,
    known: Sequence[str],
    inferred: Sequence[str],
) -> dict[str, Any]:
    packages = [sys.modules[name] for name in library.packages if name in sys.modules]
    tested = tested_names(packages)
    listed = entries(functions, tested.names)
    return {
        "version": str(getattr(tree.root, "__version__", "unknown")).partition("+")[0],
        "known": list(known),
        "guessed": list(inferred),
        "public_tests": {"files": tested.files, "how": HOW},
        "counts": {
            "functions": len(listed),
            "modules": modules,
            "by_kind": _counted(entry["kind"] for entry in listed),
            "by_namespace": _counted(_namespace(entry["name"]) for entry in listed),
        },
        "left_out": {
            "of_other_packages": foreign,
            "by_name": sorted(tree.left_out),
            "tests": sorted(tree.tests),
        },
        "errors": [{"module": name, "reason": tree.errors[name]} for name in sorted(tree.errors)],
        "functions": listed,
    }


def _counted(words: Any) -> dict[str, int]:
    counted: dict[str, int] = Counter(words)
    return {word: counted[word] for word in sorted(counted)}


def _namespace(name: str) -> str:
    parts: list[str] = name.split(".")
    return ".".join(parts[: 2 if len(parts) > 2 else 1])


if __name__ == "__main__":
    main(sys.argv[1:])

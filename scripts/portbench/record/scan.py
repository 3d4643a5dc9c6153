"""Which functions of a framework source code calls, and what a study knows of them on a target.

This reads the source alone, so it sees less than a recording: no methods of tensors, nothing inside of libraries, no
arguments. It resolves names as ``portbench count`` does.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from portbench.corpus.counting.documents import LARGEST_BYTES
from portbench.corpus.counting.import_filter import imports
from portbench.corpus.counting.resolver import resolve
from portbench.corpus.counting.source_file import parsed
from portbench.errors import BadInput, StorageFailed
from portbench.record.known import Known, Status
from portbench.targets.catalog import Target
from portbench.util.strict_json import shown
from portbench.util.versions import Version

VERDICTS = ("all_pass", "host", "some_fail", "all_fail", "unknown")
"""What a study knows of a function: all its tests pass; they pass, with operations on the host; some fail; all fail;
nothing."""

_NAMESPACES = {"tensorflow": "tf"}
"""The first part of public names, where it differs from the imported module."""


@dataclass
class Called:
    """A function that the source calls: where (``train.py:12``), and what is known of it; None: nothing."""

    function: str
    sites: list[str] = field(default_factory=list)
    status: Status | None = None

    @property
    def verdict(self) -> str:
        """One of ``VERDICTS``."""
        if self.status is None:
            return "unknown"
        return "host" if self.status.status == "all_pass" and self.status.host_operations else self.status.status


@dataclass(frozen=True)
class Scan:
    """The functions that source calls, those known to fail first. ``broken``: files that are no valid Python 3."""

    target: str
    files: int
    broken: tuple[str, ...]
    functions: Sequence[Called]

    def with_verdict(self, name: str) -> list[Called]:
        """The functions with this verdict."""
        return [each for each in self.functions if each.verdict == name]


class _AllFunctions:
    """Stands for all functions of a framework: every dotted path that begins with its module is one."""

    words: frozenset[bytes] = frozenset()
    modules: Mapping[bytes, frozenset[bytes]] = {}

    def __init__(self, framework: str) -> None:
        self.root = framework.encode()
        self.paths = _Numbered()


class _Numbered:
    """Numbers each path when it is first asked for."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}

    def get(self, path: bytes, /) -> int | None:
        return self.numbers.setdefault(path, len(self.numbers))


def scan(places: Sequence[Path], target: Target, known: Known) -> Scan:
    """The calls in .py files, and in those below folders.

    Raises BadInput where there is no such file, and where ``known`` has nothing about the target; StorageFailed where
    one cannot be read.
    """
    name = _in_study(target, known)
    if name not in known.targets:
        others = ", ".join(known.targets) or "none"
        raise BadInput(
            f"the study has no results of {name}; its targets: {others}",
            f"Give another study or target, or run it: portbench run {name} --runs 1 --protocol cold",
        )
    found: dict[str, Called] = {}
    broken = []
    files = _files(places)
    for path in files:
        source = _source(path)
        calls = _calls(source, target.framework)
        if calls is None:
            broken.append(shown(path))
            continue
        for function, line in calls:
            found.setdefault(function, Called(function)).sites.append(f"{shown(path)}:{line}")
    for function, called in found.items():
        called.status = known.of(function, name)
    order = ("all_fail", "some_fail", "host", "unknown", "all_pass")
    ranked = sorted(found.values(), key=lambda each: (order.index(each.verdict), -len(each.sites), each.function))
    return Scan(name, len(files), tuple(broken), ranked)


def _in_study(target: Target, known: Known) -> str:
    """The target's name; without a version, and if the study lacks the default, that of the newest in the study."""
    if target.version_named or target.name in known.targets:
        return target.name
    same = [name for name in known.targets if name.split("-", 2)[::2] == [target.framework, target.device]]
    return max(same, key=lambda name: Version(name.split("-", 2)[1]), default=target.name)


def _files(places: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            for home, folders, names in os.walk(place):
                folders[:] = sorted(each for each in folders if not each.startswith("."))
                found += [Path(home, name) for name in sorted(names) if name.endswith(".py")]
        elif place.is_file():
            found.append(place)
        else:
            raise BadInput(f"{shown(place)}: no such file or folder", "Give Python files, or folders of them.")
    if not found:
        raise BadInput(f"{', '.join(map(shown, places))}: no .py file", "Give Python files, or folders of them.")
    return list(dict.fromkeys(found))


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageFailed(f"{shown(path)} cannot be read: {error.strerror}", "Check its permissions.") from error


def _calls(source: bytes, framework: str) -> list[tuple[str, int]] | None:
    """The function and the line of each call, in the order of the file. None: no valid Python 3, or too large."""
    functions = _AllFunctions(framework)
    if not imports(source, functions.root):
        return []
    root = parsed(source)
    if root.has_error or len(source) > LARGEST_BYTES:
        return None
    starts = sorted((start, place) for place, start in resolve(source, root, functions, True).starts)
    names = list(functions.paths.numbers)
    lines = [0, *(place + 1 for place, byte in enumerate(source) if byte == 0x0A)]
    return [(_public(names[place].decode("utf-8", "replace")), bisect_right(lines, start)) for start, place in starts]


def _public(path: str) -> str:
    first, dot, rest = path.partition(".")
    return _NAMESPACES.get(first, first) + dot + rest

"""Output folders that portbench replaces as a whole: studies and reports. A marker file lists what it wrote there.

    FOLDER/.portbench.json    {"schema": "portbench/folder", "kind": "study", "written": ["study.json", ...]}

A command writes only into a new or empty folder, or into one with the marker of its kind. It replaces and removes only
what the marker lists. Names are listed before the files exist, so that the next command also finds what a killed one
left.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from portbench.errors import BadInput, PortbenchError, StorageFailed
from portbench.util.files import write_text
from portbench.util.strict_json import read_json, shown

MARKER = ".portbench.json"
_SCHEMA = "portbench/folder"
_STAGED = re.compile(r"\.writing-[0-9a-f]{16}")


@dataclass(frozen=True)
class Kind:
    """What a folder is for. ``names``: all that such a folder may list, so that a marker from a stranger removes no
    other file."""

    name: str
    names: re.Pattern[str]


@contextlib.contextmanager
def locked(folder: Path, kind: Kind) -> Iterator[None]:
    """Creates a folder if necessary, and locks it: no other command can write to it meanwhile.

    Raises BadInput if another command holds the lock, StorageFailed if the folder cannot be created or locked. A new
    folder that stays empty is removed. The lock is on the folder itself, so that it leaves no file. Where the file
    system has no such locks, it is a file next to the folder.
    """
    is_new = not os.path.lexists(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageFailed(f"{shown(folder)} cannot be created: {error.strerror}", "Give another folder.") from error
    busy = BadInput(f"{shown(folder)}: another command is changing this {kind.name}", "Try again when it has ended.")
    release: Callable[[], object] | None = None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        except OSError:
            release = _lock_file_of(folder, busy)
        yield
    except PortbenchError:
        raise
    except OSError as error:
        raise StorageFailed(f"{shown(folder)} cannot be written: {error}", "Give another folder.") from error
    finally:
        if release:
            release()
        os.close(descriptor)
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _lock_file_of(folder: Path, busy: BadInput) -> Callable[[], object]:
    """Locks a folder whose file system has no flock, by a file next to it; returns what removes that.

    A lock file whose process has ended, or lived on this machine before, is replaced. Raises ``busy``, and OSError.
    """
    from filelock import SoftFileLock, Timeout  # imports asyncio, which every command would wait for

    place = folder.resolve()
    lock = SoftFileLock(place.with_name(f".{place.name}.portbench-lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise busy from None
    return lock.release


def listed(folder: Path, kind: Kind) -> frozenset[str] | None:
    """The names that a folder's marker lists; None if there is no marker.

    Raises BadInput if the marker is damaged or of another kind.
    """
    file = folder / MARKER
    if not os.path.lexists(file):
        return None
    data = read_json(file).data
    written = data.get("written") if isinstance(data, dict) and data.get("schema") == _SCHEMA else None
    if not isinstance(written, list) or not all(isinstance(name, str) for name in written):
        raise BadInput(f"{shown(file)}: found no list of files, expected one", "Give a new folder.")
    if data.get("kind") != kind.name:
        raise BadInput(f"{shown(folder)} is not a {kind.name}, by its {MARKER}", "Give a new folder, or an empty one.")
    return frozenset(name for name in written if kind.names.fullmatch(name) or _STAGED.fullmatch(name))


def require_ours(folder: Path, kind: Kind) -> None:
    """Raises BadInput if a folder has files, and no marker of this kind."""
    if listed(folder, kind) is None and any(folder.iterdir()):
        raise BadInput(
            f"{shown(folder)} is neither a {kind.name} that portbench wrote nor empty",
            f"Give a {kind.name} to replace, or a folder that is new or empty.",
        )


def add(folder: Path, kind: Kind, *names: str) -> None:
    """Lists names before they are written. Raises BadInput if one exists that is not listed: it is somebody else's."""
    known = listed(folder, kind) or frozenset()
    for name in names:
        if name not in known and os.path.lexists(folder / name):
            raise BadInput(
                f"{shown(folder / name)} was not written by portbench, and stays as it is",
                "Move it away, or give another folder.",
            )
    _write_marker(folder, kind, known.union(names))


def take_over(folder: Path, kind: Kind, names: Iterable[str]) -> None:
    """Lists names in a folder that an older portbench wrote, without a marker."""
    _write_marker(folder, kind, names)


def remove_others(folder: Path, kind: Kind, keep: Iterable[str]) -> None:
    """Removes everything that is listed except ``keep``, and lists ``keep`` alone. Without one the marker goes, too."""
    kept = frozenset(keep)
    known = listed(folder, kind)
    if known is None or (kept and known == kept):
        return
    for name in known - kept:
        _remove(folder, name)
    if kept:
        _write_marker(folder, kind, kept)
    else:
        with contextlib.suppress(OSError):
            (folder / MARKER).unlink()


@contextlib.contextmanager
def staging(folder: Path, kind: Kind) -> Iterator[Path]:
    """A hidden folder in ``folder`` for incomplete files; it is listed, and removed at the end."""
    name = f".writing-{secrets.token_hex(8)}"
    add(folder, kind, name)
    try:
        (folder / name).mkdir()
        yield folder / name
    finally:
        shutil.rmtree(folder / name, ignore_errors=True)
        with contextlib.suppress(PortbenchError, OSError):
            there = listed(folder, kind) or frozenset()
            remove_others(folder, kind, {each for each in there - {name} if os.path.lexists(folder / each)})


@contextlib.contextmanager
def replacing(folder: Path, kind: Kind) -> Iterator[Path]:
    """A hidden folder; what is in it at the end takes the place of all that portbench wrote to ``folder`` before.

    After an error, or where ``folder`` has a file of somebody else with one of these names, everything there stays as
    it was. Raises what ``locked``, ``require_ours`` and ``add`` do.
    """
    with locked(folder, kind):
        require_ours(folder, kind)
        with staging(folder, kind) as staged:
            yield staged
            made = [str(file.relative_to(staged)) for file in sorted(staged.rglob("*")) if file.is_file()]
            add(folder, kind, *made)
            for name in made:
                (folder / name).parent.mkdir(exist_ok=True)
                (staged / name).replace(folder / name)
            remove_others(folder, kind, {*made, staged.name})


class Update:
    """Collects the files of a folder: those whose content changed are kept in ``staged`` until all are there."""

    def __init__(self, folder: Path, staged: Path) -> None:
        self.names: set[str] = set()
        self.changed: list[str] = []
        self._folder = folder
        self._staged = staged

    def put(self, name: str, content: bytes) -> None:
        """Sets the content of a file. Raises ValueError for a name that was put before, StorageFailed."""
        if name in self.names:
            raise ValueError(f"two files of one name: {name}")
        self.names.add(name)
        if _content(self._folder / name) != content:
            (self._staged / str(len(self.changed))).write_bytes(content)
            self.changed.append(name)

    def publish(self) -> None:
        """Moves the changed files to their places."""
        for place, name in enumerate(self.changed):
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (self._staged / str(place)).replace(path)


@contextlib.contextmanager
def updating(folder: Path, kind: Kind) -> Iterator[Update]:
    """Like ``replacing``, for many files of which most stay the same: a file is only written where its content changes.

    Raises what ``replacing`` does, and BadInput where a folder on the way to a file is a link, which leads elsewhere.
    """
    with locked(folder, kind):
        require_ours(folder, kind)
        with staging(folder, kind) as staged:
            update = Update(folder, staged)
            yield update
            for parent in sorted({parent for name in update.names for parent in Path(name).parents}):
                if (folder / parent).is_symlink() and parent != Path():
                    raise BadInput(f"{shown(folder / parent)} is a link", "Remove it, or give another folder.")
            add(folder, kind, *update.names)
            update.publish()
            remove_others(folder, kind, {*update.names, staged.name})


def _content(path: Path) -> bytes | None:
    """The content of a file; None where there is none."""
    try:
        return None if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _write_marker(folder: Path, kind: Kind, names: Iterable[str]) -> None:
    data = {"schema": _SCHEMA, "kind": kind.name, "written": sorted(names)}
    write_text(folder / MARKER, json.dumps(data, indent=1) + "\n")


def _remove(folder: Path, name: str) -> None:
    """Removes a file or folder, and the folders that are empty then. A link on the way leads elsewhere: it stays."""
    path = folder / name
    if any((folder / parent).is_symlink() for parent in Path(name).parents):
        return
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    with contextlib.suppress(OSError):
        for parent in Path(name).parents[:-1]:
            (folder / parent).rmdir()

"""A library that is as hard to look into as frameworks are. ``write`` makes its package in a folder."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "zoo/__init__.py": '''
import os
import sys
import types
from typing import Optional

from zoo import animals, inner
from zoo._private import run, Runner
from zoo.animals import Animal, walk

__version__ = "1.2.3+local"
Alias = Optional[int]
LIMIT = 3
_hidden = walk


class Lazy(types.ModuleType):
    """Loaded by being looked into."""

    def __dir__(self):
        return dir(self._load())

    def __getattr__(self, name):
        return getattr(self._load(), name)

    def _load(self):
        import zoo._lazy

        return zoo._lazy


lazy = Lazy("zoo._lazy_stand_in")
''',
    "zoo/_private.py": """
def run(distance, *, by=None):
    pass


def without_other_home():
    pass


class Runner:
    pass
""",
    "zoo/_lazy.py": """
def sleep():
    pass
""",
    "zoo/animals.py": """
import zoo
from collections import OrderedDict
from functools import partial
from zoo._private import without_other_home
from zoo.plants import grow

DEFAULT = object()


class _Base:
    def purr(self):
        pass

    def walk(self):
        pass


class Animal:
    name = "animal"

    def feed(self, food="hay"):
        pass

    @staticmethod
    def count(of=DEFAULT):
        pass

    @classmethod
    def born(cls):
        pass

    @property
    def age(self):
        return 0

    def _digest(self):
        pass


class Cat(Animal, _Base):
    def walk(self):
        pass


def walk(speed: int = 1, *, gait=DEFAULT, to=print, kinds=frozenset(["b", "a", "c"])) -> "Animal":
    pass


class _Caller:
    def __call__(self, times=2):
        pass


call = _Caller()
prowl = partial(walk, 3)
""",
    "zoo/plants.py": """
__all__ = ["grow", "water", "missing"]


def grow():
    pass


def water():
    pass


gives_water = water


def not_listed():
    pass
""",
    "zoo/inner/__init__.py": """
from math import floor
from zoo.animals import Cat as Kitty
from zoo.inner import deep
from zoo.inner.deep import dig
""",
    "zoo/inner/deep.py": """
import zoo.inner


def dig():
    pass
""",
    "zoo/outdated.py": """
import warnings

__all__ = ["old", "gone"]


def _old():
    pass


def __getattr__(name):
    warnings.warn(f"{name} is deprecated", DeprecationWarning)
    if name == "old":
        return _old
    raise AttributeError(f"{name} was removed")
""",
    "zoo/broken.py": "raise RuntimeError('no libanimal at 0x7f001234abcd\\nsecond line')\n",
    "zoo/exits.py": "import sys\nsys.exit(3)\n",
    "zoo/noisy.py": """
import os
import pathlib
import subprocess
import sys

print("noise")
os.write(2, b"more noise")
pathlib.Path("litter").write_text("x")
pathlib.Path("~/.zoo").expanduser().write_text("x")
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", "left by zoo"], start_new_session=True)


def bark():
    pass
""",
    "zoo/copied/__init__.py": "def of_another_project():\n    pass\n",
    "zoo/tests/__init__.py": "",
    "zoo/tests/test_zoo.py": "import zoo\n\nassert zoo.walk() or 'inner.dig'\nrun = 'Animal'\n",
    "zoo/feeding_test.py": "raise RuntimeError('imported a test')\n",
}
DIES = {"zoo/dies.py": "import os\nos._exit(7)\n", "zoo/killed.py": "import os\nos.kill(os.getpid(), 11)\n"}
HANGS = {"zoo/hangs.py": "import signal\nsignal.pause()\n"}


def write(folder: Path, *more: dict[str, str]) -> Path:
    """The folder, which now holds the package."""
    for name, text in [item for files in (FILES, *more) for item in files.items()]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder

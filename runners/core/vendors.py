"""Loads a vendor's code that the user names: a module of Python, or a file. What is wrong with it is one sentence."""

from __future__ import annotations

import importlib
import os
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

from runners.core.errors import DeviceUnavailable, first_line


def is_path(named: str) -> bool:
    """Whether a variable names a file or folder rather than a module."""
    return os.sep in named


def named(variable: str, device: str, remedy: str) -> str:
    """The value of the environment variable that names the vendor's code for a device. Raises DeviceUnavailable if it
    is not set, or is a path that is not there."""
    value = os.environ.get(variable, "")
    if not value:
        raise DeviceUnavailable(f"{variable} is not set, so nothing is known of the device {device}", remedy)
    if is_path(value) and not (Path(value).is_absolute() and Path(value).exists()):
        raise DeviceUnavailable(f"{variable}={value}: expected an absolute path of something that exists", remedy)
    return value


def imported(variable: str, value: str, framework: str) -> ModuleType:
    """Imports the module that the variable names, or that is at the path that it gives. ``framework`` is what it is
    for, such as ``PyTorch 2.9.0``. Raises DeviceUnavailable."""
    module = module_name(value)
    if is_path(value):
        sys.path.append(str(Path(value).parent))
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.split(".")[0] == error.name.split(".")[0]:
            raise DeviceUnavailable(
                f"{variable}={value}: the Python {sys.executable} has no module {error.name}",
                "Install the vendor's package there, or run with --backend current and PORTBENCH_PYTHON, the Python "
                "that has it.",
            ) from error
        raise _failed(variable, value, framework, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(variable, value, framework, error) from error


def module_name(value: str) -> str:
    """``torch_vendor`` of that name itself and of a path to it."""
    return Path(value).stem if is_path(value) else value


def version(module: str) -> str | None:
    """The version of an imported module, as itself or the package of its name says; None if neither does."""
    said = getattr(sys.modules[module], "__version__", None)
    if said is None:
        try:
            said = metadata.version(module.split(".")[0])
        except metadata.PackageNotFoundError:
            return None
    return str(said)


def _failed(variable: str, value: str, framework: str, error: BaseException) -> DeviceUnavailable:
    return DeviceUnavailable(
        f"{variable}={value} cannot be imported with {framework}: {first_line(error)}",
        "Install what the module needs, such as the vendor's driver, and the version for this framework.",
    )

"""Writes the files of a launch, and hands them over to the engine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.errors import BadInput, EnvironmentFailed, RunFailed
from portbench.launch.engines import Engine
from portbench.launch.model import Launch
from portbench.util.files import write_text


@dataclass(frozen=True)
class Written:
    """The file of one target, and the commands that hand it over."""

    target: str
    file: Path
    commands: Sequence[Sequence[str]]


def write(launch: Launch, engine: Engine, folder: Path) -> list[Written]:
    """Writes a file for each target, all or none. Raises BadInput and StorageFailed."""
    absolute = folder.absolute()
    texts = {target: engine.text(launch, target, absolute) for target in launch.targets}
    written = []
    for target, text in texts.items():
        file = absolute / engine.name(target)
        write_text(file, text)
        written.append(Written(target, file, engine.submit(launch, file)))
    return written


def hand_over(written: Sequence[Written]) -> None:
    """Calls the engine's command for each file. Raises EnvironmentFailed if it is not installed, RunFailed if it
    refuses; what was handed over before stays with the engine."""
    for each in written:
        for command in each.commands:
            try:
                status = subprocess.run(command).returncode
            except OSError as error:
                raise EnvironmentFailed(
                    f"{command[0]} cannot be started: {error.strerror}", f"Submit {each.file} where it is installed."
                ) from error
            if status:
                raise RunFailed(f"{command[0]} ended with exit status {status} for {each.file}")


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE texts as a table. Raises BadInput."""
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if not name or not value:
            raise BadInput(f"--{option} {text}: expected NAME=VALUE")
        found[name] = value
    return found

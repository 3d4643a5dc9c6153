"""The kinds of faults. Each takes a scene, a target and a random number generator, which chooses everything else."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.storm.runs import Target, complete, damaged, journals, judge
from tests.storm.scene import Scene, children

Fault = Callable[[Scene, Target, Random], None]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL)
_LONGEST_S = 2.5

_CLOCK = """
import datetime, random, time
_random, _real, _Real = random.Random({seed}), time.time, datetime.datetime
time.time = lambda: _real() + _random.choice((0, 0, 3600, -3600, 1e6, -1e6))
class _Jumping(_Real):
    @classmethod
    def now(cls, tz=None):
        return _Real.fromtimestamp(time.time(), tz)
    @classmethod
    def utcnow(cls):
        return _Real.utcfromtimestamp(time.time())
datetime.datetime = _Jumping
"""


def signalled(scene: Scene, target: Target, random: Random) -> None:
    """A signal to the host or supervisor, zygote or worker at any moment, once or several times."""
    process = scene.start(*target.command(scene))
    for _ in range(random.choice((1, 1, 1, 3))):
        time.sleep(random.uniform(0, _LONGEST_S if target.runner else 6 * _LONGEST_S))
        _signal(process, random.choice(_SIGNALS), random.randrange(5))
    scene.end(process)
    scene.check_processes()
    complete(scene, target)
    judge(scene, target)


def _signal(process: subprocess.Popen[str], number: signal.Signals, depth: int) -> None:
    """Sends a signal to a descendant: 0 is the program itself, 1 a child of it, and so on; the deepest there is."""
    chosen = process.pid
    for _ in range(depth):
        below = children(chosen)
        if not below:
            break
        chosen = below[-1]
    with contextlib.suppress(ProcessLookupError):
        os.kill(chosen, number)


def whole_group(scene: Scene, target: Target, random: Random) -> None:
    """Every process of a run is killed at once, as by a machine that loses power."""
    process = scene.start(*target.command(scene))
    time.sleep(random.uniform(0, _LONGEST_S if target.runner else 6 * _LONGEST_S))
    scene.kill_all()
    scene.end(process)
    complete(scene, target)
    judge(scene, target)


def journal(scene: Scene, target: Target, random: Random) -> None:
    """A run is killed, its journal damaged, and the run continued."""
    process = scene.start(*target.command(scene))
    # Not before there is something to damage.
    while process.poll() is None and not any(file.stat().st_size for file in journals(scene.out)):
        time.sleep(0.02)
    time.sleep(random.uniform(0, _LONGEST_S))
    scene.kill_all()
    scene.end(process)
    scene.check_processes()
    for file in journals(scene.out):
        content, kind = damaged(file.read_bytes(), random)
        file.write_bytes(content)
        scene.notes.append(f"journal: {kind}")
    complete(scene, target)
    for file in journals(scene.out):
        file.unlink()
    judge(scene, target)


def file_limit(scene: Scene, target: Target, random: Random) -> None:
    """No file can become larger than a few kilobytes, as on a full disk."""
    most = random.randrange(200, 30_000)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    scene.run(*target.command(scene), limit=limit)
    scene.check_processes()
    complete(scene, target)
    judge(scene, target)


def full_disk(scene: Scene, target: Target, random: Random) -> None:
    """The folder of results is a file system of a few kilobytes; where none can be mounted, files are limited."""
    scene.out.mkdir()
    size = f"size={random.randrange(1, 12) * 4096}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(scene.out)], capture_output=True, check=False
    )
    if mounted.returncode:
        return file_limit(scene, target, random)
    try:
        scene.run(*target.command(scene))
        scene.check_processes()
        subprocess.run(["mount", "-o", "remount,size=1g", str(scene.out)], check=True, capture_output=True)
        complete(scene, target)
        judge(scene, target)
    finally:
        subprocess.run(["umount", str(scene.out)], check=False, capture_output=True)


def no_folder(scene: Scene, target: Target, random: Random) -> None:
    """The folder of results cannot be written: a file, a device, a path that is too long or not UTF-8."""
    scene.home.joinpath("file").write_text("")
    kept = scene.out
    names: tuple[Path | str, ...] = (
        scene.home / "file" / "out",
        "/dev/null/out",
        scene.home / ("x" * 256),
        "/".join([str(scene.home), *["y" * 200] * 25]),
        "/proc/out",
    )
    scene.out = Path(random.choice(names))
    ended = scene.run(*target.command(scene))
    scene.note("invented", f"status 0 for {str(scene.out)[:80]}", int(ended.status == 0))
    scene.check_processes()
    scene.out = kept


def clock(scene: Scene, target: Target, random: Random) -> None:
    """The clock of the day jumps by hours and days during the run."""
    (scene.home / "sitecustomize.py").write_text(_CLOCK.format(seed=random.randrange(10**6)))
    scene.environment["PYTHONPATH"] = str(scene.home)
    scene.run(*target.command(scene))
    del scene.environment["PYTHONPATH"]
    scene.check_processes()
    complete(scene, target)
    judge(scene, target)


def at_once(scene: Scene, target: Target, random: Random) -> None:
    """Several runs into one folder at once."""
    count = random.randint(2, 3)
    for process in [scene.start(*target.command(scene)) for _ in range(count)]:
        ended = scene.end(process)
        scene.note("lost", f"status {ended.status}: {ended.said[-500:]}", int(ended.status != 0))
    scene.check_processes()
    judge(scene, target, files=count)

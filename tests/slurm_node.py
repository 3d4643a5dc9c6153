"""A Slurm of one node with two slots, in a temporary folder: munged, slurmctld and slurmd of this machine.

    with slurm_node(folder) as environment:
        subprocess.run(["sbatch", "--wait", "job.sh"], env=environment)

Needs root, and Debian's packages slurmctld, slurmd, slurm-client and munge. It uses no configuration, port, socket or
process of a Slurm that is installed for use.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo")
NODE = "testnode"

_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={name} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why there can be no such node here; empty if there can."""
    without = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if without:
        return f"not installed: {', '.join(without)} (Debian: slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "only root can start slurmd"


@contextlib.contextmanager
def slurm_node(folder: Path) -> Iterator[dict[str, str]]:
    """Starts the node; yields the variables for sbatch and others. At the end no process of it is left."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    controller, node = _free_ports()
    values = {"host": socket.gethostname(), "name": NODE, "folder": folder, "controller": controller, "node": node}
    (folder / "slurm.conf").write_text(_CONFIGURATION.format(**values))
    (folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={folder}/no-cgroups\n")
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}
    key, sockets = folder / "munge.key", folder / "munge.socket"
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={sockets}"]
    munged += [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
    with contextlib.ExitStack() as stack:
        started: list[subprocess.Popen[bytes]] = []
        for command in (munged, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", NODE]):
            started.append(stack.enter_context(_running(command, environment, folder)))
            _wait(sockets.exists, started, folder)
        _wait(lambda: _state(environment) == "idle", started, folder)
        yield environment


def _state(environment: dict[str, str]) -> str:
    done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
    return done.stdout.strip()


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{command[0]}.out").open("w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(is_there: Callable[[], bool], started: list[subprocess.Popen[bytes]], folder: Path) -> None:
    while not is_there():
        if any(process.poll() is not None for process in started):
            logs = "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in folder.glob("*.log"))
            raise RuntimeError(f"Slurm does not start\n{logs}")
        time.sleep(0.05)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"

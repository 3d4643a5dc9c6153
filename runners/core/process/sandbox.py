"""Confines a worker that runs a manifest from elsewhere, with what Linux offers without any rights.

Landlock (Linux 5.13): files can be changed only below given folders. It holds for the thread that asks and for what is
started later, so a worker asks while it has one thread: before it opens its device.

seccomp: no connection, no other program, no change of a file's rights or owner, no signal to another process. Opening a
device may need these, so a worker asks afterwards, for all its threads.

Not confined: what a test reads, and how much memory and time it takes. docs/security.md says it to users.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path
from typing import Iterable, NamedTuple, Sequence

from runners.core.errors import BadInput
from runners.core.result import TestResult

FILES, CALLS = "landlock", "seccomp"
WHOLE = f"{FILES}+{CALLS}"
NONE = "none"
WANTED = "wanted"
"""The argument of a zygote whose workers are to confine themselves; that of others is NONE."""

MODES = ("auto", "off", "required")

_REFUSED_WORDS = ("Operation not permitted", "Permission denied", "[Errno 1]", "[Errno 13]")
"""What an error says about what Landlock and seccomp refused, from Python or the C library."""


class _Architecture(NamedTuple):
    """Numbers of system calls. ``refused`` is never allowed; ``programs`` starts one; ``signals`` may have this process
    as first argument only; ``opens`` maps a call that opens files to the position of its flags."""

    audit: int
    seccomp: int
    refused: Sequence[int]
    programs: Sequence[int]
    signals: Sequence[int]
    opens: Sequence[tuple[int, int]]


# Below 424 the numbers differ: sockets, tracing, rights and owners of files, mounts, namespaces, keys, the kernel's
# modules, the clock, the name of the machine, truncate. From 424 on they are the same everywhere: mounts, io_uring and
# openat2, which would go around the filter, pidfd_getfd, rights of files.
_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 437, 438, 442, 452, 463, 466)
_X86_64 = _Architecture(
    0xC000003E,
    317,
    (
        *(41, 76, 90, 91, 92, 93, 94, 101, 155, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 175),
        *(176, 179, 188, 189, 190, 197, 198, 199, 227, 246, 248, 249, 250, 260, 268, 272, 304, 305, 308, 310, 311, 313),
        *(320, 321, *_EVERYWHERE),
    ),
    (59, 322),
    (62, 129, 200, 234, 297, 424),
    ((2, 1), (257, 2)),
)
_AARCH64 = _Architecture(
    0xC00000B7,
    277,
    (
        *(5, 6, 7, 14, 15, 16, 39, 40, 41, 45, 51, 52, 53, 54, 55, 60, 89, 97, 104, 105, 106, 112, 117, 142, 161, 162),
        *(170, 171, 198, 217, 218, 219, 224, 225, 265, 266, 268, 270, 271, 273, 280, 294, *_EVERYWHERE),
    ),
    (221, 281),
    (129, 130, 131, 138, 240, 424),
    ((56, 2),),
)
_ARCHITECTURES = {"x86_64": _X86_64, "aarch64": _AARCH64}

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVILEGES, _GET_SECCOMP = 38, 21
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Landlock's rights to write, create and remove."""

_NODES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_DEVICE_NODES = {
    "gpu": ("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/kfd", "/dev/dri/*"),
    # libtpu has its lock and its logs in /tmp.
    "tpu": ("/dev/accel*", "/dev/accel/*", "/dev/vfio/*", "/tmp"),
}
STARTS_PROGRAMS = ("gpu",)
"""Devices on which programs may be started, besides predicted ones: XLA compiles with ptxas, and nvidia-smi reports a
GPU's state. They are confined like the worker."""

_libc = ctypes.CDLL(None, use_errno=True)


def available() -> str:
    """What this system offers: ``landlock+seccomp``, one of the two, or ``none``."""
    found = [FILES] * (_landlock_version() > 0) + [CALLS] * _has_seccomp()
    return "+".join(found) or NONE


def is_wanted(mode: str, is_own: bool) -> bool:
    """Whether workers are to be confined. ``is_own``: the manifest is one of this repository."""
    return mode == "required" or (mode == "auto" and not is_own)


def shortfall(mode: str, confined: str) -> str:
    """What workers of a manifest from elsewhere may do although they are ``confined`` as they say; '' if all is well.
    Raises BadInput if the user requires more."""
    if confined == WHOLE:
        return ""
    lacks = {FILES: "tests may connect and start programs", CALLS: "tests may change your files"}
    may = lacks.get(confined, "tests may do whatever you may do")
    if mode == "required":
        raise BadInput(
            f"--sandbox required: this system offers {confined}, expected {WHOLE}: {may}",
            "Take Linux 5.13 or newer with Landlock and seccomp, or leave out --sandbox and add --backend docker.",
        )
    return f"this system has no whole sandbox for a manifest from elsewhere ({confined}): {may}"


def confine_files(work: Path, device: str) -> str:
    """Lets this thread, and what it starts, change files only below ``work`` and on the nodes of the device. Returns
    ``landlock``, or '' where the system cannot."""
    version = _landlock_version()
    if not version:
        return ""
    rights = _CHANGES | (_REFER if version > 1 else 0) | (_TRUNCATE if version > 2 else 0)
    ruleset = _call(_CREATE_RULESET, struct.pack("Q", rights), 8, 0)
    try:
        for path in (work, *map(Path, _nodes(device))):
            _allow(ruleset, path, rights)
        _promise()
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return FILES


def confine_calls(device: str, predicted: bool) -> str:
    """Refuses system calls to all threads of this process and to what they start. Returns ``seccomp``, or '' where the
    system cannot."""
    if not _has_seccomp():
        return ""
    architecture = _ARCHITECTURES[platform.machine()]
    program = _filter(architecture, programs_too=not predicted and device not in STARTS_PROGRAMS)
    buffer = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    _promise()
    _call(architecture.seccomp, 1, 1, pointer)  # SET_MODE_FILTER, for all threads
    return CALLS


def explained(result: TestResult) -> TestResult:
    """A test that did what the sandbox refuses is skipped, with the reason: it says nothing about the framework."""
    said = _refusal(result)
    if result["outcome"] in ("passed", "skipped") or not said:
        return result
    reason = (
        f"the sandbox refused what the test did ({said}): it may not start programs, connect, or change files "
        "outside of its folder. If you trust the manifest, run it with --sandbox off"
    )
    changed = result.copy()
    changed["outcome"], changed["reason"] = "skipped", reason
    changed["phase"] = changed["category"] = changed["error"] = None
    changed["value_verdict"] = changed["deviation"] = None
    changed["cpu_control"] = changed["full_precision"] = changed["contaminated"] = None
    return changed


def _refusal(result: TestResult) -> str:
    """The line of an error, or of the output of a worker that ended, that says what was refused; '' if none does."""
    error = result["error"]
    texts = [result["output"]["text"]] if result["exit"] is not None else []
    if error is not None:
        of_causes = [f"{cause['type']}: {cause['message']}" for cause in error["causes"]]
        texts = [f"{error['type']}: {error['message']}", *of_causes, *texts]
    lines = (line.strip() for text in texts for line in text.splitlines())
    return next((line[:200] for line in lines if any(word in line for word in _REFUSED_WORDS)), "")


def _landlock_version() -> int:
    if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES:
        return 0
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))))


def _has_seccomp() -> bool:
    if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES:
        return False
    return bool(_libc.prctl(_GET_SECCOMP, 0, 0, 0, 0) >= 0)


def _promise() -> None:
    """Neither this process nor what it starts can gain rights: the condition for confining oneself without any."""
    if _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise _failure("prctl")


def _nodes(device: str) -> Iterable[str]:
    yield from _NODES
    for pattern in _DEVICE_NODES.get(device, ()):
        yield from map(str, Path("/").glob(pattern[1:]))


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if path.is_dir() else rights & (_WRITE_FILE | _TRUNCATE)
        _call(_ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, descriptor), 0)
    finally:
        os.close(descriptor)


def _filter(architecture: _Architecture, programs_too: bool) -> bytes:
    """A program of the kernel's packet filter, which sees the number of a call and its arguments."""
    load, mask, equal, at_least, end = 0x20, 0x54, 0x15, 0x35, 0x06
    number, arch, argument = 0, 4, 16
    refuse, absent, allow = (end, 0, 0, 0x00050001), (end, 0, 0, 0x00050026), (end, 0, 0, 0x7FFF0000)
    program = [(load, 0, 0, arch), (equal, 1, 0, architecture.audit), refuse, (load, 0, 0, number)]
    # The other numbers of x86-64, which the lists do not have.
    program += [(at_least, 0, 1, 0x40000000), refuse]
    for call in (*architecture.refused, *(architecture.programs if programs_too else ())):
        # For io_uring and openat2, programs have another way if the kernel is too old for them.
        program += [(equal, 0, 1, call), absent if call in (425, 437) else refuse]
    for call in architecture.signals:
        program += [(equal, 0, 4, call), (load, 0, 0, argument), (equal, 0, 1, os.getpid()), allow, refuse]
    for call, flags in architecture.opens:
        # Landlock before Linux 6.2 does not refuse to truncate what is opened for reading.
        program += [(equal, 0, 5, call), (load, 0, 0, argument + 8 * flags), (mask, 0, 0, os.O_ACCMODE | os.O_TRUNC)]
        program += [(equal, 0, 1, os.O_RDONLY | os.O_TRUNC), refuse, allow]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in [*program, allow])


def _call(number: int, *arguments: object) -> int:
    """A system call. Numbers are passed as 64 bits, bytes as the address of a copy."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    answer = int(_libc.syscall(ctypes.c_long(number), *given))
    if answer:
        if answer > 0 and number == _CREATE_RULESET:
            return answer
        raise _failure(f"system call {number}")
    return answer


def _failure(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"the sandbox cannot be set up: {what}: {os.strerror(number)}")

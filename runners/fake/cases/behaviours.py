"""Every way in which a test can end, each on request."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runners.core.testing.trial import Trial
from runners.fake import library
from runners.fake.library import Tensor


def passes(trial: Trial) -> None:
    trial.check(trial.call(1) == 1, "identity changed its argument")


def prints_its_process(trial: Trial) -> None:
    """Prints the process and how many tests it has run, this one included."""
    library.served = getattr(library, "served", 0) + 1
    passes(trial)
    print(f"process {os.getpid()} test {library.served}", flush=True)


def keeps_memory(trial: Trial, megabytes: int) -> None:
    """Keeps memory as long as the process lives, as a framework keeps what it compiled; else as the case above."""
    library.kept = (*getattr(library, "kept", ()), os.urandom(1024) * 1024 * megabytes)
    prints_its_process(trial)


def fails(trial: Trial) -> None:
    trial.check(trial.call(1) == 2, "expected 2, got 1")


def raises(trial: Trial, message: str = "no such luck") -> None:
    trial.call(1)
    raise ValueError(message)


def refused(trial: Trial) -> None:
    trial.call(1)
    trial.check(False, "the function should have refused")


def skips(trial: Trial) -> None:
    trial.skip("needs what this machine has not")


def hangs(trial: Trial) -> None:
    trial.call(1)
    while True:
        signal.pause()


def hangs_on_request(trial: Trial) -> None:
    """Hangs where the environment variable FAKE_HANGS is set."""
    if os.environ.get("FAKE_HANGS"):
        hangs(trial)
    passes(trial)


def hangs_once(trial: Trial) -> None:
    """Hangs until the file that the environment variable FAKE_ONCE names is there, which it creates."""
    once = Path(os.environ["FAKE_ONCE"])
    if not once.exists():
        once.touch()
        hangs(trial)
    passes(trial)


def meets(trial: Trial, name: str, other: str) -> None:
    """Creates a file in the folder that the environment variable FAKE_MEETS names, and waits for another one there."""
    folder = Path(os.environ["FAKE_MEETS"])
    (folder / name).touch()
    while not (folder / other).exists():
        time.sleep(0.01)
    trial.call(Tensor([1.0]))
    trial.check(True, "")


def notes_its_time(trial: Trial, name: str) -> None:
    """Writes when it begins and ends to a file in the same folder."""
    begin = time.monotonic_ns()
    trial.call(Tensor([1.0]))
    time.sleep(0.05)
    (Path(os.environ["FAKE_MEETS"]) / name).write_text(f"{begin} {time.monotonic_ns()}")
    trial.check(True, "")


def ends_as_listed(trial: Trial) -> None:
    """Ends as the first word says of the file that the environment variable FAKE_ENDS names, and removes that word."""
    ends = Path(os.environ["FAKE_ENDS"])
    end, *others = ends.read_text().split()
    ends.write_text(" ".join(others))
    {"passes": passes, "raises": raises, "is_killed": is_killed}[end](trial)


def gives_an_unusable_result(trial: Trial) -> None:
    """A time in fractions of a nanosecond, which no run file can hold."""
    passes(trial)
    trial.calls[0]["cold"] = {"call_ns": 0.5, "wait_ns": None, "counters": {}}


def skips_with_a_surrogate(trial: Trial) -> None:
    trial.skip("no \ud800 here")


def hangs_in_call(trial: Trial) -> None:
    trial.call_inside(lambda function: (function(1), signal.pause()))


def hangs_deaf(trial: Trial) -> None:
    """Hangs in C with every signal blocked that can be."""
    trial.call(1)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    ctypes.CDLL(None).pause()


def prints_forever(trial: Trial) -> None:
    trial.call(1)
    while True:
        os.write(1, b"and on and on\n" * 1000)


def segfaults(trial: Trial) -> None:
    trial.call_inside(lambda function: (function(1), ctypes.string_at(0)))


def aborts(trial: Trial) -> None:
    trial.call(1)
    os.abort()


def is_killed(trial: Trial) -> None:
    trial.call(1)
    os.kill(os.getpid(), signal.SIGKILL)


def exits_silently(trial: Trial) -> None:
    trial.call(1)
    os._exit(0)


def prints_its_inputs(trial: Trial) -> None:
    """Prints the random number that it calls the function with."""
    number = float(trial.random(dtype="float64", seed=1))
    trial.check(trial.call(number) == number, "identity changed its argument")
    print(number, flush=True)


def exits(trial: Trial, status: int = 3) -> None:
    trial.call(1)
    sys.exit(status)


def prints(trial: Trial, megabytes: float = 0.001) -> None:
    """Writes rubbish to both streams: by Python, past Python, and into C's buffer."""
    trial.call(1)
    print('{"id": 1, "outcome": "passed"}')
    print("caf\udce9 \x1b[31m", file=sys.stderr, flush=False) if sys.stderr.errors != "strict" else None
    for descriptor in (1, 2):
        left = int(megabytes * 1e6 / 2)
        while left > 0:
            left -= os.write(descriptor, b"\xff\x00\x1b[2J rubbish\n" * 4096)
    ctypes.CDLL(None).puts(b"buffered in C")
    trial.check(True, "")


def closes_streams(trial: Trial) -> None:
    trial.call(1)
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    trial.check(True, "")


def leaks(trial: Trial, megabytes: int = 100_000) -> None:
    """Takes memory and touches it, up to an amount or its own end."""
    trial.call(1)
    kept = []
    for _ in range(megabytes):
        kept.append(bytearray(os.urandom(1024)) * 1024)
    trial.check(True, "")


def leaves_a_child(trial: Trial) -> None:
    """Starts a process that outlives the worker and holds its streams open; writes its number to the output."""
    trial.call(1)
    _start_child()
    os._exit(0)


def leaves_files(trial: Trial) -> None:
    """Writes to its working folder and to the temporary one, and cleans nothing up."""
    trial.call(1)
    Path("left-in-the-working-folder").write_text("x")
    _, name = tempfile.mkstemp()
    print(f"{Path.cwd()}|{name}", flush=True)
    trial.check(True, "")


def leaves_a_daemon(trial: Trial) -> None:
    """Forks twice into a session of its own, as daemons do, and passes; writes the daemon's number to the output."""
    trial.call(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            while True:
                signal.pause()
        os._exit(0)
    os.waitpid(child, 0)
    print(f"child {int(os.read(read, 20))}", flush=True)
    trial.check(True, "")


def leaks_in_children(trial: Trial, children: int = 4, megabytes: int = 100) -> None:
    """Processes that take memory, each less than the limit, and keep it."""
    trial.call(1)
    for _ in range(children):
        if os.fork() == 0:
            kept = os.urandom(1024) * 1024 * megabytes
            while kept:
                signal.pause()
    signal.pause()


def writes_into_every_descriptor(trial: Trial, text: str = "rubbish", times: int = 1) -> None:
    """The channel of the results is one of them."""
    trial.call(1)
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            for _ in range(times):
                os.write(descriptor, text.encode())
    trial.check(True, "")


def closes_every_descriptor(trial: Trial) -> None:
    trial.call(1)
    os.closerange(3, 64)
    trial.check(True, "")


def poisons(trial: Trial, how: str = "fails") -> None:
    """Passes, and leaves behind what makes every later test of the process fail, hang or crash."""

    trial.call(1)
    trial.check(True, "")
    library.poison = {"fails": _fail, "hangs": signal.pause, "crashes": os.abort}[how]


def poisons_the_host(trial: Trial) -> None:
    """The same, where the function does not refuse."""
    trial.call(trial.tensor([1.0]))
    trial.check(True, "")
    library.poison = _fail


def loses_the_device(trial: Trial) -> None:
    """Gives a kernel invalid input: all that the error says is that an assertion failed, as each later wait does."""
    library.poison = _assert_on_device
    trial.raises(["RuntimeError"], "probability", 1)


def is_itself(trial: Trial) -> None:
    trial.check(trial.call(trial.tensor([2.0]))[0] == 2.0, "another tensor came back")


def _fail() -> None:
    raise RuntimeError("Error while lowering: [] fake::scale, xla_shape=f32[0]")


def _assert_on_device() -> None:
    raise RuntimeError("CUDA error: device-side assert triggered\nCompile with `TORCH_USE_CUDA_DSA`")


def hangs_with_a_child(trial: Trial) -> None:
    """The same, and the worker hangs."""
    trial.call(1)
    _start_child()
    signal.pause()


def _start_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], close_fds=False)
    print(f"child {child.pid}", flush=True)


def not_finite(trial: Trial) -> None:
    """Meets NaN and infinities where finite numbers were expected."""
    output = trial.call(Tensor([1.0, 0.0, -1.0]), 0.0)
    trial.check(all(map(math.isfinite, output.values)), f"expected finite numbers, got {output.values}")


def inputs_fail_on_device(trial: Trial) -> None:
    """Makes its inputs on the host alone."""
    if trial.device != "cpu":
        raise NotImplementedError(f"inputs are not implemented for {trial.device}")
    passes(trial)


def checks_nothing(trial: Trial) -> None:
    trial.call(1)


def times_nothing(trial: Trial) -> None:
    trial.check(True, "")


def times_something_else(trial: Trial) -> None:
    trial.call_inside(lambda function: time.perf_counter())
    trial.check(True, "")


def scales(trial: Trial, factor: float = 2.0) -> None:
    output = trial.call(Tensor([1.0, 2.0, 3.0]), factor)
    trial.check(output.values == [factor, 2 * factor, 3 * factor], f"wrong products: {output.values}")


def scales_in_place(trial: Trial, factor: float = 2.0) -> None:
    tensor = trial.tensor([1.0, 2.0, 4.0])
    trial.repeatable = False
    trial.call(tensor, factor)
    trial.close(tensor, [factor, 2 * factor, 4 * factor])


def squares_back(trial: Trial) -> None:
    tensor = trial.tensor([2.0, 3.0, 5.0])
    trial.close(trial.numpy(trial.call(tensor)) ** 2, trial.numpy(tensor))


def is_positive(trial: Trial) -> None:
    trial.check(trial.call(trial.tensor([2.0, 3.0]))[0] > 0, "negative")


def sees_its_number(trial: Trial, number: int) -> None:
    """Whether each test gets its own parameters."""
    trial.check(trial.call(number) == number, "another number came back")

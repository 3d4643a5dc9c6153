"""Compiles programs for a TPU that is not there, in a process of its own: libtpu may abort, and it needs another Python
and other packages than the framework whose programs it gets.

PORTBENCH_TPU_COMPILER names that Python; its packages are those of target jax-0.10.2-tpu. Without it, this Python is
tried. The process ends with its client, however that ends.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Mapping

from runners.core.errors import DeviceUnavailable
from runners.core.prediction import prediction, tpus
from runners.core.prediction.prediction import Estimate, Unknown

PYTHON = "PORTBENCH_TPU_COMPILER"
_ROOT = Path(__file__).resolve().parents[3]
_LAST_WORDS = 2_000


class Refused(RuntimeError):
    """The compiler does not take a program; the message is the compiler's own."""

    recorded_as = "runners.core.compiling.Refused"


class Unreadable(Unknown):
    """A program cannot be put into StableHLO, in which alone the compiler can be asked: it never saw it."""


class Died(RuntimeError):
    """The compiler's process ended while it compiled a program; says how, and what it said last."""

    recorded_as = "runners.core.compiling.Died"


class Compiler:
    """Compiles for one model of TPU. Starts its process at once, but does not wait for it.

    ``compile`` after a death starts another process.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.model = tpus.MODELS[device]
        self._said: dict[str, str] | None = None
        self._start()

    @property
    def name(self) -> str:
        """Of the compiler, with its version: "libtpu 0.0.42.1". Raises DeviceUnavailable where it cannot be had."""
        return self._hello()["compiler"]

    @property
    def device_kind(self) -> str:
        """What the compiler calls the device: "TPU v3". Raises DeviceUnavailable where it cannot be had."""
        return self._hello()["device_kind"]

    @property
    def about(self) -> Mapping[str, str | None]:
        """The ``prediction`` object of a run file. Raises DeviceUnavailable where the compiler cannot be had."""
        return {"kind": "compiled", "compiler": self.name, "topology": self.model.topology}

    @property
    def facts(self) -> Mapping[str, str | int | float | bool | None]:
        """What is known of the device. Raises DeviceUnavailable where the compiler cannot be had."""
        return {
            "model": self.device_kind,
            "peak_flops_per_s": self.model.flops_per_s,
            "peak_bytes_per_s": self.model.bytes_per_s,
        }

    def compile(self, module: bytes, form: str) -> Estimate:
        """What the compiler tells of a program.

        ``form``: "hlo", a serialized HloModuleProto or an HloModule as text; or "stablehlo", a module as text, bytecode
        or portable artifact. One that comes again is not compiled again. Raises Refused, Unreadable, Died,
        DeviceUnavailable.
        """
        if self._process.poll() is not None:
            self.close()
            self._start()
        self._hello()
        with prediction.compiling():
            answer = self._ask(module, form)
        if "unreadable" in answer:
            raise Unreadable(f"a program cannot be put into StableHLO for the compiler: {answer['unreadable']}")
        if "refused" in answer:
            raise Refused(answer["refused"])
        return self._estimate(answer["compiled"])

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream
            stream.close()

    def _start(self) -> None:
        python = os.environ.get(PYTHON) or sys.executable
        # Flags of XLA are the client's, for what it computes itself.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XLA_FLAGS"))}
        self._said = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [python, "-m", "runners.jax.compile_server", self.model.topology],
                cwd=_ROOT,
                env={**kept, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            raise self._unavailable(str(error)) from error

    def _hello(self) -> dict[str, str]:
        if self._said is None:
            said = self._answer()
            if said is None or "unavailable" in said:
                raise self._unavailable(said["unavailable"] if said else self._ended())
            self._said = said
        return self._said

    def _unavailable(self, why: str) -> DeviceUnavailable:
        return DeviceUnavailable(
            f"nothing here compiles for {self.device}: {why}",
            f"Let portbench make the environment of this target, or name in {PYTHON} a Python that has jax and libtpu "
            "as images/jax/0.10.2/tpu.lock pins them.",
        )

    def _ask(self, module: bytes, form: str) -> dict[str, Any]:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps({"form": form, "bytes": len(module)}).encode() + b"\n" + module)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Died(self._ended()) from None
        answer = self._answer()
        if answer is None:
            raise Died(self._ended())
        return answer

    def _answer(self) -> dict[str, Any] | None:
        assert self._process.stdout
        line = self._process.stdout.readline()
        answer: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return answer

    def _ended(self) -> str:
        status = self._process.wait()
        how = f"was ended by {_signal(-status)}" if status < 0 else f"ended with exit status {status}"
        return f"the compiler {how}: {self._last_words() or 'it said nothing'}"

    def _last_words(self) -> str:
        """What the process said last: the failed check, from which a dump of the stack follows, if there is one."""
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace")
        failed = re.findall(r"^F\d{4} [\d:.]+ +\d+ (.*)", said, re.MULTILINE)
        return (failed[-1] if failed else said[-_LAST_WORDS:]).strip()

    def _estimate(self, figures: dict[str, Any]) -> Estimate:
        flops, moved = figures["flops"], figures["bytes"]
        told = {name: figures[name] for name in ("flops", "bytes", "memory_bytes")}
        told["compile_ns"] = {figures["program"]: figures["compile_ns"]}
        if flops is None or moved is None:
            return Estimate(**told)
        # The compiler counts an array anew for each operation that reads it; what comes in and goes out is moved once
        # at least, unless it is not read whole.
        passed = figures["argument_bytes"] + figures["output_bytes"]
        return Estimate(**told, roofline_ns=tpus.roofline_ns(self.model, flops, min(moved, passed)))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

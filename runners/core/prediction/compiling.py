"""Compiles programs for an absent TPU or GPU, in a process of its own: a compiler may abort, and it needs another
Python and other packages than the framework whose programs it compiles.

PORTBENCH_TPU_COMPILER and PORTBENCH_GPU_COMPILER are the paths of that Python; its packages are those of the targets
that portbench.targets.catalog names. Without the variable, this Python is tried. The process ends when its client ends.
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
from runners.core.prediction import gpus, prediction, tpus
from runners.core.prediction.prediction import Estimate, Unknown

PYTHON, GPU_PYTHON = "PORTBENCH_TPU_COMPILER", "PORTBENCH_GPU_COMPILER"
_ROOT = Path(__file__).resolve().parents[3]
_LAST_WORDS = 2_000


class Refused(RuntimeError):
    """The compiler refuses a program; the message is the compiler's own."""

    recorded_as = "runners.core.compiling.Refused"


class Unreadable(Unknown):
    """A program cannot be converted to StableHLO, the only format that the compiler takes."""


class Died(RuntimeError):
    """The compiler's process ended while it compiled a program; the message says how, and has its last output."""

    recorded_as = "runners.core.compiling.Died"


class Compiler:
    """Compiles for one model of TPU or GPU. Starts its process at once, but does not wait for it. ``platform``: JAX's
    name of the kind of device, tpu or cuda.

    If the process has died, ``compile`` starts another one.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.platform = "cuda" if device in gpus.MODELS else "tpu"
        self.model = {**tpus.MODELS, **gpus.MODELS}[device]
        self._python = GPU_PYTHON if device in gpus.MODELS else PYTHON
        self._said: dict[str, str] | None = None
        self._start()

    @property
    def name(self) -> str:
        """The compiler with its version: "libtpu 0.0.52". Raises DeviceUnavailable if there is no compiler."""
        return self._hello()["compiler"]

    @property
    def device_kind(self) -> str:
        """The compiler's name of the device: "TPU v3". Raises DeviceUnavailable if there is no compiler."""
        return self._hello()["device_kind"]

    @property
    def about(self) -> Mapping[str, str | None]:
        """The ``prediction`` object of a run file. Raises DeviceUnavailable if there is no compiler."""
        return {"kind": "compiled", "compiler": self.name, "topology": self.model.topology}

    @property
    def facts(self) -> Mapping[str, str | int | float | bool | None]:
        """Facts about the device. Raises DeviceUnavailable if there is no compiler."""
        return {
            "model": self.device_kind,
            "peak_flops_per_s": self.model.flops_per_s,
            "peak_bytes_per_s": self.model.bytes_per_s,
            "memory_bytes": self.model.memory_bytes,
        }

    def compile(self, module: bytes, form: str) -> Estimate:
        """Compiles a program and returns the compiler's figures.

        ``form``: "hlo", a serialized HloModuleProto or an HloModule as text; or "stablehlo", a module as text, bytecode
        or portable artifact. A program that was compiled before is not compiled again. Raises Refused, Unreadable,
        Unknown, Died, DeviceUnavailable.
        """
        if self._process.poll() is not None:
            self.close()
            self._start()
        self._hello()
        answer = self._answered(module, form)
        if "unreadable" in answer:
            raise Unreadable(
                f"a program cannot be converted to StableHLO for the compiler: {answer['unreadable'][:_LAST_WORDS]}"
            )
        if "unknown" in answer:
            raise Unknown(f"the compiler gave no verdict on a program: {answer['unknown'][:_LAST_WORDS]}")
        if "refused" in answer:
            raise Refused(answer["refused"])
        return self._estimate(answer["compiled"])

    def _answered(self, module: bytes, form: str) -> dict[str, Any]:
        """The answer of the process. Raises Died; for a GPU Unknown, since XLA may end where it needs the device."""
        if self.platform == "tpu":
            with prediction.compiling():
                return self._ask(module, form)
        try:
            return self._ask(module, form)
        except Died as error:
            raise Unknown(f"the compiler gave no verdict on a program: {error}") from error

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream
            stream.close()

    def _start(self) -> None:
        python = os.environ.get(self._python) or sys.executable
        # The flags of XLA are those of the client, for its own computations, and so is a library in libtpu's place.
        own = ("PYTHON", "XLA_FLAGS", "TPU_LIBRARY_PATH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        self._said = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [python, "-m", "runners.jax.compile_server", self.device],
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
            f"there is no compiler for {self.device}: {why}",
            f"Let portbench create the environment of this target, or set {self._python} to a Python that has the "
            f"packages of images/jax/*/{'gpu-aot' if self.platform == 'cuda' else 'tpu'}.lock.",
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
        return f"the compiler {how}: {self._last_words() or 'without output'}"

    def _last_words(self) -> str:
        """The last output of the process: the failed check before a dump of the stack, if there is one."""
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace")
        failed = re.findall(r"^F\d{4} [\d:.]+ +\d+ (.*)", said, re.MULTILINE)
        return (failed[-1] if failed else said[-_LAST_WORDS:]).strip()

    def _estimate(self, figures: dict[str, Any]) -> Estimate:
        flops, moved = figures["flops"], figures["bytes"]
        known = {name: figures[name] for name in ("flops", "bytes", "memory_bytes")}
        known["compile_ns"] = {figures["program"]: figures["compile_ns"]}
        known["libraries"] = figures.get("libraries", ())
        if flops is None or (moved is None and self.platform == "tpu"):
            return Estimate(**known)
        # The compiler counts an array again for each operation that reads it. Inputs and outputs are moved at least
        # once, unless they are not read completely.
        passed = figures["argument_bytes"] + figures["output_bytes"]
        return Estimate(
            **known, roofline_ns=tpus.roofline_ns(self.model, flops, passed if moved is None else min(moved, passed))
        )


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

"""The fingerprint of a failure: failures with one cause have one fingerprint, whatever test, run, version and machine.

The cause is the exception's type and the first sentence of its message, without the parts that differ between
occurrences (addresses, numbers, shapes, quoted values, paths). Without an exception it is how the worker ended and
where, as far as the worker's output says. Where that says little (wrong values, a hang at an unknown place), the cause
has the function too. The fingerprint is a digest of framework and cause.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from portbench.util.messages import ANSI, LONGEST, first_line

_CAUSE_LIMIT = 200

# Exceptions with different names in different versions.
_RENAMED = {
    "NotImplementedError": "RuntimeError",
    "jaxlib.xla_extension.XlaRuntimeError": "jax.errors.JaxRuntimeError",
    "jaxlib._jax.XlaRuntimeError": "jax.errors.JaxRuntimeError",
    "torch.OutOfMemoryError": "RuntimeError",
    "torch.cuda.OutOfMemoryError": "RuntimeError",
    "torch.AcceleratorError": "RuntimeError",
}
_WRONG_VALUES = re.compile(r"runners\.core\.compare\.\w+")

_SENTENCE_END = re.compile(r"(?<=[\w'\"*>)\]#])[.!]\s+(?=[A-Z'\"*(])")
_OPERATION = re.compile(r"\[Op:(?!__inference)(\w+)\]")

# The order matters: later patterns match text that earlier ones have left.
_VOLATILE = (
    (re.compile(r"goo\.gle/debug\w+|\bdebugstr\w*"), ""),
    (re.compile(r"""(?<![\w'])'[^'\n]*'(?!\w)|(?<![\w"])"[^"\n]*"(?!\w)|`[^`\n]+`"""), "'*'"),
    (re.compile(r"__inference_[\w<>./-]+(?:\[[^\]]*\])?"), "__inference_*"),
    (re.compile(r"(?<=compile graph )[^\s\[]+(?:\[[^\]]*\])?|(?<=device for operation )[^\s:]+"), "*"),
    (re.compile(r"\{\{node [^}]*\}\}"), "{{node *}}"),
    (re.compile(r"\b(?:pred|bf16|[fsuc]\d{1,3})\[[^\[\]\s]*\](?:\{[^{}\s]*\})?"), "<shape>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"(?:\b[A-Za-z]:)?(?<![\w.<])(?:/[\w.+@:~-]+){2,}/?"), "<path>"),
    (re.compile(r"(?<=_device_)(?:/[\w.+@:~-]+){2,}/?"), "<path>"),
    (re.compile(r"(?<=[A-Za-z][._])\d+\b|(?<=\bvar)\d+|(?<=_AnonymousVar)\d+"), "#"),
    (re.compile(r"(?<![A-Za-z_0-9])[-+]?\d+(?:\.\d+)*(?:[eE][-+]?\d+)?(?![A-Za-z_0-9])"), "#"),
    (re.compile(r"(?<![A-Za-z_0-9])[-+]?\d[\d.]{0,40}(?=[KMGT]i?B?\b)"), "#"),
    (re.compile(r"# ?(?:[KMGT]i?B?|bytes?)\b"), "# bytes"),
    (re.compile(r"#(?:\s?[,x]\s?#)+,?"), "#"),
    (re.compile(r"(<path>|<shape>)(?:, \1)+"), r"\1"),
    (re.compile(r"\s+"), " "),
)

_FATAL_LINE = re.compile(r"^F\d{4}\b.{0,400}?([\w.-]{1,100}\.(?:cc|cpp|cu|h)):\d{1,6}\] (.*)$", re.MULTILINE)
_TERMINATED = re.compile(r"^terminate called after throwing an instance of '([^']+)'(?:\s+what\(\):\s*([^\n]*))?", re.M)
_STACK = re.compile(r"^(?:Current thread|Thread) .*\(most recent call first\):\n((?:  File .*\n?)+)", re.MULTILINE)
_CURRENT = re.compile(r"^Current thread .*\(most recent call first\):\n((?:  File .*\n?)+)", re.MULTILINE)
_FRAME = re.compile(r'^  File "[^"]*/(?:site|dist)-packages/([^"]*)", line \d+ in (.+)$', re.MULTILINE)


@dataclass(frozen=True)
class Failure:
    """The facts of a result that did not pass. ``error_type`` is None where no exception was raised."""

    framework: str
    function: str
    outcome: str
    phase: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    exit_signal: str | None = None
    exit_code: int | None = None
    oom_killed: bool | None = None
    output: str | None = None


def fingerprint(failure: Failure) -> str:
    """Twelve hexadecimal digits, the same for failures with the same cause."""
    return fingerprint_of_cause(failure.framework, cause(failure))


def fingerprint_of_cause(framework: str, cause: str) -> str:
    """The fingerprint of the failures of a framework with a ``cause``."""
    return hashlib.sha256(f"{framework}\n{cause}".encode("utf-8", "replace")).hexdigest()[:12]


def cause(failure: Failure) -> str:
    """The cause in words, without anything that differs between two failures of the same cause."""
    if failure.error_type is not None:
        return _of_exception(failure, failure.error_type, failure.error_message or "")
    where = crash_site(failure.output or "") or failure.function
    if failure.outcome == "timed_out":
        return f"timed out in {failure.phase or 'unknown phase'}: {where}"
    if failure.oom_killed:
        # Studies and annotations have the fingerprint of these very words.
        return f"killed for want of memory: {failure.function}"
    how = failure.exit_signal or ("unknown end" if failure.exit_code is None else f"exit status {failure.exit_code}")
    return f"{how}: {where}"


def normalised(message: str) -> str:
    """The first sentence of a message, without the parts that differ between occurrences."""
    operation = _OPERATION.search(ANSI.sub("", message[:LONGEST]))
    line = first_line(message)
    for pattern, instead in _VOLATILE:
        line = pattern.sub(instead, line)
    sentence = _SENTENCE_END.split(line.strip(), maxsplit=1)[0].rstrip(" .:!")[:_CAUSE_LIMIT].rstrip()
    mark = f" [Op:{operation[1]}]" if operation and operation[0] not in sentence else ""
    return sentence + mark


def crash_site(output: str) -> str:
    """Where a worker was when it ended, by the last of its output; '' if the output does not say."""
    output = ANSI.sub("", output)
    if fatal := _FATAL_LINE.findall(output):
        return f"{fatal[-1][0]}: {normalised(fatal[-1][1])}"
    if thrown := _TERMINATED.findall(output):
        return f"{thrown[-1][0]}: {normalised(thrown[-1][1])}".rstrip(" :")
    stacks = _CURRENT.findall(output) or _STACK.findall(output)
    # The innermost frame of a package: a frame of Python itself or of a runner says nothing about the cause.
    frames = _FRAME.findall(stacks[-1]) if stacks else []
    return next((f"{path} in {function}" for path, function in frames), "")


def _of_exception(failure: Failure, kind: str, message: str) -> str:
    if _WRONG_VALUES.fullmatch(kind):
        sentence = normalised(message)
        difference = sentence if sentence.startswith("dtype") else sentence.split(":", 1)[0]
        return f"{difference}: {failure.function}"
    sentence = normalised(message)
    name = _RENAMED.get(kind, kind) if sentence else kind
    of_function = f": {failure.function}" if kind == "AssertionError" or not sentence else ""
    return f"{name}: {sentence}{of_function}" if sentence else f"{name}{of_function}"

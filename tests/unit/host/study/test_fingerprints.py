"""Failures with one cause have one fingerprint; failures with another cause have another."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.study.fingerprints import Failure, cause, fingerprint
from portbench.util.messages import first_line

TF = "tensorflow.python.framework.errors_impl.InvalidArgumentError"
XLA_OLD, XLA_NEW = "jaxlib.xla_extension.XlaRuntimeError", "jax.errors.JaxRuntimeError"
PLACE = (
    "Could not satisfy device specification '/job:localhost/replica:0/task:0/device:{0}:0'. enable_soft_placement=0."
)


def failed(kind: str, message: str, framework: str = "torch", **facts: Any) -> Failure:
    """A failure by an exception."""
    stated = {"framework": framework, "function": "torch.sort", "outcome": "failed", "phase": "call"}
    return Failure(**(stated | facts), error_type=kind, error_message=message)


def crashed(output: str, function: str = "torch.sort", signal: str = "SIGSEGV") -> Failure:
    """A worker that was ended by a signal."""
    return Failure("torch", function, "crashed", "call", exit_signal=signal, output=output)


R = "RuntimeError"
SAME = [
    # addresses, numbers, sizes with their units
    ((R, "tensor at 0x7f00aa is broken"), (R, "tensor at 0x55cd12ff is broken")),
    (
        (R, "CUDA out of memory. Tried to allocate 2.00 GiB"),
        (R, "CUDA out of memory. Tried to allocate 20 MiB (GPU 1)"),
    ),
    ((R, "Out of memory allocating 281474976710656 bytes."), (R, "Out of memory allocating 4096 bytes.")),
    # quoted values, shapes, layouts
    ((R, "\"svd_cpu\" not implemented for 'Half'"), (R, "\"sort_cpu\" not implemented for 'BFloat16'")),
    ((R, "cannot multiply [2, 3] and [4]"), (R, "cannot multiply [20,1,7] and [1, 9]")),
    ((R, "bad slice of f32[2,0]{1,0}, f32[3]"), (R, "bad slice of c64[8]")),
    # device ordinals
    ((R, "Expected a cuda device, but got: xla:0"), (R, "Expected a cuda device, but got: xla:1")),
    # paths, lines of sources
    ((R, "no file /home/ann/a.bin"), (R, "no file /srv/data/run-7/b.bin")),
    ((R, "[enforce fail at alloc_cpu.cpp:73] . no memory"), (R, "[enforce fail at alloc_cpu.cpp:124] . no memory")),
    # what a terminal is sent
    ((R, "\x1b[31mno kernel\x1b[0m"), (R, "no kernel")),
    # one exception with several names over the versions
    ((R, "Sort is not supported"), ("NotImplementedError", "Sort is not supported")),
    ((XLA_OLD, "UNIMPLEMENTED: no"), (XLA_NEW, "UNIMPLEMENTED: no")),
    (("torch.cuda.OutOfMemoryError", "CUDA out of memory. 1"), ("torch.OutOfMemoryError", "CUDA out of memory. 2")),
    # what follows the first sentence: advice that changes with the version, stacks
    (
        (R, "Could not run 'aten::a' with arguments from the 'XLA' backend. If you are a Facebook employee\nframe #0"),
        (R, "Could not run 'aten::b' with arguments from the 'XLA' backend. If you are a Meta employee"),
    ),
    # TensorFlow's headings, names of nodes and of traced functions
    (
        (TF, "Graph execution error:\n\nCannot assign a device for operation add_1: no kernel"),
        (TF, "Cannot assign a device for operation concat: no kernel"),
    ),
    (
        (TF, "Graph execution error:\n\nDetected at node 'a' defined at:\n  File \"x.py\"\nNode: 'a'\nno kernel"),
        (TF, "2 root error(s) found.\n  (0) no kernel"),
    ),
    (
        (TF, "unsupported in __inference_f_17[_XlaMustCompile=true]: PyFunc"),
        (TF, "unsupported in __inference_<lambda>_6: PyFunc"),
    ),
    (
        (TF, 'in user code:\n\n    File "a.py", line 3, in f\n        x()\n\n    ValueError: no rank\n'),
        (TF, 'in user code:\n\n    File "b.py", line 9, in g\n\n    ValueError: no rank\n'),
    ),
]


@pytest.mark.parametrize(
    ("message", "first"),
    [
        (
            "Graph execution error:\n\nDetected at node 'a' defined at:\n  File \"x.py\"\nNode: 'a'\nno kernel\nmore",
            "no kernel",
        ),
        ("2 root error(s) found.\n  (0) no kernel\n  (1) no kernel", "no kernel"),
        ("\x1b[1m\n sizes 2 and 3 differ \nmore", "sizes 2 and 3 differ "),
        ("", ""),
    ],
)
def test_the_first_line_of_a_message_is_no_heading(message: str, first: str) -> None:
    assert first_line(message) == first


@pytest.mark.parametrize(("one", "other"), SAME)
def test_parts_that_differ_between_occurrences_do_not_count(one: Any, other: Any) -> None:
    assert cause(failed(*one)) == cause(failed(*other))
    assert fingerprint(failed(*one)) == fingerprint(failed(*other))


OTHERS = [
    ((R, "no kernel"), (R, "no memory")),
    ((R, "no kernel"), ("ValueError", "no kernel")),
    ((R, "Operands must be f32"), (R, "Operands must be c64")),
    ((R, "Error while lowering: [] aten::isnan, f32[2]"), (R, "Error while lowering: [] aten::svd, f32[2]")),
    ((TF, PLACE.format("TPU") + " [Op:RandomGamma]"), (TF, PLACE.format("TPU") + " [Op:Svd]")),
    (("NotImplementedError", ""), (R, "")),
]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_cause_is_another_fingerprint(one: Any, other: Any) -> None:
    assert fingerprint(failed(*one)) != fingerprint(failed(*other))


def test_test_run_function_and_phase_do_not_count_if_the_message_has_the_cause() -> None:
    here = failed(R, "no kernel")
    assert fingerprint(here) == fingerprint(failed(R, "no kernel", function="torch.svd", phase="wait"))
    assert fingerprint(here) != fingerprint(failed(R, "no kernel", framework="jax"))


@pytest.mark.parametrize("kind", ["runners.core.compare.Mismatch", "AssertionError"])
def test_wrong_values_are_one_cause_within_a_function_only(kind: str) -> None:
    def refused(function: str, worst: float) -> Failure:
        message = f"wrong value: 3 of 9 values differ, the worst by {worst}"
        return failed(kind, message, function=function, phase="compare")

    assert fingerprint(refused("torch.sort", 0.5)) == fingerprint(refused("torch.sort", 1e-7))
    assert fingerprint(refused("torch.sort", 0.5)) != fingerprint(refused("torch.norm", 0.5))


STACK = """Fatal Python error: Segmentation fault

Current thread 0x00007f1200 (most recent call first):
  File "{home}/selectors.py", line {line} in select
  File "{home}/site-packages/torch/functional.py", line {line} in norm
  File "{clone}/runners/core/call.py", line 3 in run
"""
FATAL = (
    "I0521 9:1 1 a.cc:1] fine\n"
    "F0521 12:00:0{0} {0} xprecision_rewriter.cc:210{0}] Unsupported CVT from pred[{0}] to c128\n"
)
THROWN = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc at 0x{0}\n"


@pytest.mark.parametrize(
    ("one", "other", "site"),
    [
        (
            STACK.format(home="/usr/lib/python3.8", line=3, clone="/a"),
            "noise\n" + STACK.format(home="/opt/py/3.10", line=77, clone="/b/c"),
            "torch/functional.py in norm",
        ),
        (
            FATAL.format(1),
            "\x1b[1m" + FATAL.format(2) + "*** Aborted at 17\n",
            "xprecision_rewriter.cc: Unsupported CVT",
        ),
        (THROWN.format(1), THROWN.format(2), "std::bad_alloc"),
    ],
)
def test_the_cause_of_a_crash_is_its_site(one: str, other: str, site: str) -> None:
    here, there = crashed(one), crashed(other, function="torch.norm")
    assert site in cause(here)
    assert fingerprint(here) == fingerprint(there)
    assert fingerprint(here) != fingerprint(crashed(one, signal="SIGABRT"))


def test_an_end_without_useful_output_has_a_cause_for_each_function() -> None:
    own_frames = 'Current thread 0x1 (most recent call first):\n  File "/a/runners/core/call.py", line 3 in run\n'
    for output in ("", "Segmentation fault", own_frames):
        assert cause(crashed(output)) == "SIGSEGV: torch.sort"
    hung = Failure("torch", "torch.sort", "timed_out", "wait", exit_signal="SIGKILL", output="")
    assert cause(hung) == "timed out in wait: torch.sort"
    left = Failure("torch", "torch.sort", "crashed", "call", exit_code=0)
    assert cause(left) == "exit status 0: torch.sort"
    killed = Failure("torch", "torch.sort", "crashed", "call", exit_signal="SIGKILL", oom_killed=True)
    assert cause(killed) == "killed for want of memory: torch.sort"


numbers = st.integers(0, 10**12) | st.floats(0, 1e9, allow_nan=False, allow_infinity=False)


@given(
    st.tuples(numbers, numbers), st.tuples(st.integers(0, 2**48), st.integers(0, 2**48)), st.lists(st.integers(0, 99))
)
def test_any_numbers_addresses_and_shapes(figures: Any, addresses: Any, shape: list[int]) -> None:
    ((one, other), (here, there)) = figures, addresses
    text = "got {} of shape ({}) at 0x{:x} on cuda:{}"
    before = text.format(one, ", ".join(map(str, [1, *shape])), here, here)
    after = text.format(other, ", ".join(map(str, [7, 8])), there, there)
    assert cause(failed(R, before)) == cause(failed(R, after))


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_gives_a_fingerprint(kind: str, message: str) -> None:
    for failure in (failed(kind, message), crashed(message)):
        assert re.fullmatch("[0-9a-f]{12}", fingerprint(failure))
        assert fingerprint(failure) == fingerprint(failure)


def test_a_long_hostile_message_is_fast() -> None:
    for text in ("'" * 8000, "/a" * 4000, "in user code:" + "\n   x" * 2000, "[" * 8000, "# " * 4000, "1," * 4000):
        assert fingerprint(failed(R, text)) == fingerprint(failed(R, text))
        assert fingerprint(crashed(text)) == fingerprint(crashed(text))


LINEAR = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
from portbench.study.fingerprints import Failure, cause
words = ("1", "1.", " ", "\\n", "/a", "'", "# ", "in user code:", "Graph execution error: Detected at node ", "a.",
    "f32[",    "\\x1b]", "Thread ", '  File "', "F0000 ", "F0000 aaaaaaaaaaaaaaaa",
    "expected ", "float ", "\\nnumerical:1", "1x", "{{node ")
for word in words:
    text = word * (100_000 // len(word))
    for end in ("", "x", "\\n"):
        cause(Failure("torch", "f", "failed", error_type="RuntimeError", error_message=text + end))
        cause(Failure("torch", "f", "crashed", exit_signal="SIGSEGV", output=(text + end)[:65_536]))
"""


def test_a_long_message_takes_linear_time() -> None:
    """The limit is one of CPU time, of the child: the machine may be busy."""
    subprocess.run([sys.executable, "-c", LINEAR], check=True)

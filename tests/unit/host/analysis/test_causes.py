"""Causes: the fewest lines that explain every failing test of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from portbench.analysis.causes import Cause, causes
from portbench.analysis.configurations import Configuration
from tests.unit.host.opened_study import opened

Document = dict[str, Any]
Make = Callable[..., Document]
GPU = Configuration("torch", "2.9.0", "gpu", "box")


def failing(make_result: Make, function: str, test: str, message: str, category: str = "type") -> Document:
    error = {"type": "RuntimeError", "message": message, "traceback": "", "causes": []}
    return make_result(function, test, outcome="failed", category=category, error=error)


def found(make_run: Make, results: list[Document], folder: Path) -> tuple[Cause, ...]:
    study = opened([make_run(results, target=str(GPU.target), machine=GPU.machine)], folder)
    return causes(study, {("torch", "torch.f0"): 7}).get(GPU, ())


def lines(shown: tuple[Cause, ...]) -> list[tuple[str, int, int]]:
    return [(cause.words, cause.tests, len(cause.functions)) for cause in shown]


def test_a_dtype_of_which_everything_fails_is_one_line(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    results = [make_result(f"torch.f{number}", "opinfo-float32") for number in range(4)]
    # Each says something else.
    results += [
        failing(make_result, f"torch.f{number}", "opinfo-complex128", f"{'abcd'[number]} failed") for number in range(4)
    ]
    (cause,) = found(make_run, results, tmp_path)
    assert (cause.words, cause.tests, cause.example) == ("all complex128", 4, ("torch.f0", "opinfo-complex128"))
    assert cause.functions == ("torch.f0", "torch.f1", "torch.f2", "torch.f3")
    assert cause.uses == 7


def test_a_dtype_explains_nothing_where_the_same_functions_fail_in_every_dtype(
    make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    results = [make_result("torch.nn.good", "opinfo-float32")]
    results += [
        failing(make_result, f"torch.f{number}", f"opinfo-{dtype}", "it failed", "other")
        for number in range(4)
        for dtype in ("float32", "int8")
    ]
    assert lines(found(make_run, results, tmp_path)) == [("RuntimeError: it failed", 8, 4)]


def test_a_module_of_which_nearly_everything_fails_is_one_line(
    make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    results = [make_result("torch.fft.good"), *(make_result(f"torch.f{number}") for number in range(9))]
    results += [
        failing(make_result, f"torch.fft.f{number}", "t", f"{'abcdefghi'[number]} failed") for number in range(9)
    ]
    assert lines(found(make_run, results, tmp_path)) == [("nearly all tests of torch.fft (9 of 10 tests)", 9, 9)]


def test_missing_kernels_are_named_by_dtype_or_by_operation(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    results = [make_result(f"torch.f{number}", f"good{run}[dtype=int8]") for number in range(5) for run in range(9)]
    missing = "no GPU kernel: the operation aten::pool has none"
    results += [
        failing(make_result, f"torch.f{number}", "t[dtype=int8]", f"\"{name}_cuda\" not implemented for 'Char'")
        for number, name in enumerate(("mm", "mv", "dot"))
    ]
    results += [
        failing(make_result, "torch.f4", f"t[dtype={dtype}]", missing, "not_implemented")
        for dtype in ("int16", "int32", "int64", "uint8")
    ]
    assert lines(found(make_run, results, tmp_path)) == [
        ("no kernel: aten::pool", 4, 1),
        ("no kernel for int8: dot_cuda, mm_cuda, mv_cuda", 3, 3),
    ]


def test_one_message_of_many_functions_is_one_line(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    wrong = {"type": "runners.core.compare.Mismatch", "traceback": "", "causes": []}
    results = [make_result(f"torch.f{number}", "good") for number in range(3)]
    results += [
        make_result(
            f"torch.f{number}",
            outcome="failed",
            category="other",
            error={**wrong, "message": f"wrong value: {number} of 5 values differ"},
        )
        for number in range(3)
    ]
    assert lines(found(make_run, results, tmp_path)) == [("wrong value: *", 3, 3)]


def test_each_failing_test_is_in_one_cause_and_passing_ones_are_in_none(
    make_run: Make, make_result: Make, tmp_path: Path
) -> None:
    results = [make_result("torch.good"), make_result("torch.skipped", outcome="skipped")]
    # A test that passed in one run did not pass.
    results += [make_result("torch.flaky", "t", 1), make_result("torch.flaky", "t", 2, outcome="crashed")]
    results += [failing(make_result, "torch.mm", f"t{number}", "mm(): not implemented") for number in range(3)]
    study = found(make_run, results, tmp_path)
    assert sum(cause.tests for cause in study) == 4
    assert [cause.functions for cause in study] == [("torch.mm",), ("torch.flaky",)]


def test_a_study_in_which_everything_passes_has_no_cause(make_run: Make, make_result: Make, tmp_path: Path) -> None:
    assert found(make_run, [make_result()], tmp_path) == ()

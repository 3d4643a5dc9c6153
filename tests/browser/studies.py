"""Studies for the browser tests: one with every outcome and category, one of which nothing ran, hostile text, and 6,000
functions on 20 targets, generated as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from tests.paths import EXAMPLES
from tests.unit.host.conftest import result_document, run_document, timed_call

Document = dict[str, Any]

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=document.title='broken'>"
HOSTILE_NAMES = (
    f"torch.{HOSTILE}",
    "torch.\"'`quotes`'\"",
    "torch.\x1b[2J\u202econtrol\u0000characters\nand lines",
    "=cmd|' /C calc'!A0",
    "torch.-->]]><![CDATA[{{7*7}}${7*7}",
)

_LARGE = Path(__file__).with_name("large.sql")


def every_outcome() -> list[Document]:
    """Run files with each outcome, category, mark and verdict: torch on cpu, gpu and tpu, and jax on cpu."""
    cpu, gpu, tpu = [], [], []
    for number in range(24):
        name = f"torch.works_{number}"
        for run in (1, 2, 3):
            cpu.append(_timed(name, run, 2 + number))
            gpu.append(_timed(name, run, 1 + number / 4))
            tpu.append(_timed(name, run, 0.5 * (1.4**number)))
    for category, kind, message in (
        ("type", "RuntimeError", "\"sort\" not implemented for 'ComplexHalf'"),
        (
            "not_implemented",
            "NotImplementedError",
            "Could not run 'aten::_sparse' with arguments from the 'SparseXLA' backend.",
        ),
        ("memory", "RuntimeError", "CUDA out of memory. Tried to allocate 2.00 GiB"),
        ("precision", "AssertionError", "imprecise: off by 0.004, allowed 1e-05"),
        ("other", "ValueError", "something that no rule speaks of"),
    ):
        name = f"torch.fails.{category}"
        numbers = {"value_verdict": "imprecise", "deviation": _DEVIATION} if category == "precision" else {}
        for run in (1, 2, 3):
            cpu.append(_timed(name, run, 3))
            gpu.append(_timed(name, run, 2))
            tpu.append(_failed(name, run, kind, message, category, cpu_control=_PASSED_AGAIN, **numbers))
    for run in (1, 2, 3):
        cpu += [_timed("torch.mixed_up", run, 1), _timed("torch.dot", run, 1), result_document("torch.hangs", "a", run)]
        gpu += [_timed("torch.mixed_up", run, 1), result_document("torch.dies", "a", run, outcome="crashed")]
        tpu += [
            result_document("torch.hangs", "a", run, outcome="timed_out"),
            result_document("torch.dies", "a", run, outcome="crashed"),
            result_document("torch.mixed_up", "a", run, placement=_placed("mixed", "aten::sort")),
            result_document("torch.on_host", "a", run, placement=_placed("host", "aten::nonzero", "aten::unique")),
            _failed(
                "torch.wrong",
                run,
                "AssertionError",
                "wrong values: off by 3.2",
                "other",
                value_verdict="wrong",
                deviation=_DEVIATION,
            ),
            result_document("torch.wrong", "b", run),
            result_document("torch.gone", "a", run, outcome="skipped"),
            result_document("torch.partly", "a", run),
            _failed(
                "torch.partly",
                run,
                "RuntimeError",
                "first line\n\nTried to allocate 2 GiB: RESOURCE_EXHAUSTED",
                "memory",
            ),
            result_document(
                "torch.again",
                "a",
                run,
                contaminated={"outcome": "crashed", "reason": "ended by SIGSEGV", "category": "crash", "error": None},
            ),
        ]
        tpu.append(
            result_document("torch.flaky", "a", run)
            if run < 3
            else result_document("torch.flaky", "a", run, outcome="crashed")
        )
        tpu.append(result_document("torch.instead", "a", run, successor_of="torch.gone"))
    listed = _listed({result["function"] for result in (*cpu, *gpu, *tpu) if not result.get("successor_of")})
    on_tpu = run_document(tpu, target="torch-2.9.0-tpu", machine="tpu-vm")
    on_tpu["manifest"]["functions"] = listed
    return [
        run_document(cpu, target="torch-2.9.0-cpu"),
        run_document(gpu, target="torch-2.9.0-gpu", machine="gpu-box"),
        on_tpu,
        run_document([_timed("jax.numpy.sort", run, 2) for run in (1, 2, 3)], target="jax-0.4.13-cpu"),
    ]


def predicted() -> list[Document]:
    """torch on a TPU v3, measured on one test and predicted on all; on another TPU predicted; and jax."""
    figures = {
        "compile_ns": 52_000_000,
        "flops": 4096.0,
        "bytes": 32768.0,
        "memory_bytes": 65536,
        "roofline_ns": 1250.0,
    }
    nothing = dict.fromkeys(figures)
    found = [
        result_document("torch.dot", calls=[], prediction={"verdict": "accepted", "reason": None, **figures}),
        _failed("torch.sort", 1, "XlaRuntimeError", "UNIMPLEMENTED: X64", "not_implemented")
        | {"prediction": {"verdict": "refused", "reason": "UNIMPLEMENTED: X64", **nothing}},
        result_document("torch.unique", outcome="skipped")
        | {
            "category": None,
            "reason": "unknown without the device: shapes depend on values",
            "prediction": {"verdict": "unknown", "reason": "shapes depend on values", **nothing},
        },
    ]
    documents = [run_document([result_document("torch.dot")], target="torch-2.9.0-tpu")]
    for device in ("tpu-v3", "tpu-v5e"):
        document = run_document(found, target=f"torch-2.9.0-{device}")
        document["prediction"] = {"kind": "compiled", "compiler": "libtpu 0.0.42.1", "topology": "v3:2x2"}
        documents.append(document)
    return documents


def nothing_ran() -> list[Document]:
    """A run file of which every test was skipped."""
    return [run_document([result_document(outcome="skipped"), result_document("torch.dot", outcome="skipped")])]


def hostile() -> list[Document]:
    """Names, messages and output that try to be HTML, script, formulas or control characters."""
    results = [result_document(name, HOSTILE) for name in HOSTILE_NAMES[1:]]
    results.append(
        _failed(
            HOSTILE_NAMES[0],
            1,
            HOSTILE,
            f"{HOSTILE}\n\x1b[31m\u202e",
            "other",
            output={"text": HOSTILE, "total_bytes": 90},
        )
    )
    return [run_document(results, machine=f"box {HOSTILE}")]


def large(folder: Path, functions: int, targets: int) -> None:
    """Writes the tables of a study of one framework with two tests a function into a folder."""
    connection = duckdb.connect()
    environment = json.dumps(run_document([])["environment"])
    for statement in duckdb.extract_statements(_LARGE.read_text("utf-8")):
        wanted = {"environment": environment, "targets": targets, "functions": functions}
        connection.execute(statement, {name: wanted[name] for name in statement.named_parameters})
    for table in ("runs", "results", "samples", "functions"):
        (folder / table).mkdir()
        connection.table(table).write_parquet(str(folder / table / "all.parquet"))


def write_runs(documents: Sequence[Document], folder: Path) -> Path:
    """Writes run files into a folder."""
    folder.mkdir(parents=True)
    for number, document in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps(document), "utf-8")
    return folder


_DEVIATION = {"dtype": "float32", "device": 3.2, "host": 1e-7, "other_seed": 3.1}
_PASSED_AGAIN = {"outcome": "passed", "reason": None, "category": None, "error": None}


def _listed(names: set[str]) -> list[Document]:
    """A manifest's functions with their strata; of one of them nothing was run."""
    strata = [(name, place % 10 + 1, place * 3) for place, name in enumerate(sorted(names))]
    return [
        {"name": name, "tests": 1, "decile": decile, "uses": uses, "top20": uses < 6, "listed_as": None}
        for name, decile, uses in [*strata, ("torch.never", 10, 1234)]
    ]


def _placed(verdict: str, *operations: str) -> Document:
    return {
        "verdict": verdict,
        "evidence": [f"{name} on cpu" for name in operations],
        "host_operations": list(operations),
    }


def _timed(name: str, run: int, ms: float) -> Document:
    blocks = tuple(int(ms * 2e6 * (1 + 0.01 * ((block * 7 + run) % 5))) for block in range(12))
    call = timed_call(call_ns=int(ms * 9e6 * (1 + run / 10)), wait_ns=200_000, block_ns=blocks)
    return result_document(name, "rows[dtype=float32]", run, calls=[call])


def _failed(name: str, run: int, kind: str, message: str, category: str, **facts: Any) -> Document:
    traceback = f'Traceback (most recent call last):\n  File "call.py", line 8, in run\n{kind}: {message}\n'
    error = {"type": kind, "message": message, "traceback": traceback, "causes": []}
    return result_document(
        name, "rows[dtype=complex64]", run, outcome="failed", error=error, category=category, **facts
    )


def write_counts(path: Path, uses: dict[str, int]) -> Path:
    """Writes a count of a corpus, with the resolved calls of functions of PyTorch."""
    data = json.loads((EXAMPLES / "counts/valid/two_functions.json").read_text("utf-8"))
    (entry, *_) = data["frameworks"]
    functions = [{"name": name, "identifier": uses[name], "resolved": uses[name], "files": 1} for name in uses]
    calls = {"identifier": sum(uses.values()), "resolved": sum(uses.values()), "both": 0}
    data["frameworks"] = [entry | {"framework": "torch", "functions": functions, "calls": calls}]
    path.write_text(json.dumps(data), "utf-8")
    return path

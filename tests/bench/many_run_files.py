"""Makes the run files of a large study, as runners write them: 20 targets, 6,000 functions each, 3 runs of 3 tests.

Each run file of a target is of a manifest of its own. One test in ten does not pass, in all runs alike: most fail with
a traceback, some hang, crash or are skipped. The rest has a first call and a steady measurement of 9 to 40 blocks.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

FRAMEWORKS = {
    "torch": ("1.12.0", "2.9.0"),
    "tensorflow": ("2.11.0", "2.21.0"),
    "jax": ("0.4.13",),
}
DEVICES = ("cpu", "gpu", "tpu", "xla")
RUNS = 3
TESTS = 3
_DTYPES = ("float32", "float64", "int32")
_MESSAGES = (
    "Dimension specified as {n} but tensor has no dimensions",
    "expected scalar type Float but found Half in argument #{n} 'mat2'",
    "aten::{name} is not implemented for the '{device}' device; set a fallback to run it on the host",
    "INVALID_ARGUMENT: Shapes must be equal rank, but are {n} and 2 for '{{{{node {name}}}}} = Pack[N=2, T=DT_FLOAT]'",
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate {n}73741824 bytes.",
)


def write_run_files(folder: Path, files: int = 2000, results: int = 500, seed: int = 7) -> int:
    """Writes ``files`` run files of ``results`` results each below ``folder`` and returns their size in bytes."""
    targets = [(name, version, device) for name, each in FRAMEWORKS.items() for version in each for device in DEVICES]
    folder.mkdir(parents=True, exist_ok=True)
    size = 0
    for number in range(files):
        target = targets[number % len(targets)]
        text = run_file(target, number // len(targets), results, random.Random(f"{seed} {number}"))
        (folder / f"{'-'.join(target)}-{number:05}.json").write_text(text, "utf-8")
        size += len(text)
    return size


def run_file(target: tuple[str, str, str], chunk: int, results: int, draw: random.Random) -> str:
    """The text of one run file: the chunk-th part of a target's functions."""
    framework, version, device = target
    per_function = RUNS * TESTS
    first = chunk * -(-results // per_function)
    rows = []
    for number in range(results):
        name = f"{framework}.{_word(first + number // per_function)}"
        test = f"rows[dtype={_DTYPES[number // RUNS % TESTS]}]"
        # What a test does it mostly does in all runs.
        outcome = random.Random(f"{target} {name} {test}")
        rows.append(_result(name, test, number % RUNS + 1, device, draw, outcome))
    names = dict.fromkeys(row["function"] for row in rows)
    manifest = f"sample-{framework}-{chunk:03}"
    head: dict[str, Any] = {
        "schema": "portbench/run",
        "schema_version": 4,
        "run_id": f"{draw.getrandbits(128):032x}",
        "target": {"framework": framework, "version": version, "device": device},
        "manifest": {
            "name": manifest,
            "sha256": hashlib.sha256(manifest.encode()).hexdigest(),
            "selection": [],
            "functions": [
                {
                    "name": name,
                    "tests": TESTS,
                    "decile": place % 10 + 1,
                    "uses": 7 * place,
                    "top20": place < 3,
                    "listed_as": None,
                }
                for place, name in enumerate(names)
            ],
        },
        "protocol": {
            "name": "both",
            "runs": RUNS,
            "timeout_s": 900.0,
            "steady_budget_s": 0.1,
            "shuffle": None,
            "mutant": None,
            "sync": "complete",
            "memory_bytes": None,
        },
        "environment": {
            "machine": "bench",
            "os": "Debian GNU/Linux 12 (bookworm)",
            "kernel": "6.1.0-18-amd64",
            "cpu_model": "AMD EPYC 7B13",
            "cpu_cores": 2,
            "memory_bytes": 25_000_000_000,
            "container": "docker",
            "image_digest": f"sha256:{hashlib.sha256(' '.join(target).encode()).hexdigest()}",
            "python": "3.10.13",
            "packages": {framework: version} | {f"package-{place}": f"1.{place}.0" for place in range(40)},
            "runner_commit": hashlib.sha256(framework.encode()).hexdigest()[:40],
            "runner_sha256": "b" * 64,
            "variables": {"OMP_NUM_THREADS": "2"},
            "device": {"model": "Tesla T4" if device == "gpu" else "AMD EPYC 7B13", "threads": 2, "tf32": False},
            "device_state": {"start": {}, "end": {}},
        },
        "started_at": f"2026-11-{chunk % 28 + 1:02}T09:00:00.123456Z",
        "ended_at": f"2026-11-{chunk % 28 + 1:02}T09:41:00.654321Z",
        "results": [],
    }
    before = json.dumps(head, indent=1)[: -len("[]\n}")]
    return before + "[\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]\n}\n"


def _word(number: int) -> str:
    return f"{('linalg', 'nn', 'signal', 'sparse')[number % 4]}.operation_{number}"


def _result(
    function: str, test: str, run: int, device: str, draw: random.Random, fixed: random.Random
) -> dict[str, Any]:
    outcome = fixed.choices(("passed", "failed", "timed_out", "crashed", "skipped"), (90, 8, 0.5, 0.5, 1))[0]
    result: dict[str, Any] = {
        "function": function,
        "test": test,
        "run": run,
        "case": "call",
        "successor_of": None,
        "outcome": outcome,
        "reason": None,
        "phase": None,
        "error": None,
        "calls": [],
        "placement": {"verdict": "unknown", "evidence": [], "host_operations": []},
        "sync_check": {
            "passed": True,
            "reason": None,
            "units": 1,
            "base_ns": 3_186_396,
            "grown_ns": 11_322_773,
            "ratio": 3.553,
            "left_ns": 388_176,
        },
        "case_ns": draw.randrange(10**6, 10**9),
        "exit": None,
        "category": None,
        "output": {"text": "", "total_bytes": 0},
        "worker": 1,
        "value_verdict": None,
        "deviation": None,
        "cpu_control": None,
        "full_precision": None,
    }
    if outcome == "passed":
        result["calls"] = [_call(draw)]
        result["placement"] = {
            "verdict": "device",
            "evidence": [f"output on {device}:0", f"{function} on {device}:0"],
            "host_operations": [],
        }
        result["value_verdict"] = "equal"
    elif outcome == "skipped":
        result |= {"reason": f"{function} needs two devices", "worker": 0, "case_ns": 0}
    elif outcome == "failed":
        name = function.rsplit(".", 1)[1]
        message = fixed.choice(_MESSAGES).format(n=fixed.randrange(1000), name=name, device=device.upper())
        result |= {"phase": "call", "category": "other", "error": _error(message, fixed)}
        again = {"outcome": "passed", "reason": None, "category": None, "error": None}
        result["cpu_control"] = again if device != "cpu" else None
    else:
        ended = {"code": None, "signal": "SIGKILL", "oom_killed": False, "peak_memory_bytes": 300_000_000}
        category = "timeout" if outcome == "timed_out" else "crash"
        result |= {"phase": "wait", "category": category, "exit": ended, "reason": "no result within 900 s"}
        text = f"F1121 09:00:{draw.randrange(60):02} 71 executor.cc:71] Check failed: n > {draw.randrange(99)}\n"
        result["output"] = {"text": text, "total_bytes": len(text)}
    return result


def _call(draw: random.Random) -> dict[str, Any]:
    block = draw.randrange(100_000, 3_000_000)
    counters = {"trace_ns": draw.randrange(200_000), "compile_ns": draw.randrange(90_000_000), "compilations": 1}
    return {
        "cold": {"call_ns": draw.randrange(10**6), "wait_ns": draw.randrange(10**8), "counters": counters},
        "steady": {
            "warmup_calls": draw.randrange(3, 400),
            "calls_per_block": 8,
            "block_ns": [block + draw.randrange(9_000) for _ in range(draw.choice((9, 10, 11, 11, 16, 40)))],
            "stable": True,
            "unmet": [],
            "median_interval_fraction": draw.random() / 50,
            "counters": {},
        },
        "observed": {"counters": {}},
    }


def _error(message: str, draw: random.Random) -> dict[str, Any]:
    frames = "".join(
        f'  File "/opt/portbench/runners/core/step_{place}.py", line {draw.randrange(20, 400)}, in step_{place}\n'
        f"    output = self._timed_call(call, args, kwargs)\n"
        for place in range(10)
    )
    text = f"Traceback (most recent call last):\n{frames}RuntimeError: {message}\n"
    return {"type": "RuntimeError", "message": message, "traceback": text, "causes": []}

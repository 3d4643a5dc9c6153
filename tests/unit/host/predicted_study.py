"""Run documents of predicted targets, for the tests of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from portbench.analysis.results import compute_results
from portbench.report.build import build_report
from portbench.report.markdown import markdown
from portbench.study.open import analysed, study_of
from portbench.tables.write import write_tables
from tests.unit.host.conftest import result_document, run_document

Document = dict[str, Any]

NO_FIGURES = dict.fromkeys(("compile_ns", "flops", "bytes", "memory_bytes", "roofline_ns"))
UNTRACED = "the call cannot be traced as one program: TracerBoolConversionError: Attempted boolean conversion"


def predicted_result(
    function: str = "torch.cat", test: str = "rows", verdict: str = "accepted", **facts: Any
) -> Document:
    """A result of a predicted target; ``facts`` replace keys of it, ``figures`` those of its prediction."""
    figures = facts.pop("figures", NO_FIGURES)
    result = result_document(
        function, test, outcome={"refused": "failed", "accepted": "passed"}.get(verdict, "skipped")
    )
    reason = {"refused": "it does not work", "unknown": UNTRACED}.get(verdict)
    result |= {"calls": [], "prediction": {"verdict": verdict, "reason": reason, **figures}}
    if verdict == "unknown":
        result |= {"category": None, "reason": f"unknown without the device: {UNTRACED}", "worker": 1}
    return result | facts


def predicted_run(results: list[Document], target: str = "torch-2.9.0-tpu-v3", **changes: Any) -> Document:
    """A run file of a predicted target; ``changes`` as for ``run_document``."""
    document = run_document(results, target=target, **changes)
    compiled = {"kind": "compiled", "compiler": "libtpu 0.0.42.1", "topology": "v3:2x2"}
    document["prediction"] = compiled
    document["environment"]["device"] = {"model": "TPU v3"}
    return document


def on_tpu(results: list[Document], model: str = "v3-8", target: str = "torch-2.9.0-tpu", **changes: Any) -> Document:
    """A run file of a TPU that was measured."""
    document = run_document(results, target=target, **{"machine": "tpu-vm", **changes})
    document["environment"]["device"] = {"accelerator_type": model}
    return document


def reported(runs: Path, folder: Path) -> str:
    """The report of run files as Markdown; the tables are written into ``folder``."""
    with study_of([str(runs)]) as study, analysed(study) as found:
        results = compute_results(found.connection)
        write_tables(results, folder)
        return markdown(build_report(found, predictions=results.predictions))

"""What would become of a recorded program on each target: its calls and their time, by what the replays show.

Nothing is pooled with a study's rates: a replay compares with the CPU of the same version only, and a program's calls
are no sample of a framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from portbench.formats.documents import Document
from portbench.record.advice import advise
from portbench.record.folder import manifests
from portbench.record.known import Known
from portbench.record.model import VERDICTS, WORST_FIRST, Data, Finding, Program, Share, TargetVerdict, Verdict
from portbench.record.results import run_files_of, target_of
from portbench.util.repository import Checkout

_PROGRAM = "program"
_NOT_REPEATED = "no test repeats these calls"


def judge(folder: Path, results: Sequence[Path], checkout: Checkout, known: Known | None = None) -> list[Verdict]:
    """The verdict of each manifest in the folder of a recording, by the run files in ``results`` that ran it.

    Of several run files of one target the newest counts. ``known``: what a study says of functions, for advice. Raises
    BadInput where there is no recording, or no run file of it.
    """
    recorded = manifests(folder)
    runs = run_files_of(recorded, results)
    found = [_of_manifest(manifest, runs.get(manifest.sha256, ())) for manifest in recorded]
    for target in (target for verdict in found for target in verdict.targets):
        advise(target, known or Known(), checkout)
    return found


def has_any(verdicts: Sequence[Verdict], wanted: Sequence[str]) -> bool:
    """Whether any call or whole program on any target has one of these verdicts."""
    targets = [target for each in verdicts for target in each.targets]
    return any(target.shares[name].calls for target in targets for name in wanted) or any(
        program.verdict in wanted for target in targets for program in target.programs
    )


def _of_manifest(manifest: Document, runs: Iterable[Document]) -> Verdict:
    all_, left_out = Share(), Share()
    for entry in manifest.data["recorded"]["left_out"]:
        left_out.add(entry)
        all_.add(entry)
    for function in manifest.data["functions"]:
        for test in function["tests"]:
            if "weight" in test:
                all_.add(test["weight"])
    return Verdict(manifest, all_, left_out, tuple(_of_target(run, manifest) for run in runs))


def _of_target(run: Document, manifest: Document) -> TargetVerdict:
    results: dict[tuple[str, str], list[Data]] = {}
    for result in run.data["results"]:
        results.setdefault((result.get("successor_of") or result["function"], result["test"]), []).append(result)
    programs = []
    # The program made its calls in this version: what fails on its CPU is no faithful repetition.
    target = run.data["target"]
    is_reference = target["device"] == "cpu" and target["version"] == manifest.data.get("written_for")
    shares = {verdict: Share() for verdict in VERDICTS}
    findings: dict[tuple[str, str], Finding] = {}

    def add(function: str, verdict: str, entry: Data, weight: Data, why: tuple[str, str | None]) -> None:
        shares[verdict].add(weight)
        findings.setdefault((function, verdict), Finding(function, verdict)).add(entry, weight, *why)

    for listed in manifest.data["functions"]:
        for test in listed["tests"]:
            found = results.get((listed["function"], test["id"]), [])
            verdict, message, category = _of_test(found)
            if verdict == "refused" and is_reference:
                verdict, message = "unknown", f"the CPU does not repeat the call: {message}"
            if test["case"] == _PROGRAM:
                programs.append(_program(test, found, (verdict, message, category), run))
            elif "weight" in test:
                add(listed["function"], verdict, test, test["weight"], (message, category))
    for entry in manifest.data["recorded"]["left_out"]:
        add(entry["function"], "unknown", entry, entry, (f"{_NOT_REPEATED}: {entry['reason']}", None))
    ranked = sorted(findings.values(), key=lambda each: (-each.share.seconds, -each.share.calls, each.function))
    others = [each for each in ranked if each.verdict != "runs"]
    running = sorted({each.function for each in ranked} - {each.function for each in others})
    return TargetVerdict(target_of(run), run, "prediction" in run.data, shares, others, running, programs)


def _program(test: Data, results: Sequence[Data], judged: tuple[str, str, str | None], run: Document) -> Program:
    verdict, message, category = judged
    predicted = max((result.get("prediction") or {} for result in results), key=_memory, default={})
    available = run.data["environment"]["device"].get("memory_bytes")
    return Program(
        name=test["id"].rpartition("-")[0] or test["id"],
        test=test["id"],
        operations=test.get("operations"),
        verdict=verdict,
        category=category,
        # What was not checked of a program that is accepted.
        message=message or predicted.get("reason") or "",
        memory_bytes=predicted.get("memory_bytes"),
        sites=tuple(test.get("sites", ())),
        device_bytes=available if isinstance(available, int) else None,
        flops=predicted.get("flops"),
        moved_bytes=predicted.get("bytes"),
    )


def _memory(predicted: Data) -> int:
    return predicted.get("memory_bytes") or 0


def _of_test(results: Sequence[Data]) -> tuple[str, str, str | None]:
    """The worst verdict of a test's results with its message and category."""
    if not results:
        return "unknown", "it was not run", None
    return min(map(_of_result, results), key=lambda each: WORST_FIRST.index(each[0]))


def _of_result(result: Data) -> tuple[str, str, str | None]:
    error = result.get("error") or {}
    message = str(error.get("message") or result.get("reason") or "")
    category = result.get("category")
    outcome = result["outcome"]
    control = (result.get("cpu_control") or {}).get("outcome")
    if outcome == "passed":
        placement = result.get("placement") or {}
        if placement.get("verdict") in ("host", "mixed"):
            return "host", _on_host(placement), None
        return "runs", "", None
    if category == "removed":
        return "refused", message, category
    if outcome in ("skipped", "error", None):
        return "unknown", message, category
    if control not in (None, "passed"):
        return "unknown", f"it fails on the CPU, too: {message}", category
    if result.get("value_verdict") == "unexpected":
        return "unknown", f"the CPU of the target's version gives the same values: {message}", category
    if result.get("value_verdict") in ("wrong", "imprecise") or result.get("phase") == "compare":
        return "wrong", message, category
    return "refused", message, category


def _on_host(placement: Data) -> str:
    names = list(dict.fromkeys(placement.get("host_operations") or ()))
    part = "a part runs" if placement["verdict"] == "mixed" else "it runs"
    return f"{part} on the host" + (f": {', '.join(names[:5])}" if names else "")

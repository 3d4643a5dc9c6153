"""What is said of a verdict, the same on the terminal, in Markdown and on the page."""

from __future__ import annotations

from portbench.devices import PREDICTED_MARK
from portbench.formats.documents import Document
from portbench.record.model import WORST_FIRST, Finding, Program, Share, TargetVerdict, Verdict
from portbench.util.text import pluralize

SAID = {
    "runs": ("runs", "run"),
    "host": ("runs on the host", "run on the host"),
    "wrong": ("gives wrong values", "give wrong values"),
    "refused": ("is refused", "are refused"),
    "unknown": ("is unknown", "are unknown"),
}
"""What one function does and what several do, by verdict."""

MEANINGS = {
    "runs": "runs on the device; where it was measured, with the values of the CPU",
    "host": "runs, but the framework computes it, or a part of it, on the host's CPU",
    "wrong": "runs and gives other values than the CPU",
    "refused": "an error, a crash, too much memory or time, or the version lacks the function",
    "unknown": "cannot be said: the call is not repeated, not even the CPU repeats it, or it cannot be predicted",
}
"""What each verdict means."""

_NAMED = 3


def summary(manifest: Document) -> str:
    """``153 calls of 14 functions, 18 distinct calls; 1 whole program``."""
    tests = [test for entry in manifest.data["functions"] for test in entry["tests"]]
    programs = sum(test["case"] == "program" for test in tests)
    functions = sum(any(test["case"] != "program" for test in entry["tests"]) for entry in manifest.data["functions"])
    calls = pluralize(manifest.data["recorded"]["calls"], "call")
    found = f"{calls} of {pluralize(functions, 'function')}, {pluralize(len(tests) - programs, 'distinct call')}"
    return f"{found}; {pluralize(programs, 'whole program')}" if programs else found


def headline(verdict: Verdict, target: TargetVerdict) -> str:
    """``1,204 of 1,219 calls (99.1 % of time) run on torch-2.9.0-xla; 3 functions are refused: ...``."""
    runs = target.shares["runs"]
    time = f" ({percent(runs, verdict.all)} of time)" if verdict.all.seconds else ""
    mark = PREDICTED_MARK if target.is_predicted else ""
    parts = [f"{runs.calls:,} of {pluralize(verdict.all.calls, 'call')}{time} run on {target.target}{mark}"]
    for name in WORST_FIRST[:-1]:
        found = [finding.function for finding in target.findings if finding.verdict == name]
        if found:
            more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            said = SAID[name][len(found) > 1]
            parts.append(f"{pluralize(len(found), 'function')} {said}: {', '.join(found[:_NAMED])}{more}")
    return "; ".join(parts)


def version_note(verdict: Verdict, target: TargetVerdict) -> str:
    """Says that the target has another version of the framework than the program; empty where it has the same."""
    recorded, run = verdict.manifest.data.get("written_for", ""), target.run.data["target"]["version"]
    if recorded in ("", run):
        return ""
    return f"The program ran with {verdict.framework} {recorded}: what is refused may be the version {run}."


def program_line(program: Program) -> str:
    """``train_step (212 operations, 1.2 GiB of 15.8 GiB of device memory)``."""
    facts = [pluralize(program.operations, "operation")] if program.operations is not None else []
    if program.memory_bytes is not None:
        available = f"{_size(program.device_bytes)} of " if program.device_bytes else ""
        facts.append(f"{_size(program.memory_bytes)} of {available}device memory")
    return program.name + (f" ({', '.join(facts)})" if facts else "")


def _size(count: int) -> str:
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    place = min(max(count.bit_length() - 1, 0) // 10, len(units) - 1)
    return f"{count / 1024**place:.{min(place, 1)}f} {units[place]}"


def share(finding: Finding, verdict: Verdict) -> str:
    """``12 calls, 3.4 % of time``."""
    time = f", {percent(finding.share, verdict.all)} of time" if verdict.all.seconds else ""
    return f"{pluralize(finding.share.calls, 'call')}{time}"


def percent(part: Share, whole: Share) -> str:
    """The share of the time. Neither 0 nor 100 is said of a share that is only near it."""
    if not whole.seconds:
        return "-"
    value = 100 * part.seconds / whole.seconds
    if part.calls and value < 0.1:
        return "<0.1 %"
    return f"{min(value, 99.9) if part.calls < whole.calls else min(value, 100.0):.1f} %"


def caveats(verdict: Verdict) -> list[str]:
    """What the verdict of a recording does not cover."""
    recorded = verdict.manifest.data["recorded"]
    found = []
    if verdict.left_out.calls:
        of_time = f" ({percent(verdict.left_out, verdict.all)} of time)" if verdict.all.seconds else ""
        found.append(f"No test repeats {pluralize(verdict.left_out.calls, 'call')}{of_time}: they count as unknown.")
    others = recorded.get("other_programs", 0)
    if others:
        found.append(f"Not compiled as a whole: {pluralize(others, 'smaller program')}.")
    missed = sum(failure["calls"] for failure in recorded["failures"])
    if missed:
        first = recorded["failures"][0]["message"]
        found.append(f"The recorder failed at {pluralize(missed, 'call')}, which are not counted: {first}")
    return found


NOT_INDEPENDENT = (
    "Values are compared with the CPU of the target's own version: what a framework computes wrong everywhere is not "
    "seen. Nothing here is part of a study's rates."
)
"""What every verdict says of its reference."""

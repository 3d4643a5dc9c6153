"""Prints all that is known of one function on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from portbench.analysis.foretold import by
from portbench.devices import PREDICTED_DEVICES, PREDICTED_MARK
from portbench.explain.evidence import Explanation, TargetEvidence, TestEvidence
from portbench.explain.reproducer import Reproducer
from portbench.explain.traces import trimmed
from portbench.study.summary import Row
from portbench.util.format import NOTHING, in_ms, in_us, significant
from portbench.util.text import counts, escape_control, shortened

_COLOURS = {"passed": "green", "flaky": "yellow", "failed": "red", "skipped": "bright_black"}
_MOST_TESTS = 5
_OUTPUT_LINES = 10
_FIRST_LINES = 3
_SHORT = 500


def print_explanation(explanation: Explanation, again: Reproducer, in_full: bool, console: Console) -> None:
    """Each target: status, tests, evidence of what did not pass, environment; then the command that repeats a test.

    ``in_full`` adds tracebacks and what was printed, and is meant for a single test.
    """
    for entry in explanation.targets:
        _print_target(entry, in_full, console)
    console.print(Rule(style="bright_black"))
    where = f"{again.evidence.target} on {again.evidence.machine}"
    console.print(Text(escape_control(f"To run {again.test.id} of {where} again, alone, in a clone of portbench:")))
    # Never wrapped by us: it is there to be copied.
    console.print(Text(f"  {escape_control(again.command)}", "bold"), soft_wrap=True)
    for note in again.notes:
        console.print(Text(f"  {escape_control(note)}", "bright_black"), soft_wrap=True)


def evidence(row: Row) -> Iterator[tuple[str, str]]:
    """What is known of one result beside its outcome: pairs of a word and a text of one line or more."""
    if row["phase"]:
        yield "stopped in", row["phase"].replace("_", " ")
    if row["category"]:
        yield "category", row["category"].replace("_", " ") + _overruled(row["overruled"])
    if row["fingerprint"]:
        yield "fingerprint", f"{row['fingerprint']}: {row['cause']}"
    if row["error_type"]:
        yield "error", f"{row['error_type']}: {row['error_message']}"
    for cause in row["error_causes"] or ():
        yield "caused by", f"{cause['type']}: {cause['message']}"
    if row["reason"]:
        yield "reason", row["reason"]
    if row["exit_code"] is not None or row["exit_signal"]:
        peak = row["peak_memory_bytes"]
        memory = f", at most {peak / 2**20:.0f} MiB" if peak else ""
        killed = ", for want of memory" if row["oom_killed"] else ""
        yield "worker ended", f"{row['exit_signal'] or 'exit status ' + str(row['exit_code'])}{killed}{memory}"
    if row["numbers"]:
        yield "values", row["numbers"] + _deviation(row["deviation"])
    if row["control"]:
        yield "on the CPU", came_of(row["control"])
    if row["strict"]:
        yield "in strict mode", came_of(row["strict"])
    if row["contaminated"]:
        yield "after others", came_of(row["contaminated"])
    if row["prediction"]:
        yield from _foretold(row["prediction"])
    if row["outcome"] != "skipped":
        where = ", ".join([row["placement"], *(row["placement_evidence"] or ())])
        yield "would run on" if row["prediction"] else "ran on", where
    if row["host_operations"]:
        yield "on the host", ", ".join(row["host_operations"])
    if row["proof"] and not row["proof"]["passed"]:
        yield "waiting", f"not proven: {row['proof']['reason']}"


def environment(entry: TargetEvidence) -> Iterator[tuple[str, str]]:
    """Where the runs were made; what differs between them, one after the other."""
    runs = [(run, run["environment"]) for run in entry.runs.values()]
    yield "foretold", _each(by(run["prediction"]) for run, _ in runs if run["prediction"])
    yield "machine", _each(f"{env['cpu_model']}, {env['cpu_cores']} cores, {env['os']}" for _, env in runs)
    yield "device", _each(", ".join(f"{key} {value}" for key, value in env["device"].items()) for _, env in runs)
    yield "software", _each(", ".join(_software(entry.target.framework, env)) for _, env in runs)
    yield "image", _each(_image(env) for _, env in runs)
    yield "manifest", _each(f"{run['manifest']} {run['manifest_sha256'][:12]}" for run, _ in runs)
    yield "runner", _each(str(env["runner_commit"] or env["runner_sha256"])[:12] for _, env in runs)


def _foretold(prediction: Row) -> Iterator[tuple[str, str]]:
    """What was foretold of a result, and with which figures."""
    why = f": {prediction['reason']}" if prediction["reason"] else ""
    yield "foretold", f"{prediction['verdict']}{why}"
    figures = [
        (prediction["compile_ns"], 1e6, "ms to compile on this host"),
        (prediction["flops"], 1, "FLOPs"),
        (prediction["bytes"], 1024, "KiB moved"),
        (prediction["memory_bytes"], 1024, "KiB of memory"),
    ]
    if needs := [f"{significant(value / unit)} {word}" for value, unit, word in figures if value is not None]:
        yield "needs", ", ".join(needs)
    if prediction["roofline_ns"] is not None:
        yield "at least", f"{in_us(prediction['roofline_ns'])} µs (roofline: a lower bound, not measured)"


def _print_target(entry: TargetEvidence, in_full: bool, console: Console) -> None:
    study = ", the study's synchronisation" if entry.sync == "study" else ""
    predicted = PREDICTED_MARK if entry.target.device in PREDICTED_DEVICES else ""
    instead = f" (in place of {entry.successor_of})" if entry.successor_of else ""
    title = Text.assemble(
        (escape_control(entry.function + instead), "bold"),
        escape_control(f" on {entry.target}{predicted}, {entry.machine}{study}: "),
        (entry.status, "bold"),
    )
    console.print(Rule(title, align="left", style="bright_black"))
    console.print(_tests(entry.tests))
    console.print()
    told = [test for test in entry.tests if in_full or test.verdict in ("failed", "flaky")]
    for test in told if in_full else told[:_MOST_TESTS]:
        _print_test(test, in_full, console)
    if not in_full and told[_MOST_TESTS:]:
        console.print(Text(f"{len(told) - _MOST_TESTS} more did not pass; --test ID tells of one\n", "bright_black"))
    _print_pairs(((word, text) for word, text in environment(entry) if text), console, "bright_black")
    console.print()


def _tests(tests: Sequence[TestEvidence]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("test", overflow="fold")
    for name in ("runs", "category", "ran on"):
        table.add_column(name)
    for name in ("cold ms", "steady µs", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    for test in tests:
        times = test.times or {}
        row = test.telling
        table.add_row(
            Text(escape_control(shortened(test.id, 200))),
            Text(counts(Counter(result["outcome"] for result in test.results)), _COLOURS[test.verdict]),
            (row["category"] or NOTHING).replace("_", " "),
            row["placement"] if row["outcome"] != "skipped" else NOTHING,
            in_ms(times.get("cold_median_ns")),
            in_us(times.get("steady_median_ns")),
            f"{times['cold_samples']} + {times['steady_samples']}" if times else NOTHING,
        )
    return table


def _print_test(test: TestEvidence, in_full: bool, console: Console) -> None:
    row = test.telling
    console.print(
        Text.assemble((escape_control(test.id), "bold"), f"  {row['outcome'].replace('_', ' ')} in run {row['run']}")
    )
    _print_pairs(evidence(row), console, most_lines=1000 if in_full else _FIRST_LINES)
    if in_full:
        for title, text in (("traceback", trimmed(row["error_traceback"] or "")), ("printed", row["output_text"])):
            lines = text.strip().splitlines()
            shown = lines[-_OUTPUT_LINES:] if title == "printed" else lines
            if lines:
                console.print(Text(f"  {title}" + (", the last lines" if shown != lines else "")))
            for line in shown:
                console.print(Text(f"    {escape_control(line.expandtabs())}", "bright_black"), soft_wrap=True)
    console.print()


def _print_pairs(pairs: Iterable[tuple[str, str]], console: Console, style: str = "", most_lines: int = 1000) -> None:
    for name, text in pairs:
        lines = [escape_control(line) for line in text.expandtabs().strip().splitlines()] or [""]
        for position, line in enumerate(lines[:most_lines]):
            told = line if most_lines > _FIRST_LINES else shortened(line, _SHORT)
            console.print(Text(f"  {'' if position else name:<14}  {told}", style), soft_wrap=True)


def _software(framework: str, environment: Row) -> Iterator[str]:
    """Python and what is most likely to matter; environment.json of a bundle has all of it."""
    yield f"Python {environment['python']}"
    for name, version in environment["packages"].items():
        if name.startswith((framework, "numpy", "libtpu", "keras")):
            yield f"{name} {version}"


def _image(environment: Row) -> str:
    if environment["image_digest"]:
        return str(environment["image_digest"])
    return f"not recorded ({environment['container']})" if environment["container"] else "none"


def _each(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


def _overruled(annotation: Row | None) -> str:
    if not annotation:
        return ""
    link = f" ({annotation['link']})" if annotation["link"] else ""
    return f", by hand: {annotation['reason']}{link}; {annotation['category']} by the rules"


def came_of(facts: Row) -> str:
    """What came of a test in another place or process: outcome, and error or reason."""
    error = facts["error"]
    said = f"{error['type']}: {error['message']}" if error else facts["reason"] or ""
    return f"{facts['outcome']}: {said}".removesuffix(": ").replace("timed_out", "timed out", 1)


def _deviation(deviation: Row | None) -> str:
    if not deviation:
        return ""
    device, host = (
        "not finite" if deviation[where] is None else significant(deviation[where]) for where in ("device", "host")
    )
    return f", off by {device} (the host by {host}), {deviation['dtype']}"

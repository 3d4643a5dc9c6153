"""What a study recorded of one result, as text: the evidence, where it ran, and its traceback.

Terminal, bundle and page show it. Text out of run files is not trusted: printers escape it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from portbench.analysis.predictions import prediction_source
from portbench.explain.evidence import TargetEvidence
from portbench.study.summary import Row
from portbench.util.format import in_us, significant

CHECK_EXPECTED = (
    "the device and the CPU agree with each other and differ from the test's expected value: check the expected value"
)
WRONG_TEST = "the test raised while it made its inputs: fix its arguments in the manifest, or its case"
_MOST_FRAMES = 20
_FRAME = re.compile(r'^  File "(?P<path>.*)", line \d+.*\n(?:    .*\n)*', re.MULTILINE)
_FOLDERS = re.compile(r'(?<=File ").*?(?:/site-packages/|/dist-packages/|(?=/runners/)/)')


def evidence(row: Row) -> Iterator[tuple[str, str]]:
    """What is known of one result in addition to its outcome: pairs of a label and a text of one line or more."""
    if row["outcome"] == "error":
        yield "mistake", WRONG_TEST
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
        killed = ", out of memory" if row["oom_killed"] else ""
        yield "worker ended", f"{row['exit_signal'] or 'exit status ' + str(row['exit_code'])}{killed}{memory}"
    if row["value_verdict"]:
        yield "values", row["value_verdict"] + _deviation(row["deviation"])
    if row["value_verdict"] == "unexpected":
        yield "expected", CHECK_EXPECTED
    if row["cpu_control"]:
        yield "on the CPU", _ended(row["cpu_control"])
    if row["full_precision"]:
        yield "full precision", _ended(row["full_precision"])
    if row["contaminated"]:
        yield "after others", _ended(row["contaminated"])
    if row["disturbed"]:
        yield "disturbed", f"by something outside of the test: the first try {_ended(row['disturbed'])}"
    if row["prediction"]:
        yield from _predicted(row["prediction"])
    if row["outcome"] != "skipped":
        where = ", ".join([row["placement"], *(row["placement_evidence"] or ())])
        yield "would run on" if row["prediction"] else "ran on", where
    if row["host_operations"]:
        yield "on the host", ", ".join(row["host_operations"])
    if row["sync_check"] and not row["sync_check"]["passed"]:
        yield "sync check", f"failed: {row['sync_check']['reason']}"


def environment(entry: TargetEvidence) -> Iterator[tuple[str, str]]:
    """Where the runs were made: pairs of a label and a text, which has every value that differs between runs."""
    runs = [(run, run["environment"]) for run in entry.runs.values()]
    yield "predicted", _each(prediction_source(run["prediction"]) for run, _ in runs if run["prediction"])
    yield "machine", _each(_machine(env) for _, env in runs)
    yield "device", _each(", ".join(f"{key} {value}" for key, value in env["device"].items()) for _, env in runs)
    yield "software", _each(", ".join(_software(entry.target.framework, env)) for _, env in runs)
    yield "image", _each(_image(env) for _, env in runs)
    yield "manifest", _each(f"{run['manifest']} {run['manifest_sha256'][:12]}" for run, _ in runs)
    yield "runner", _each((env["runner_commit"] or env["runner_sha256"] or "")[:12] for _, env in runs)
    imported = [run["imported"] for run, _ in runs if run["imported"]]
    yield "imported from", _each(facts["source"] for facts in imported)
    yield "not recorded", _each(facts["not_recorded"] for facts in imported)


def trimmed(traceback: str) -> str:
    """The traceback without the frames of ``runners/core``, with short paths; of a long one the last frames."""
    text = traceback if traceback.endswith("\n") or not traceback else traceback + "\n"
    text = _FRAME.sub(lambda frame: "" if "/runners/core/" in frame["path"] else frame[0], text)
    frames = list(_FRAME.finditer(text))
    if len(frames) > _MOST_FRAMES:
        left_out = len(frames) - _MOST_FRAMES
        text = f"{text[: frames[0].start()]}  ... {left_out} frames left out\n{text[frames[left_out].start() :]}"
    return _FOLDERS.sub("", text)


def _predicted(prediction: Row) -> Iterator[tuple[str, str]]:
    """What was predicted of a result, with its figures."""
    why = f": {prediction['reason']}" if prediction["reason"] else ""
    yield "predicted", f"{prediction['verdict']}{why}"
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


def _machine(environment: Row) -> str:
    cores = f"{environment['cpu_cores']} cores" if environment["cpu_cores"] else ""
    return ", ".join(fact for fact in (environment["cpu_model"], cores, environment["os"]) if fact)


def _software(framework: str, environment: Row) -> Iterator[str]:
    """Python and the packages most likely to matter; environment.json of a bundle has all of them."""
    if environment["python"]:
        yield f"Python {environment['python']}"
    for name, version in environment["packages"].items():
        if name.startswith((framework, "numpy", "libtpu", "keras")):
            yield f"{name} {version}"


def _image(environment: Row) -> str:
    if environment.get("backend") in ("venv", "current"):
        return "none"
    if environment["image_digest"]:
        return str(environment["image_digest"])
    return f"not recorded ({environment['container']})" if environment["container"] else "none"


def _each(texts: Iterable[str]) -> str:
    return "; ".join(text for text in dict.fromkeys(texts) if text)


def _overruled(annotation: Row | None) -> str:
    if not annotation:
        return ""
    link = f" ({annotation['link']})" if annotation["link"] else ""
    return f", by hand: {annotation['reason']}{link}; {annotation['category']} by the rules"


def _ended(facts: Row) -> str:
    """How a test ended in another place or process: outcome, and error or reason."""
    error = facts["error"]
    why = f"{error['type']}: {error['message']}" if error else facts["reason"] or ""
    return f"{facts['outcome']}: {why}".removesuffix(": ").replace("timed_out", "timed out", 1)


def _deviation(deviation: Row | None) -> str:
    if not deviation:
        return ""
    device, host = (
        "not finite" if deviation[where] is None else significant(deviation[where]) for where in ("device", "host")
    )
    return f", off by {device} (the host by {host}), {deviation['dtype']}"

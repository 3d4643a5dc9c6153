"""Writes a bundle: a folder that repeats one result of a study, ready to be attached to a bug report.

manifest.json       the one test
reproduce.sh        the command; it names the image by its digest if the run file has one
reproduce.py        the same in plain Python, with the framework and NumPy only
case.py             in its place, for a test whose case is written in Python: the source of the case
environment.json    where it ran, as the runner recorded it
traceback.txt       the traceback without the runner's own frames
report.md           a text for the framework's bug tracker
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from portbench.analysis.predictions import prediction_source
from portbench.devices import PREDICTED_MARK
from portbench.errors import BadInput, StorageFailed
from portbench.explain.plain import NotPlain, plain_program, quoted_case
from portbench.explain.reproducer import Reproducer
from portbench.explain.texts import environment, evidence, trimmed
from portbench.formats.documents import read_document
from portbench.util.files import write_text
from portbench.util.strict_json import shown
from portbench.util.text import escape_control, shortened

Data = Mapping[str, Any]

# The least a container needs to compute: see compose.yaml.
_CONTAINER = ["docker", "run", "--rm", "--init", "--uts", "host", "--read-only", "--cap-drop", "ALL"]
_CONTAINER += ["--security-opt", "no-new-privileges:true", "--tmpfs", "/tmp:exec,mode=1777", "--shm-size", "1g"]
_DEVICE = {
    "cpu": ["--network", "none"],
    "xla": ["--network", "none"],
    "gpu": ["--network", "none", "--gpus", "device=0"],
    "tpu": ["--network", "host", "--privileged", "--ulimit", "memlock=-1"],
}


def write_bundle(folder: Path, repro: Reproducer, checkout_root: Path) -> list[Path]:
    """Writes the files into ``folder``, which is new or empty, and returns their paths.

    Raises BadInput where the folder is not empty or the manifest with the test is missing, StorageFailed where it
    cannot be written.
    """
    if repro.manifest is None:
        raise BadInput("the manifest of this test is missing", repro.notes[0])
    manifest = one_test(checkout_root / repro.manifest, repro.function, repro.test.id)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadInput(f"{shown(folder)} exists and is not empty", "Give a folder that is new or empty.")
    except OSError as error:
        raise StorageFailed(f"{shown(folder)} cannot be read: {error.strerror}", "Give another folder.") from error
    row = repro.test.representative
    command = _command(repro)
    plain = _without_portbench(manifest, repro, checkout_root)
    texts = {
        "manifest.json": json.dumps(manifest, indent=1, ensure_ascii=False) + "\n",
        "reproduce.sh": _script(repro, command),
        "environment.json": json.dumps(repro.run["environment"], indent=1, ensure_ascii=False) + "\n",
        "traceback.txt": trimmed(row["error_traceback"] or "") or row["output_text"] or "no traceback, no output\n",
        "report.md": "\n".join(_report(repro, manifest, command, plain.get("reproduce.py", ""))) + "\n",
        **plain,
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def _without_portbench(manifest: Data, repro: Reproducer, checkout_root: Path) -> dict[str, str]:
    """The test in plain Python, or the source of its case; nothing where neither can be written."""
    try:
        return {"reproduce.py": plain_program(manifest, repro.evidence.target.device)}
    except NotPlain:
        case = manifest["functions"][0]["tests"][0]["case"]
        quoted = quoted_case(checkout_root / "runners", case) if case != "call" else None
        return {"case.py": quoted} if quoted else {}


def one_test(path: Path, function: str, test: str) -> dict[str, Any]:
    """The manifest at ``path`` with a single test of a single function. Raises BadInput where it has no such test."""
    manifest = read_document(path, "manifest").data
    for entry in manifest["functions"]:
        for template in entry["tests"] if entry["function"] == function else ():
            for values in itertools.product(*template.get("grid", {}).values()):
                grid = dict(zip(template.get("grid", {}), values, strict=True))
                if template["id"] + _label(grid) == test:
                    single = template | ({"grid": {key: [value] for key, value in grid.items()}} if grid else {})
                    name = f"{manifest['name'][:56]}-single"
                    described = {"description": f"{test} of {function}, from {manifest['name']}"}
                    return {**manifest, "name": name, **described, "functions": [{**entry, "tests": [single]}]}
    raise BadInput(
        f"{shown(path)} has no test {escape_control(test)} of {escape_control(function)}: it has changed since the run",
        "Give the manifest of the run with --manifest.",
    )


def _label(grid: Data) -> str:
    """The suffix of the id of a test of a grid, as the runner makes it."""
    values = (
        f"{key}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}"
        for key, value in grid.items()
    )
    return f"[{','.join(values)}]" if grid else ""


def _command(repro: Reproducer) -> str:
    digest = repro.run["environment"]["image_digest"]
    if not digest:
        return repro.command_with("manifest.json", "--out", "results")
    container = shlex.join(
        [
            *_CONTAINER,
            *_DEVICE.get(repro.evidence.target.device, ["--network", "none"]),
            "--env",
            f"PORTBENCH_IMAGE_DIGEST={digest}",
        ]
    )
    # One image predicts every TPU, and its default command names another one.
    device = ["--device", repro.evidence.target.device] if repro.run["prediction"] else []
    runner = shlex.join([digest, *device, "--manifest", "/manifest.json", "--out", "/results", *repro.runner_protocol])
    volumes = '--volume "$PWD/manifest.json:/manifest.json:ro" --volume "$PWD/results:/results"'
    return f'{container} --user "$(id -u):$(id -g)" {volumes} {runner}'


def _script(repro: Reproducer, command: str) -> str:
    env = repro.run["environment"]
    if env["image_digest"]:
        needs = "Docker, and the image: of the digest below, or of the same commit by 'portbench images build'"
    else:
        needs = f"portbench, from a clone of it at {env['runner_commit'] or 'the same commit'}"
    head = f"#!/bin/sh\n# Needs {escape_control(needs)}.\n# The run file appears in results/.\nset -eu\n"
    return f'{head}cd "$(dirname "$0")"\nmkdir -p results\n{command}\n'


def _report(repro: Reproducer, manifest: Data, command: str, program: str) -> Iterator[str]:
    entry, row = repro.evidence, repro.test.representative
    single = manifest["functions"][0]["tests"][0]
    message = (row["error_message"] or row["reason"] or "").strip().splitlines() or [row["outcome"]]
    prediction = repro.run["prediction"]
    device = entry.target.device + (PREDICTED_MARK if prediction else "")
    yield f"# {_plain(f'{entry.function} on {device}: {shortened(message[0], 100)}')}"
    yield ""
    if prediction:
        yield _plain(f"No such device was available: this was {prediction_source(prediction)}.")
        yield ""
    runs = len(repro.test.results)
    failed = sum(result["outcome"] not in ("passed", "skipped", "error") for result in repro.test.results)
    yield _plain(
        f"{entry.function} of {entry.target.framework} {entry.target.version} on {device}: "
        f"{row['outcome'].replace('_', ' ')}" + (f" in {failed} of {runs} runs." if failed else ".")
    )
    yield from ("", "## What happens", "")
    yield from _block("\n".join(f"{name}: {text}" for name, text in evidence(row)))
    yield from ("## What was called and expected", "")
    yield from _block(json.dumps(single, indent=1, ensure_ascii=False), "json")
    if single["case"] != "call":
        module, name = single["case"].split(":")
        framework, topic = module.split(".")
        commit = repro.run["environment"]["runner_commit"] or "the same commit"
        yield f"The case is `{name}` of `runners/{framework}/cases/{topic}.py` in portbench at {_plain(commit)}."
        yield ""
    if program:
        yield from ("## In plain Python", "")
        yield from _block(program, "python")
    if row["error_traceback"]:
        yield from ("## Traceback", "")
        yield from _block(trimmed(row["error_traceback"]))
    yield from ("## Environment", "")
    yield from _block("\n".join(f"{name}: {text}" for name, text in environment(entry) if text))
    yield from ("## How to repeat it", "")
    yield "With the attached `manifest.json`; `environment.json` lists every package and variable."
    yield ""
    yield from _block(command, "sh")


def _block(text: str, language: str = "") -> Iterator[str]:
    """A block of code with a fence longer than any in the text."""
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence + language
    yield from (escape_control(line) for line in text.expandtabs().rstrip().splitlines())
    yield from (fence, "")


def _plain(text: str) -> str:
    """Text without any meaning to Markdown or HTML."""
    escaped = re.sub(r"[\\`*_{}\[\]|~$#]", r"\\\g<0>", escape_control(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""What a result means: the same test once more, watched, on the host, or in full precision.

A test that came to its checks on an accelerator is run again with every operation watched, which tells where it ran.
One that did not pass is run on the CPU of the same version (``control``): only where it passes there, the device is to
blame. Values that were refused are judged by what the host computes (``numbers``), and what turns out imprecise is
tried again in full precision (``strict``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable, Mapping, Tuple

from runners.core import failure
from runners.core.process.attempt import Facts, not_passed, was_oom_killed
from runners.core.process.contamination import Contamination
from runners.core.process.workers import Workers

Key = Tuple[str, str]
PROPERTY = "AssertionError"
"""Of a check that compares nothing, but demands something of the values."""

REFUSED = (PROPERTY, "runners.core.compare.Mismatch")


FURTHER = 16
"""Times as far off as the outputs: something else."""


class Triage:
    """``device`` are the workers whose results are judged, ``host`` those on the CPU: the same ones on a target cpu.

    ``results`` are those of an unfinished run: what was tried for a test then, or in an earlier pass, is not tried
    again.
    """

    def __init__(
        self, framework: str, device: Workers, host: Workers, limit_s: float, folder: Path, results: Iterable[Facts]
    ) -> None:
        self._framework = framework
        self._device = device
        self._host = host
        self._limit_s = limit_s
        self._contamination = Contamination(framework, ())
        self._file = folder / "outputs.npz"
        self._known: dict[str, dict[Key, Facts]] = {"control": {}, "strict": {}}
        for result in results:
            for kind, known in self._known.items():
                if result.get(kind):
                    known[result["function"], result["test"]] = result[kind]

    def annotate(self, facts: Facts, key: Key, request: Mapping[str, Any], share: float | None) -> None:
        """Adds them to the facts of a test that the device's worker has just run; ``share`` as of compare.Mismatch.
        Only a worker whose test passed, or was foretold, is left there."""
        facts.update(numbers=None, deviation=None, control=None, strict=None)
        if "prediction" in facts:
            # What refuses a call only looks at it, and a compiler is a process of its own: the worker serves others,
            # if it lives.
            if facts["exit"] is not None:
                self._device.retire()
            # No value came from the device; whether the test passes on the host is all that can be asked. What the
            # device cannot hold the host shall not try.
            if facts["outcome"] not in ("passed", "skipped") and facts["category"] != "memory":
                facts["control"] = self._once("control", key, self._host, request)
            return
        elsewhere = self._host is not self._device
        passed, refused = facts["outcome"] == "passed", _is_refused(facts)
        if passed:
            facts["numbers"] = "equal"
        if elsewhere and (passed or refused):
            self._watch(facts, request)
        if passed:
            return
        recorded = self._record(request) if refused else None
        self._device.retire()
        if facts["outcome"] == "skipped":
            return
        if elsewhere:
            facts["control"] = self._once("control", key, self._host, request)
        if refused:
            self._judge(facts, request, recorded, share)
        if facts["category"] == "precision" and elsewhere:
            facts["strict"] = self._once("strict", key, self._device, dict(request, strict=True))

    def _watch(self, facts: Facts, request: Mapping[str, Any]) -> None:
        reply = self._device.current().ask(dict(request, do="watch"), self._limit_s).message or {}
        if "placement" in reply:
            facts["placement"] = reply["placement"]
            for call, observed in zip(facts["calls"], reply["observed"]):
                call["observed"] = observed
            return
        # By the outputs alone, then.
        self._device.retire()
        why = reply.get("error", "the worker ended or took too long")
        said = f"its operations could not be watched: {why}"
        facts["placement"] = dict(facts["placement"], evidence=[*facts["placement"]["evidence"], said])

    def _record(self, request: Mapping[str, Any]) -> str | None:
        """Stores the outputs of a test whose values were refused; their dtype, or None where there are none."""
        asked = dict(request, do="record", path=str(self._file))
        reply = self._device.current().ask(asked, self._limit_s).message or {}
        dtype: str | None = reply.get("dtype")
        return dtype

    def _judge(self, facts: Facts, request: Mapping[str, Any], dtype: str | None, share: float | None) -> None:
        """``dtype`` as of _record; without it the reference alone judges."""
        reply = None
        if dtype is not None:
            asked = dict(request, do="judge", path=str(self._file), dtype=dtype)
            reply = self._host.current().ask(asked, self._limit_s).message
            # It computes in ways in which the test was never run: what comes after has a fresh worker.
            self._host.retire()
            self._file.unlink()
        judged = reply or {"numbers": None, "deviation": None}
        facts.update(numbers=_settled(judged, facts, share), deviation=judged["deviation"])
        facts["category"] = failure.category(
            self._framework, facts["outcome"], facts["error"], was_oom_killed(facts), facts["numbers"]
        )

    def _once(self, kind: str, key: Key, workers: Workers, request: Mapping[str, Any]) -> Facts:
        known = self._known[kind]
        if key not in known:
            asked = dict(request, protocol="cold", sync="complete")
            found = self._contamination.attempt(key, workers, asked, self._limit_s)
            if found["outcome"] != "passed":
                workers.retire()
            known[key] = not_passed(found)
        return known[key]


def _is_refused(facts: Facts) -> bool:
    """Whether the calls were made and a check of what they gave failed."""
    return facts["outcome"] == "failed" and facts["phase"] == "compare" and facts["error"]["type"] in REFUSED


def _settled(judged: Mapping[str, Any], facts: Facts, share: float | None) -> str | None:
    """The host's judgement of the outputs and that of the reference in one. The host is no witness where it fails too,
    nor where outputs may differ and be right (factors whose sign is free, draws of another generator), nor where what
    was refused is not among the outputs: it is much further off than they are."""
    numbers: str | None = judged["numbers"]
    control, by_reference = facts["control"], _by_reference(facts["error"]["message"])
    if numbers == "random":
        return numbers
    if numbers is None or not (control and control["outcome"] == "passed"):
        return by_reference
    if numbers == "wrong":
        return None if facts["error"]["type"] == PROPERTY else by_reference or numbers
    if by_reference == "wrong" and (share is None or share > FURTHER * judged["deviation"]["device"]):
        return by_reference
    return numbers


def _by_reference(message: str) -> str | None:
    if message.startswith("imprecise"):
        return "imprecise"
    return "wrong" if message.startswith(("wrong value", "shape")) else None

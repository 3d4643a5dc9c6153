"""``make fuzz``: bad input by the thousand, for a number of inputs or of minutes, the same for the same seed.

Prints figures, and each finding with the file that made it, which is kept. Exit status 1 where there is a finding.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.programs import LIMIT_BYTES, Programs, peak_bytes
from tests.fuzz.stored import journals, studies
from tests.fuzz.strategies import ROOT, documents

_BATCH = 20
_KINDS = ("manifest", "run", "journal", "study")


def main() -> None:
    """Draws batches of each kind in turn until the inputs or the minutes are used up."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, metavar="N", help="how many files (default: until the minutes are over)")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, default=ROOT / "build" / "fuzz", help="where files that found something go"
    )
    options = parser.parse_args()
    # A file that asks for more shall end this process, not the machine.
    resource.setrlimit(resource.RLIMIT_DATA, (2 * LIMIT_BYTES, 2 * LIMIT_BYTES))
    keep = options.keep.absolute()
    with tempfile.TemporaryDirectory(prefix="portbench-fuzz-") as home:
        fuzz = Fuzz(Programs(Path(home)), keep, options.inputs or math.inf)
        end = time.monotonic() + options.minutes * 60
        number = 0
        while time.monotonic() < end and fuzz.inputs < fuzz.most:
            fuzz.batch(_KINDS[number % len(_KINDS)], options.seed * 1_000_000 + number)
            number += 1
    fuzz.print_figures(options.seed)
    sys.exit(bool(fuzz.findings))


class Fuzz:
    """Counts what became of each input."""

    def __init__(self, programs: Programs, keep: Path, most: float) -> None:
        self._programs = programs
        self._keep = keep
        self.most = most
        self.inputs = 0
        self.findings = 0
        self._by_program: Counter[tuple[str, bool]] = Counter()
        self._seen: set[bytes] = set()

    def batch(self, kind: str, number: int) -> None:
        """Draws files of a format; the same for the same number."""

        @seed(number)
        @settings(
            max_examples=_BATCH,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(self._inputs(kind))
        def each(content: bytes | tuple[str, bytes]) -> None:
            self._take(kind, *(content if isinstance(content, tuple) else ("", content)))

        each()

    def _inputs(self, kind: str) -> st.SearchStrategy[bytes] | st.SearchStrategy[tuple[str, bytes]]:
        if kind == "journal":
            return journals(self._programs.journal)
        return studies(self._programs.study) if kind == "study" else documents(kind)

    def _take(self, kind: str, name: str, content: bytes) -> None:
        digest = hashlib.sha256(name.encode() + content).digest()
        if digest in self._seen or self.inputs >= self.most:
            return
        self._seen.add(digest)
        self.inputs += 1
        if kind == "journal":
            all_taken = self._programs.take_journal(content)
        elif kind == "study":
            all_taken = self._programs.take_study(name, content)
        else:
            all_taken = self._programs.take(kind, content)
        for program, taken in all_taken.items():
            self._by_program[program, taken.accepted] += 1
            for finding in taken.findings:
                self.findings += 1
                self._tell(program, kind, content, finding)

    def _tell(self, program: str, kind: str, content: bytes, finding: str) -> None:
        self._keep.mkdir(parents=True, exist_ok=True)
        file = self._keep / f"{kind}-{hashlib.sha256(content).hexdigest()[:12]}.json"
        file.write_bytes(content)
        print(f"{program} {file}\n  {finding[:300]!r} ... {finding[-1200:]!r}", flush=True)

    def print_figures(self, chosen: int) -> None:
        """One line a program, and the sum."""
        for program in dict.fromkeys(name for name, _ in self._by_program):
            accepted, refused = self._by_program[program, True], self._by_program[program, False]
            print(f"{program:9} {accepted + refused:6} files: {accepted:6} accepted, {refused:6} refused")
        peak = peak_bytes() // 2**20
        print(
            f"seed {chosen}: {self.inputs} inputs, peak {peak} MiB of {LIMIT_BYTES // 2**20}, findings {self.findings}"
        )


if __name__ == "__main__":
    main()

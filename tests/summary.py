"""Sums up the JUnit reports that ``make test`` and the like leave in build/reports.

    python -m tests.summary build/reports

Prints how many tests passed, failed and were skipped, the reasons of what was skipped, and the ten slowest tests.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

SLOWEST = 10


def main() -> None:
    cases = [
        case for path in sorted(Path(sys.argv[1]).glob("*.xml")) for case in ElementTree.parse(path).iter("testcase")
    ]
    ends = Counter(end_of(case) for case in cases)
    print(f"{len(cases)} tests: {ends['passed']} passed, {ends['failed']} failed, {ends['skipped']} skipped")
    reasons = Counter(case.find("skipped").get("message") for case in cases if end_of(case) == "skipped")  # type: ignore[union-attr]
    for reason, count in reasons.most_common():
        print(f"  {count} skipped: {reason}")
    print(f"the {SLOWEST} slowest, with the set-up that each was the first to need:")
    for case in sorted(cases, key=seconds_of, reverse=True)[:SLOWEST]:
        # Without the group of pytest-xdist, which stands behind an @.
        name = re.sub(r"@[^@\]]*$", "", case.get("name", ""))
        print(f"  {seconds_of(case):7.1f} s  {case.get('classname')}.{name}")


def end_of(case: ElementTree.Element) -> str:
    """passed, failed or skipped; an error is a failure."""
    found = {child.tag for child in case}
    return "failed" if found & {"failure", "error"} else "skipped" if "skipped" in found else "passed"


def seconds_of(case: ElementTree.Element) -> float:
    return float(case.get("time", 0))


if __name__ == "__main__":
    main()

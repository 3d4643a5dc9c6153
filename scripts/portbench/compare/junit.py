"""A comparison as JUnit XML, which CI systems show: a suite for each pair of targets, a case for each test."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from portbench.compare.comparison import Comparison, PairComparison
from portbench.compare.conditions import Condition, Finding, findings
from portbench.compare.facts import Key
from portbench.util.text import escape_control


def junit(comparison: Comparison, conditions: Iterable[Condition]) -> str:
    """The comparison as an XML document. A case fails if one of the conditions holds for its test, and is skipped if
    neither its outcome nor its time could be compared."""
    found = [finding for condition in conditions for finding in findings(condition, comparison)]
    root = ElementTree.Element("testsuites", name="portbench compare")
    for pair in comparison.pairs:
        root.append(_suite(pair, [finding for finding in found if finding.pair is pair]))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(pair: PairComparison, findings: Iterable[Finding]) -> ElementTree.Element:
    found: dict[Key, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.key, []).append(finding)
    skipped = {entry.key: entry.reason for entry in pair.outcomes.not_compared if entry.key not in found}
    keys = sorted(pair.outcomes.keys)
    suite = ElementTree.Element(
        "testsuite",
        name=escape_control(f"{pair.first} to {pair.second}"),
        tests=str(len(keys)),
        failures=str(len(found)),
        errors="0",
        skipped=str(len(skipped)),
    )
    for key in keys:
        case = ElementTree.SubElement(
            suite, "testcase", classname=escape_control(key.function), name=escape_control(key.test)
        )
        if key in found:
            # One element for each case, of the first condition: several readers accept no more.
            first = found[key][0]
            failure = ElementTree.SubElement(
                case, "failure", type=str(first.condition), message=escape_control(first.message)
            )
            failure.text = "\n".join(escape_control(f"{each.condition}: {each.message}") for each in found[key])
        elif key in skipped:
            ElementTree.SubElement(case, "skipped", message=escape_control(skipped[key]))
    return suite

"""Verdicts in Markdown, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portbench.devices import PREDICTED_MARK
from portbench.record.model import VERDICTS, Finding, Program, TargetVerdict, Verdict
from portbench.record.sentences import NOT_INDEPENDENT, caveats, headline, percent, program_line, version_note
from portbench.util.markdown import code, plain, table

_MOST_FUNCTIONS = 30
_MOST_SITES = 3


def as_markdown(verdicts: Sequence[Verdict]) -> str:
    """A line for each target, a table of the shares, and for each target a table of its functions, folded."""
    return (
        "\n".join(line for verdict in verdicts for line in _of_recording(verdict)) + f"\n<sub>{NOT_INDEPENDENT}</sub>\n"
    )


def _of_recording(verdict: Verdict) -> Iterator[str]:
    yield f"### portbench: {code(verdict.manifest.data['recorded']['program'] or verdict.framework)}"
    yield ""
    for target in verdict.targets:
        note = version_note(verdict, target)
        yield f"- {plain(headline(verdict, target), 1000)}" + (f" ({plain(note)})" if note else "")
    if not verdict.targets:
        yield f"- {plain(verdict.framework)}: there is no run file"
    for sentence in caveats(verdict):
        yield f"- {plain(sentence, 500)}"
    yield ""
    if verdict.targets:
        yield from table(["target"], VERDICTS, (_shares(verdict, target) for target in verdict.targets))
    for target in verdict.targets:
        if target.programs:
            title = f"{plain(target.target)}: compiled as a whole"
            yield from table([title, "program", "why"], (), map(_program, target.programs))
        if target.findings:
            yield from _functions(verdict, target)


def _shares(verdict: Verdict, target: TargetVerdict) -> list[str]:
    name = code(target.target) + (PREDICTED_MARK if target.is_predicted else "")
    shares = [target.shares[each] for each in VERDICTS]
    return [name, *(f"{each.calls:,} ({percent(each, verdict.all)})" if each.calls else "" for each in shares)]


def _program(program: Program) -> list[str]:
    return [program.verdict, plain(program_line(program)), plain(" ".join(program.message.split()), 200)]


def _functions(verdict: Verdict, target: TargetVerdict) -> Iterator[str]:
    count = len(target.findings)
    yield f"<details><summary>{plain(target.target)}: {count} function{'s' * (count != 1)} to look at</summary>"
    yield ""
    rows = (_row(finding, verdict) for finding in target.findings[:_MOST_FUNCTIONS])
    yield from table(["verdict", "function", "where", "why, and what could be done"], ["calls", "time"], rows)
    if count > _MOST_FUNCTIONS:
        yield f"{count - _MOST_FUNCTIONS} more are in the JSON and on the page."
        yield ""
    yield "</details>"
    yield ""


def _row(finding: Finding, verdict: Verdict) -> list[str]:
    why = [plain(" ".join(finding.message.split()), 200)] if finding.message else []
    why += [f"**instead:** {plain(advice.sentence, 400)}" for advice in finding.advice]
    more = len(finding.sites) - _MOST_SITES
    where = [plain(site, 200) for site in finding.sites[:_MOST_SITES]] + ([f"{more} more"] if more > 0 else [])
    return [
        finding.verdict,
        code(finding.function),
        "<br>".join(where),
        "<br>".join(why),
        f"{finding.share.calls:,}",
        percent(finding.share, verdict.all),
    ]

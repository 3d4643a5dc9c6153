"""Texts for people: safe to show, shortened, counted. Names, messages and paths out of run files are not trusted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

OUTCOMES = ("error", "passed", "failed", "timed_out", "crashed", "skipped", "removed")
"""The outcomes of a test in the order in which they are shown; removed: skipped, since its function was removed."""

KEPT_TEXTS = 20_000
"""How many escaped texts are kept: the tables of a study have the names of the same functions, for each pair of
devices."""


def escape_control(text: str) -> str:
    """``text`` on one line, with everything that could steer a terminal written as an escape.

    Control characters, direction marks, line separators, lone surrogates and characters without a shape become
    ``\\x1b``, ``\\u202e`` and so on.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shortened(text: str, limit: int) -> str:
    """``text``, or its beginning and an ellipsis if it is longer than ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def similar(given: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Up to ``most`` of the known names that ``given`` may stand for, the best first.

    These are names that end in ``.given`` or begin with ``given[``, such as ``torch.argsort`` for ``argsort``, or else
    names that are spelled similarly. Upper and lower case count as the same letter.
    """
    by_folded: dict[str, str] = {}
    for name in sorted(known):
        by_folded.setdefault(name.casefold(), name)
    wanted = given.casefold()
    if wanted in by_folded:
        return [by_folded[wanted]]
    inside = [each for each in by_folded if each.endswith(f".{wanted}") or each.startswith(f"{wanted}[")]
    if not inside:
        # A name without the names of its modules: torch.nn.GELU for gelo.
        last = {each.rpartition(".")[2]: each for each in reversed(by_folded)} if "." not in given else {}
        inside = _close(wanted, by_folded, most) or [last[each] for each in _close(wanted, last, most)]
    return [by_folded[each] for each in inside[:most]]


def _close(wanted: str, known: Iterable[str], most: int) -> list[str]:
    # Names of one framework all begin alike, so most of them are a little similar: better ones exclude these.
    names = list(known)
    return difflib.get_close_matches(wanted, names, most, 0.8) or difflib.get_close_matches(wanted, names, most)


def did_you_mean(given: str, known: Iterable[str], most: int = 3) -> str:
    """``; did you mean torch.cat or torch.cos?``, to follow a message; empty where nothing is similar."""
    near = similar(given, known, most)
    return f"; did you mean {escape_control(' or '.join(near))}?" if near else ""


def pluralize(count: int, noun: str) -> str:
    """``1 test``, ``1,234 tests``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def counts(outcomes: Mapping[str, int]) -> str:
    """Tests by outcome: ``30 passed, 2 timed out``."""
    return ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in in_order(outcomes))


def in_order(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """The items of ``outcomes`` in the order of ``OUTCOMES``; unknown outcomes come last, sorted."""
    return sorted(outcomes.items(), key=lambda item: (OUTCOMES.index(item[0]) if item[0] in OUTCOMES else 99, item[0]))


def duration(seconds: float) -> str:
    """Seconds for a person: ``9 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"

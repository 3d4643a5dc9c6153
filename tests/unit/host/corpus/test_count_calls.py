"""Which calls are counted in one file: snippets, files that are no Python 3, and the two ways of counting."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.corpus.counting import identifiers, lexer
from portbench.corpus.counting.function_list import Function, FunctionList
from portbench.corpus.counting.import_filter import imports
from portbench.corpus.counting.source_file import State, count_calls, parsed

HEAD, *SNIPPETS = Path(__file__).with_name("calls.txt").read_text().split("\n== ")


def lists() -> list[FunctionList]:
    functions: dict[str, list[Function]] = {"torch": [], "tf": [], "jax": []}
    for line in re.findall(r"^Functions: (.*)$", HEAD, re.MULTILINE):
        for entry in line.split():
            name, _, alias = entry.partition("=")
            functions[name.partition(".")[0]].append(Function(name, (alias,) if alias else ()))
    return [FunctionList(root, None, tuple(sorted(found, key=lambda f: f.name))) for root, found in functions.items()]


LISTS = lists()


def expected(line: str) -> dict[str, int]:
    entries = line.partition(": ")[2]
    return {} if entries == "-" else {name: int(count) for name, count in map(str.split, entries.split(", "))}


def counted(source: str) -> tuple[dict[str, int], dict[str, int]]:
    """Identifier counts (a word of several frameworks once) and resolved counts."""
    words: dict[str, int] = {}
    resolved: Counter[str] = Counter()
    for place, calls in count_calls(source.encode(), LISTS).items():
        assert calls.state is State.COUNTED
        words |= {word.decode(): count for word, count in calls.identifiers.items()}
        resolved.update({LISTS[place].functions[n].name: count for n, count in calls.resolved.calls.items()})
    return words, dict(resolved)


def test_there_are_at_least_sixty_snippets_with_unique_titles() -> None:
    titles = [snippet.partition("\n")[0] for snippet in SNIPPETS]
    assert len(titles) == len(set(titles)) >= 60


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.partition("\n")[0])
def test_snippet(snippet: str) -> None:
    _, identifier, resolved, source = snippet.split("\n", 3)
    if "own quotes" not in snippet:  # which only Python 3.12 and newer know
        compile(source, "snippet", "exec", dont_inherit=True)
    assert counted(source) == (expected(identifier), expected(resolved))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.partition("\n")[0])
def test_a_snippet_counts_the_same_if_the_whole_source_is_parsed(snippet: str) -> None:
    source = snippet.split("\n", 3)[3]
    # The braces make an f-string that may hold any call, so that nothing is stripped.
    formatted = source + '\nunrelated = f"""{0}"""\n'
    assert counted(formatted) == counted(source)


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ("import torch\nprint 'x'\n", State.PYTHON_2),
        ("import torch\nif x: print x, y\n", State.PYTHON_2),
        ("import torch\nprint >>f, x\n", State.PYTHON_2),
        ("import torch\nexec code in {}\n", State.PYTHON_2),
        ("import torch\nraise ValueError, 'x'\n", State.PYTHON_2),
        ("import torch\ntry:\n  x()\nexcept ValueError, e:\n  pass\n", State.PYTHON_2),
        ("import torch\ndef f(:\n", State.BROKEN),
        ("import torch\nx = 'no end\n", State.BROKEN),
        ("import torch\n\0\0\0", State.BROKEN),
        ("import torch\n<<<<<<< HEAD\n", State.BROKEN),
        ("import torch\nprint(x)\nprint (x), y\nz = print if x else exec\n", State.COUNTED),
        ("import torch\n'''\nprint x\n'''\n", State.COUNTED),
        ("\ufeffimport torch\n", State.COUNTED),
        ("import torch\r\nx = (1,\r\n  2)\r\n", State.COUNTED),
        ("import torch\n" + "(" * 20_000 + ")" * 20_000, State.COUNTED),
        ("import torch\nx = " + "1 + " * 20_000 + "1\n", State.COUNTED),
        ("import torch\nx" + ".torch" * 20_000 + "()\n", State.COUNTED),
        ("", None),
        ("x = 1\n", None),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_python_2_and_broken_files_are_recognized(source: str, state: State | None) -> None:
    found = count_calls(source.encode(), LISTS)
    assert {calls.state for calls in found.values()} == ({state} if state else set())


LINES = st.sampled_from(
    """from x import torch|import torchvision|torch|import x|# from torch|important torch|torch import|from|fromtorch
# Copyright 2019 The TensorFlow Authors|import tensorflow as tf|import\ttorch.nn|import jax|from jaxlib import y|jax
""".replace("\n", "|").split("|")
)


@given(st.lists(LINES, max_size=5), st.sampled_from(["torch", "tensorflow", "jax"]))
def test_a_file_is_kept_if_the_papers_regular_expressions_keep_it(lines: list[str], root: str) -> None:
    source = "\n".join(lines)
    kept = bool(re.findall(rf"(from.*{root}|import.*{root})", source))
    if root == "tensorflow" and re.findall(r".*Copyright 20.. The TensorFlow Authors", source):
        kept = False
    assert imports(source.encode(), root.encode()) == kept


PIECES = st.sampled_from(
    ["cat(", "def cat(", ")", "x.cat(", " ", "\n", '"', "'", "#", "\\", '"""', "r'", "cat", "(", ";", "class cat("]
)


@given(st.lists(PIECES, max_size=12))
def test_words_have_the_same_counts_in_text_and_tree(pieces: list[str]) -> None:
    source = "import torch\n" + "".join(pieces)
    try:
        compile(source, "pieces", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    in_text = identifiers.called(lexer.bare(source.encode()).text, {b"cat"})
    assert in_text == identifiers.called_in_tree(parsed(source.encode()), {b"cat"})

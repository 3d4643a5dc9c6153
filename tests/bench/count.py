"""How fast ``portbench count`` is, MB of source a second and core, beside what the paper's method does.

    python -m tests.bench.count [--quick] [FOLDER]

FOLDER holds .py files and wheels, such as tests.bench.corpus makes; without one, the sources of this machine's Python
stand in, each with an import in front. With --quick few of them, once: it shows that it runs, and its figures say
nothing. The paper used code_tokenize: tree-sitter parses, a visitor goes through every
node, each leaf becomes a token with its text, and Python looks at each token. That is written again here, since
code_tokenize downloads its grammar. All in one run and in turn, so that the ratios hold on a machine whose speed
drifts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from portbench.corpus.counting import lexer
from portbench.corpus.counting.corpus import find_parts
from portbench.corpus.counting.documents import documents
from portbench.corpus.counting.function_list import Function, FunctionList
from portbench.corpus.counting.import_filter import imports
from portbench.corpus.counting.part_counts import count_part
from portbench.corpus.counting.source_file import State, count_calls, parsed

ROUNDS = 3
MOST_BYTES = 4_000_000
WANTED_RATIO = 2.0
WANTED_FILTER = 150.0
CODEPARROT_BYTES = 50e9
_NAMES = "cat sum relu Linear append mean zeros ones reshape split dropout Module Tensor where stack matmul exp get add"
WORDS = _NAMES.split()


class Token:
    """As code_tokenize's ASTToken: text and type are found when they are asked for, and kept."""

    def __init__(self, node: Any, lines: list[bytes]) -> None:
        self._node, self._lines = node, lines
        self._cache: dict[str, str] = {}

    @property
    def type(self) -> str:
        if "type" not in self._cache:
            self._cache["type"] = self._node.type
        return self._cache["type"]

    @property
    def text(self) -> str:
        if "text" not in self._cache:
            (first, start), (last, end) = self._node.start_point, self._node.end_point
            pieces = self._lines[first : last + 1]
            pieces[-1] = pieces[-1][:end]
            pieces[0] = pieces[0][start:]
            self._cache["text"] = b"\n".join(pieces).decode("utf-8", "replace")
        return self._cache["text"]


class Leaves:
    """As code_tokenize's visitors: a method of the node's type decides, then one for all nodes."""

    def __init__(self, take: Callable[[Any], None]) -> None:
        self._take = take

    def visit_string(self, node: Any) -> bool:
        self._take(node)
        return False

    def visit_ERROR(self, node: Any) -> bool:
        raise SyntaxError

    def visit(self, node: Any) -> bool:
        chosen = getattr(self, f"visit_{node.type}", None)
        if chosen is not None:
            return bool(chosen(node))
        if node.child_count == 0:
            self._take(node)
            return False
        return True

    def walk(self, root: Any) -> None:
        cursor = root.walk()
        while True:
            if self.visit(cursor.node) and cursor.goto_first_child():
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return


def as_published(source: bytes, words: frozenset[str]) -> Counter[str]:
    """The paper's count: identifiers out of the words, with "(" behind and no "def" before."""
    lines = source.split(b"\n")
    tokens: list[Token] = []
    Leaves(lambda node: tokens.append(Token(node, lines))).walk(parsed(source))
    found: Counter[str] = Counter()
    for place, token in enumerate(tokens):
        if token.type != "identifier" or token.text not in words or place + 1 == len(tokens):
            continue
        if tokens[place + 1].text == "(" and (place == 0 or tokens[place - 1].text != "def"):
            found[token.text] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.count")
    parser.add_argument("folder", nargs="?", default=sysconfig.get_path("stdlib"))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    repeats, most_bytes = (1, 100_000) if options.quick else (ROUNDS, MOST_BYTES)
    sources = [b"import torch\n" + source for source in limited(options.folder, most_bytes)]
    functions = FunctionList("torch", None, tuple(Function(f"torch.{word}") for word in sorted(WORDS)))
    sources = [source for source in sources if counted(source, functions)]
    dropped = [source.replace(b"torch", b"numpy") for source in sources]
    packed_in = tempfile.TemporaryDirectory()
    (packed,) = find_parts([pack(dropped, packed_in.name)])
    words = frozenset(WORDS)
    compare(sources, functions, words)
    contestants: dict[str, Callable[[], object]] = {
        "the paper's method": lambda: [as_published(source, words) for source in sources],
        "tree-sitter parses": lambda: [parsed(source) for source in sources],
        "stripped and parsed": lambda: [parsed(lexer.bare(source).text) for source in sources],
        "portbench, both counts": lambda: [count_calls(source, [functions]) for source in sources],
        "dropped by the filter": lambda: [imports(source, b"torch") for source in dropped * 5],
        "and read from .json.gz": lambda: count_part(packed, [functions], "content"),
    }
    size = sum(map(len, sources))
    rounds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            begin = time.process_time()
            work()
            done = size * (5 if "filter" in name else 1)
            rounds[name].append(done / 1e6 / (time.process_time() - begin))
    packed_in.cleanup()
    print(f"{len(sources)} files, {size / 1e6:.1f} MB; MB/s of source and core, median (least to most) of {repeats}")
    for name, values in rounds.items():
        print(f"  {name:24} {statistics.median(values):8.1f}  ({min(values):.1f} to {max(values):.1f})")
    report(rounds)


def report(rounds: dict[str, list[float]]) -> None:
    whole = statistics.median(rounds["and read from .json.gz"])
    ours, published = rounds["portbench, both counts"], rounds["the paper's method"]
    ratio = statistics.median(a / b for a, b in zip(ours, published, strict=True))
    filtered = statistics.median(rounds["dropped by the filter"])
    reached = verdict(ratio >= WANTED_RATIO)
    print(f"parsed and counted: {ratio:.2f} times the paper's method, wanted {WANTED_RATIO}: {reached}")
    print(f"dropped: {filtered:.0f} MB/s, wanted {WANTED_FILTER:.0f}: {verdict(filtered >= WANTED_FILTER)}")
    print("CodeParrot-clean (50 GB of text), unpacked, by the share that imports a framework:")
    for share in (0.01, 0.05, 0.1, 0.25):
        one = CODEPARROT_BYTES / 1e6 * (share / statistics.median(ours) + (1 - share) / whole)
        print(f"  {share:4.0%}: {one / 2 / 60:6.1f} min on 2 cores, {one / 100:6.1f} s on 100")


def pack(sources: list[bytes], folder: str) -> str:
    """A file in the form of CodeParrot-clean's."""
    lines = (json.dumps({"path": "x.py", "content": source.decode("utf-8", "replace")}) + "\n" for source in sources)
    path = Path(folder, "file-000000000001.json.gz")
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return str(path)


def verdict(reached: bool) -> str:
    return "reached" if reached else "not reached"


def limited(folder: str, most_bytes: int) -> Iterator[bytes]:
    size = 0
    for source in every(folder):
        yield source
        size += len(source)
        if size > most_bytes:
            return


def every(folder: str) -> Iterable[bytes]:
    for part in find_parts([folder]):
        for source in documents(part, "content"):
            if source:
                yield source


def counted(source: bytes, functions: FunctionList) -> bool:
    return all(calls.state is State.COUNTED for calls in count_calls(source, [functions]).values())


def compare(sources: list[bytes], functions: FunctionList, words: frozenset[str]) -> None:
    """Both ways must count the same words."""
    differ = 0
    for source in sources:
        (calls,) = count_calls(source, [functions]).values()
        differ += {word.decode(): n for word, n in calls.identifiers.items()} != dict(as_published(source, words))
    print(f"the paper's method and ours count the same words in all but {differ} of {len(sources)} files")


if __name__ == "__main__":
    main()

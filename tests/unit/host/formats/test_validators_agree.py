"""The fast parser and validator accept exactly the files that the slow ones accept, which write the messages."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portbench.errors import BadInput
from portbench.formats.schemas import VERSIONS, fits, validator
from portbench.util import strict_json
from runners.core import documents as runner_documents
from runners.core import schema_mistakes
from runners.core.documents import Checker
from tests.fuzz.strategies import documents
from tests.paths import EXAMPLES

RUNNER_KINDS = ("run", "manifest", "functions")


def agree(kind: str, content: bytes) -> None:
    """Both parsers give the same values, or the fast one leaves the file to the other. Both validators agree."""
    fast = strict_json._parse_fast(content)
    try:
        data = strict_json._parse_strictly("file", content)
    except BadInput:
        assert fast is None
        return
    if fast is not None:
        assert repr(fast) == repr(data)
    try:
        explained = next(validator(kind, data).iter_errors(data), None)
    except RecursionError:
        assert not fits(kind, data)
        return
    assert fits(kind, data) == (explained is None), explained


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*/*.json")), ids=lambda file: "/".join(file.parts[-3:]))
def test_examples(file: Path) -> None:
    kind = file.parts[-3]
    agree(kind, file.read_bytes())
    if file.parts[-2] == "valid":
        assert fits(kind, strict_json.read_json(file).data)


@pytest.mark.parametrize("kind", VERSIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_documents(kind: str, data: st.DataObject) -> None:
    agree(kind, data.draw(documents(kind)))


@pytest.mark.parametrize("kind", RUNNER_KINDS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_runner_checks_mutated_documents_as_jsonschema_does(kind: str, data: st.DataObject) -> None:
    checker = runner_checker(kind)
    try:
        document = json.loads(data.draw(documents(kind)))
        is_valid = not schema_mistakes.first(checker.schema, document)
    except (ValueError, RecursionError):
        return
    assert checker.fits(document) == is_valid


@cache
def runner_checker(kind: str) -> Checker:
    return runner_documents.checker(kind)


ODD = (
    b'{"a": 1, "a": 2}',
    b'{"a": 1, "\\u0061": 2}',
    b'{"a": 1, "b": ":", "a": "\\u003a"}',
    b'{"a": 1, "a": "\\u003A"}',
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"0.1000000000000000055511151231257827",
    b"[0.1000000000000000055511151231257827, 9223372036854775808]",
    b"[0." + b"1" * 500 + b", 9223372036854775808]",
    b"1." + b"1" * 500,
    *(b"[1%s9223372036854775808]" % between for between in (b",", b", ", b",\t", b",\n", b",\r", b",-")),
    b'{"a":9223372036854775808}',
    b'{"a":1}9223372036854775808',
    b'"9223372036854775808"',
    b'["1, 9223372036854775808"]',
    b"1e9223372036854775808",
    b"1e-9223372036854775808",
    b"[1E+0000000000000000000001, 1.5e0000000000000000000001, 5e-0000000000000000000324]",
    b"-0",
    b"-0.0",
    b"NaN",
    b"[Infinity]",
    b'"\\ud800"',
    b'"\\ud83d\\ude00"',
    b"\xef\xbb\xbf{}",
    b'"\xff"',
    b'"\x00"',
    b'"\\u0000"',
    b"",
    b"null",
    b"[" * 600 + b"]" * 600,
    b"[" * 20_000 + b"]" * 20_000,
)


@pytest.mark.parametrize("content", ODD, ids=lambda content: repr(content[:24]))
def test_odd_json(content: bytes) -> None:
    agree("run", content)


def test_digests_do_not_count_as_long_numbers() -> None:
    digests = ["1" * 64, "a" + "1" * 19 + "f", "e" + "1" * 19 + "e"]
    assert strict_json._parse_fast(orjson.dumps({"sha256": digests})) == {"sha256": digests}

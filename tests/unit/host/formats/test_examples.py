"""Every file in tests/examples is a test. To add one, add a file; an invalid one has its message in a .expect file."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.errors import BadInput
from portbench.formats.documents import read_document
from tests.paths import EXAMPLES

KINDS = (
    "manifest",
    "run",
    "study",
    "survivors",
    "expected",
    "annotations",
    "comparison",
    "functions",
    "counts",
    "exclusions",
    "kernels",
    "mapping",
    "site",
    "verdict",
)


def examples(validity: str) -> list[str]:
    found = [path for kind in KINDS for path in sorted((EXAMPLES / kind / validity).glob("*.json"))]
    assert found
    return [str(path.relative_to(EXAMPLES)) for path in found]


@pytest.mark.parametrize("name", examples("valid"))
def test_a_valid_example_is_accepted(name: str) -> None:
    document = read_document(EXAMPLES / name)
    assert document.kind == Path(name).parts[0]


@pytest.mark.parametrize("name", examples("invalid"))
def test_an_invalid_example_is_refused_with_its_message(name: str) -> None:
    path = EXAMPLES / name
    with pytest.raises(BadInput) as caught:
        read_document(path)
    message = str(caught.value)
    assert path.with_suffix(".expect").read_text("utf-8").strip() in message
    assert message.startswith(str(path))
    assert caught.value.remedy
    assert all(line.isprintable() and len(line) < 1000 for line in message.splitlines())

"""The server that compiles for absent TPUs, with a compiler that is not there: what counts as a verdict."""

from __future__ import annotations

import pytest

from runners.jax import compile_server


class Scripted:
    """A compiler with an answer to each of the programs of the self-test, in turn."""

    name, client, device_kind = "libtpu 0.0.52", "jax 0.12.0.1", "TPU v5 lite"

    def __init__(self, *answers):
        self._answers = list(answers)

    def answer(self, program, digest):
        return self._answers.pop(0)


def test_a_compiler_that_tells_good_from_bad_passes():
    compile_server.self_test(Scripted({"compiled": {}}, {"refused": "no such kernel"}))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([{"unknown": "AttributeError: no attribute"}], "must be compiled is unknown: AttributeError: no attribute"),
        ([{"refused": "everything"}], "must be compiled is refused: everything"),
        ([{"compiled": {}}, {"compiled": {}}], "must be refused is compiled"),
    ],
)
def test_a_compiler_whose_answers_say_nothing_does_not_start(answers, words):
    with pytest.raises(RuntimeError, match=r"libtpu 0\.0\.52 with jax 0\.12\.0\.1 failed its self-test") as caught:
        compile_server.self_test(Scripted(*answers))
    assert words in str(caught.value)

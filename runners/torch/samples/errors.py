"""Error inputs of OpInfo and ModuleInfo: calls that PyTorch's own tests expect to be refused.

For PyTorch 2.0 and newer. A test checks the error's class and a word of its message, and no value.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any, Mapping, Sequence

from runners.core.testing.samples import Entry, Refusal, Sample
from runners.torch.samples import internal, opinfo
from runners.torch.samples.built_modules import Built

PACKAGE = "torch"
NEEDS = "PyTorch 2.0 or newer"
_MIXED = "mixed"
"""The name of the only dtype of an entry: each error input has its own."""


def prepare() -> None:
    _operators()
    _modules()


def entries() -> Sequence[Entry]:
    found = [
        Entry(name, info.variant_test_name, opinfo.functions(info), (_MIXED,), ())
        for name, info in _operators().items()
    ]
    return [*found, *(Entry(name, "", [info.module_cls], (_MIXED,), ()) for name, info in _modules().items())]


def samples(entry: str, dtype: str, gradient: bool) -> Sequence[Sample]:
    internal.seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if entry in _modules():
            return [_of_module(each) for each in internal.module_errors(_modules()[entry])]
        return [_of_operator(each) for each in _operators()[entry].error_inputs("cpu")]


def look(sample: Sample) -> str:
    assert sample.raises
    settings = (sample.body.args, sample.body.kwargs) if isinstance(sample.body, Built) else ()
    return internal.look((sample.args, sample.kwargs, settings, sample.raises.kinds, sample.raises.word))


def _of_operator(error: Any) -> Sample:
    made = error.sample_input
    return Sample((made.input, *made.args), made.kwargs, lambda output: output, raises=refusal(error))


def _of_module(error: Any) -> Sample:
    made = error.module_error_input
    given, settings = made.forward_input, made.constructor_input
    call = given is not None and error.error_on.name == "FORWARD_ERROR"
    body = Built(settings.args, settings.kwargs, calls=call)
    args, kwargs = (given.args, given.kwargs) if call else ((), {})
    return Sample(args, kwargs, lambda output: output, body=body, raises=refusal(error))


def refusal(error: Any) -> Refusal:
    """The class and the longest word of the message, which OpInfo gives as a regular expression."""
    literal = re.sub(r"\\.|\(\?[^)]*\)|\[[^]]*\]", " ", error.error_regex)
    # A word next to an operator of the expression may be absent.
    words = re.findall(r"(?<![\w.*+?|(])[A-Za-z]{3,}(?![\w*+?|)])", literal) or [""]
    return Refusal([error.error_type.__name__], max(words, key=len))


@lru_cache(maxsize=None)
def _operators() -> Mapping[str, Any]:
    """The entries of OpInfo with error inputs, by name and variant."""
    found = internal.internal("common_methods_invocations").op_db
    return {internal.name_of(info): info for info in found if info.error_inputs_func}


@lru_cache(maxsize=None)
def _modules() -> Mapping[str, Any]:
    """The entries of ModuleInfo with error inputs, by name. No operator has such a name."""
    database = internal.internal("common_modules").module_db
    return {f"module.{info.name}": info for info in database if info.module_error_inputs_func}

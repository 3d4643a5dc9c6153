"""Calls a function with samples that an installed package holds (see runners.core.testing.samples)."""

from __future__ import annotations

import functools
from typing import Any, Mapping, Sequence

from runners.core.testing import samples, tree
from runners.core.testing.host_reference import compare_with_host
from runners.core.testing.samples import Refusal, Sample
from runners.core.testing.trial import Trial

HOST, INDEPENDENT = "host", "independent"
"""What a sample's output is compared with: the same function on the host, or the source's own reference."""


def sample(
    trial: Trial,
    source: str,
    entry: str,
    dtype: str,
    positions: Sequence[int],
    sha256: str,
    reference: str = HOST,
    gradient: bool = False,
) -> None:
    """Calls the function once with each of the samples at ``positions``, and compares what it returns.

    Skips the test where the installed package makes other samples than those with the digest ``sha256``: another
    version of it does. Raises BadInput for an unknown source.
    """
    package = samples.source(trial.framework, source).PACKAGE
    try:
        made = samples.made(trial.framework, source, entry, dtype, gradient)
    except KeyError:
        trial.skip(f"this {package} has no entry {entry}: collect again with this version")
    if made.sha256 != sha256 or max(positions, default=0) >= len(made.all):
        trial.skip(f"this {package} makes other samples of {entry} in {dtype}: collect again with this version")
    for position in positions:
        # The last one in the captured output is the one that failed.
        print(f"sample {position} of {entry} in {dtype}")
        one = made.all[position]
        if one.raises:
            _check_refusal(trial, one, one.raises)
        elif reference == INDEPENDENT:
            _compare_with_reference(trial, one)
        else:
            _compare_with_host(trial, one, gradient)


def _check_refusal(trial: Trial, one: Sample, refusal: Refusal) -> None:
    args, kwargs = trial.copied_to_device((list(one.args), dict(one.kwargs)))
    # The word is one of the CPU's message; the code of another device refuses the same in other words.
    word = refusal.word if trial.is_on_host else ""
    if one.body:
        trial.raises_inside(refusal.kinds, word, one.body, *args, **kwargs)
    else:
        trial.raises(refusal.kinds, word, *args, **kwargs)


def _compare_with_host(trial: Trial, one: Sample, gradient: bool) -> None:
    def inputs(trial: Trial) -> tuple[Sequence[Any], Mapping[str, Any]]:
        args, kwargs = trial.copied_to_device((list(one.args), dict(one.kwargs)))
        return args, kwargs

    make = one.make
    instance = None if make is None else lambda trial: trial.copied_to_device(make(trial.function))
    compare_with_host(trial, inputs, gradient, one.unique, instance, one.body)


def _compare_with_reference(trial: Trial, one: Sample) -> None:
    assert one.reference, "a manifest asks for a reference that the sample does not have"
    args, kwargs = trial.copied_to_device((list(one.args), dict(one.kwargs)))
    trial.repeatable = False
    if one.body:
        called = trial.call_inside(functools.partial(one.body, **kwargs), *args)
    else:
        called = trial.call(*args, **kwargs)
    found, expected = list(tree.leaves(one.unique(called))), list(tree.leaves(one.reference()))
    trial.check(len(found) == len(expected), f"expected {len(expected)} outputs, got {len(found)}")
    for actual, wanted in zip(found, expected):
        trial.close(actual, wanted)

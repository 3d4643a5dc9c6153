"""Mutates the function under test, to see which tests notice (mutation testing of the manifest's tests).

A mutant calls the original function and alters its output, its arguments or what it leaves behind, or does not call it
at all (see schema/mutants.json). If that changes nothing, no test can notice the mutant, and ``differs`` stays False.

A behaviour is called as ``behaviour(mutant, function, args, kwargs)`` and returns the mutant's output. It notices
through the mutant whether anything is different from the function's own.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping, Sequence

from runners.core.mutants import fine
from runners.core.mutants.mutation import Call, Mutation, same
from runners.core.testing import tree

Behaviour = Callable[[Mutation, Call, Sequence[Any], Mapping[str, Any]], Any]

_OTHER_SEEDS = itertools.count(7_000_001, 7919)
_SEED = 5_000_011


def output_altered(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The output, altered; the output itself where the framework cannot compute that."""
    before = stream_of(mutant, function, kwargs)
    output = function(*args, **kwargs)
    if mutant.name in fine.DRAWS and before == stream_of(mutant, function, kwargs):
        return output
    return _altered(mutant, output, mutant.name, args)


def _altered(mutant: Mutation, output: Any, name: str, args: Sequence[Any] = ()) -> Any:
    before = mutant.read(output)
    try:
        altered = mutant.altered(output, name)
    except Exception:
        return output
    mutant.compare(before, mutant.read(altered))
    assign = getattr(mutant.framework, "assign", None)
    is_fine = name in fine.OUTPUTS + fine.DRAWS
    if is_fine and assign and altered is not output and any(output is arg for arg in args):
        # It was computed in place: its identity is to stay.
        assign(output, altered)
        return output
    return altered


def _nothing(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    mutant.notice()


def _first_argument(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    output = function(*args, **kwargs)
    if not args:
        return output
    mutant.compare(mutant.read(args[0]), mutant.read(output))
    return args[0]


def _arguments_altered(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    def other(leaf: Any) -> Any:
        try:
            return mutant.finely(leaf, mutant.name)
        except Exception:
            return leaf

    other_args, other_kwargs = tree.mapped(other, list(args)), tree.mapped(other, dict(kwargs))
    given = [*tree.leaves(list(args)), *tree.leaves(dict(kwargs))]
    if all(map(_is, given, [*tree.leaves(other_args), *tree.leaves(other_kwargs)])):
        return function(*args, **kwargs)
    before = stream_of(mutant, function, kwargs)
    own = function(*args, **kwargs)
    if not _rewound(mutant, function, kwargs, before):
        return own
    read = mutant.read(own)
    output = function(*other_args, **other_kwargs)
    mutant.compare(read, mutant.read(output))
    return output


def _is(left: Any, right: Any) -> bool:
    return left is right


def _second_call(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    output = function(*args, **kwargs)
    return output if mutant.calls == 1 and not mutant.is_repeat else _altered(mutant, output, "scaled")


def _second_stale(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    output = function(*args, **kwargs)
    if mutant.calls == 1 and not mutant.is_repeat:
        mutant.first_output = output
    elif output is not None and not mutant.is_repeat and type(output) is type(mutant.first_output):
        mutant.compare(mutant.read(mutant.first_output), mutant.read(output))
        return mutant.first_output
    return output


def _overwritten(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    output = function(*args, **kwargs)
    overwrite = getattr(mutant.framework, "overwrite", None)
    if args and overwrite and isinstance(args[0], mutant.framework.ARRAYS) and args[0] is not output:
        before = mutant.read(args[0])
        overwrite(args[0])
        mutant.compare(before, mutant.read(args[0]))
    return output


def _accepted(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception:
        mutant.notice()
        return args[0] if args else None


def _keyword_ignored(position: int) -> Behaviour:
    def behaviour(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        before = stream_of(mutant, function, kwargs)
        output = function(*args, **kwargs)
        read = mutant.read(output)
        left = position
        for name in kwargs:
            if not _rewound(mutant, function, kwargs, before):
                break
            try:
                without = function(*args, **{key: value for key, value in kwargs.items() if key != name})
                # Two objects without equality are no sign that the keyword matters.
                if same(read, mutant.read(without), opaque=True):
                    continue
            except Exception:
                continue
            left -= 1
            if not left:
                mutant.notice()
                return without
        return output

    return behaviour


def _gradient_scaled(factor: float) -> Behaviour:
    def behaviour(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        output = function(*args, **kwargs)
        scaled = mutant.framework.gradient_scaled
        return tree.mapped(lambda leaf: _tried(scaled, leaf, factor, mutant), output)

    return behaviour


def _gradient_of_one(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    found = [leaf for leaf in tree.leaves([list(args), dict(kwargs)]) if mutant.framework.is_differentiated(leaf)]
    if len(found) < 2:
        return function(*args, **kwargs)
    scaled = mutant.framework.gradient_scaled

    def without(leaf: Any) -> Any:
        return _tried(scaled, leaf, 0.0, mutant) if leaf is found[0] else leaf

    return function(*tree.mapped(without, list(args)), **tree.mapped(without, dict(kwargs)))


def _tried(scaled: Callable[..., Any], leaf: Any, factor: float, mutant: Mutation) -> Any:
    try:
        return scaled(leaf, factor, mutant.notice)
    except Exception:
        return leaf


def _state_lost(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    undo = mutant.framework.undo(function, args, kwargs)
    output = function(*args, **kwargs)
    if undo():
        mutant.notice()
    return output


def _seed_ignored(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return _seeded_with(next(_OTHER_SEEDS), mutant, function, args, kwargs)


def _draws_repeated(mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    differed = mutant.differs
    output = _seeded_with(_SEED, mutant, function, args, kwargs)
    if mutant.calls == 1 or mutant.is_repeat:
        # One call alone repeats nothing.
        mutant.differs = differed
    return output


def _seeded_with(number: int, mutant: Mutation, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    other_args, other_kwargs = mutant.framework.reseeded(number, function, args, kwargs)
    before = stream_of(mutant, function, other_kwargs)
    output = function(*other_args, **other_kwargs)
    if before != stream_of(mutant, function, other_kwargs):
        mutant.notice()
    return output


def stream_of(mutant: Mutation, function: Call, kwargs: Mapping[str, Any]) -> Any:
    """Where the stream of random numbers is: another value after a call means that the function drew some."""
    stream = getattr(mutant.framework, "stream", None)
    return stream(function, kwargs) if stream else None


def _rewound(mutant: Mutation, function: Call, kwargs: Mapping[str, Any], before: Any) -> bool:
    """Whether the next call draws the same random numbers as that before it: the stream is set back, or did not
    move."""
    if before == stream_of(mutant, function, kwargs):
        return True
    rewind = getattr(mutant.framework, "rewind", None)
    if rewind:
        rewind(before, kwargs)
    return rewind is not None


_BEHAVIOURS: Mapping[str, Behaviour] = {
    "nothing": _nothing,
    "first-argument": _first_argument,
    **dict.fromkeys(fine.ARGUMENTS, _arguments_altered),
    "second-call": _second_call,
    "second-stale": _second_stale,
    "overwritten": _overwritten,
    "accepted": _accepted,
    "keyword-ignored": _keyword_ignored(1),
    "keyword-2-ignored": _keyword_ignored(2),
    "keyword-3-ignored": _keyword_ignored(3),
    "gradient-scaled": _gradient_scaled(2.0),
    "gradient-zeroed": _gradient_scaled(0.0),
    "gradient-of-one": _gradient_of_one,
    "state-lost": _state_lost,
    "seed-ignored": _seed_ignored,
    "draws-repeated": _draws_repeated,
}


class Mutant(Mutation):
    """One mutation of a function, for one test: ``name`` is one of runners.core.mutants.names."""

    def call(self, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call of the mutated function."""
        return _BEHAVIOURS.get(self.name, output_altered)(self, function, args, kwargs)

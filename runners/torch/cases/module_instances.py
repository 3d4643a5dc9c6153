"""Instances of layers and losses as modules: hooks, copies, options that are set later, and what is printed of them."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any, Mapping, Sequence

import numpy as np
import torch

from runners.core.testing.inputs import on_device
from runners.core.testing.trial import Trial
from runners.torch.cases.layers import filled


def _made(trial: Trial, made: Sequence[Any], named: Mapping[str, Any]) -> Any:
    parts, options = on_device(trial, made, named)
    instance = trial.make(*parts, **options).to(trial.device)
    filled(trial, instance, "float32")
    return instance


def hooks(trial: Trial, made: Sequence[Any], args: Sequence[Any], named: Mapping[str, Any] = {}) -> None:
    """A call runs the hooks of the instance and of its children: the first can replace inputs, others the output, and a
    removed one is not run. A backward pass runs the backward hook."""
    instance, (given, _) = _made(trial, made, named), on_device(trial, args, {})
    trial.check(instance.training, "a new instance is not in training")
    trial.repeatable = False
    plain = trial.numpy(instance(*given).detach())
    halved = trial.numpy(instance(given[0] / 2, *given[1:]).detach())
    seen: list[str] = []
    for name, child in instance.named_children():
        child.register_forward_hook(lambda _, __, ___, name=name: seen.append(name))
    first = instance.register_forward_pre_hook(lambda _, inputs: (inputs[0] / 2, *inputs[1:]))
    second = instance.register_forward_hook(lambda _, __, output: output + 1)
    instance.register_full_backward_hook(lambda *_: seen.append("backward"))
    given[0].requires_grad_()
    output = trial.call_method(instance, "__call__", *given)
    trial.close(output.detach(), halved + 1, dtype="float32")
    output.sum().backward()
    trial.equal(sorted(seen), sorted([*(name for name, _ in instance.named_children()), "backward"]))
    first.remove()
    second.remove()
    trial.close(trial.call_method(instance, "__call__", *given).detach(), plain, dtype="float32")


def copies(trial: Trial, made: Sequence[Any], args: Sequence[Any], named: Mapping[str, Any] = {}) -> None:
    """A deep copy and an instance that was pickled have the options, the values and the mode of the first one, also
    when that changes later."""
    instance, (given, _) = _made(trial, made, named).eval(), on_device(trial, args, {})
    instance.register_buffer("table", trial.tensor(np.ones(2, "float32")))
    instance.register_forward_hook(_plus_one)
    trial.repeatable = False
    before = trial.numpy(instance(*given).detach())
    others = [copy.deepcopy(instance), pickle.loads(pickle.dumps(instance))]
    instance.train()
    instance.note = "changed"
    with torch.no_grad():
        for tensor in (*instance.parameters(), *instance.buffers()):
            tensor.zero_()
    for name in [name for name, _ in instance.named_children()]:
        delattr(instance, name)
    instance.register_forward_hook(_plus_one)
    for other in others:
        trial.equal([other.training, hasattr(other, "note"), float(other.table.sum())], [False, False, 2.0])
        trial.close(trial.call_method(other, "__call__", *given).detach(), before, dtype="float32")


def _plus_one(_: Any, __: Any, output: Any) -> Any:
    return output + 1


def set_later(
    trial: Trial, made: Sequence[Any], args: Sequence[Any], later: Mapping[str, Any], named: Mapping[str, Any] = {}
) -> None:
    """An option that is set after a call holds from the next call on, as if the instance was made with it."""
    instance, (given, _) = _made(trial, made, named), on_device(trial, args, {})
    trial.repeatable = False
    options = dict(named)
    trial.call_method(instance, "__call__", *given)
    for name, value in on_device(trial, [], later)[1].items():
        options[name] = later[name]
        like = _made(trial, made, options)
        like.load_state_dict(instance.state_dict())
        setattr(instance, name, value)
        expected = trial.numpy(like(*given).detach())
        trial.close(trial.call_method(instance, "__call__", *given).detach(), expected, dtype="float32")


def described(
    trial: Trial,
    made: Sequence[Any],
    attributes: Mapping[str, Any],
    entries: Sequence[str] = (),
    text: str = "",
    named: Mapping[str, Any] = {},
) -> None:
    """A new instance has the attributes, entries of its state in this order, and this text when it is printed. It is in
    training, and does not load a state with an entry less or more."""
    parts, options = on_device(trial, made, named)
    instance = trial.call(*parts, **options)
    for name, expected in on_device(trial, [], attributes)[1].items():
        found = getattr(instance, name)
        same = found == expected and isinstance(found, type(expected))
        trial.check(same, f"expected {expected!r} as {name}, got {found!r}")
    trial.equal([list(instance.state_dict()), instance.training], [list(entries), True])
    # Versions differ in quotation marks around a text.
    trial.check(not text or repr(instance).replace("'", "") == text, f"expected {text}, got {instance!r}")
    state = instance.state_dict()
    more = {**state, "more": torch.zeros(1)}
    trial.method_raises(instance, "load_state_dict", ["RuntimeError"], "unexpected key", more)
    for name in entries:
        fewer = {key: value for key, value in state.items() if key != name}
        trial.method_raises(instance, "load_state_dict", ["RuntimeError"], "missing key", fewer)


def drawn_again(trial: Trial, made: Sequence[Any], bound: float) -> None:
    """reset_parameters draws all weights again, within the bound, into the same parameters."""
    instance = trial.make(*on_device(trial, made, {})[0]).to(trial.device)
    parameters = list(instance.parameters())
    before = [trial.numpy(parameter.detach()).copy() for parameter in parameters]
    trial.repeatable = False
    trial.check(trial.call_method(instance, "reset_parameters") is None, "expected None to be returned")
    for parameter, later, values in zip(parameters, instance.parameters(), before):
        trial.check(parameter is later and parameter.requires_grad, "it is another parameter, or wants no gradient")
        found = trial.numpy(later.detach())
        trial.check((found != values).mean() > 0.9, "values are the same as before")
        trial.check(0.5 * bound < np.abs(found).max() <= bound, f"the largest value is not within {bound}")


def warns(
    trial: Trial,
    word: str,
    args: Sequence[Any],
    made: Sequence[Any] | None = None,
    named: Mapping[str, Any] = {},
    options: Mapping[str, Any] = {},
    in_call: bool = True,
) -> None:
    """A warning with the word is given each time: when the function is called or, for a class, when its instance is
    called or, without ``in_call``, made. The output is that of the host."""
    given, keywords = on_device(trial, args, options)
    parts, further = on_device(trial, made or [], named)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            if made is None:
                output = trial.call(*given, **keywords)
            elif not in_call:
                output = trial.call(*parts, **further)
            else:
                instance = trial.make(*parts, **further)
                del seen[:]
                output = trial.call_method(instance, "__call__", *given)
        texts = [str(each.message) for each in seen]
        trial.check(any(word in text for text in texts), f"expected a warning about {word}, got {texts}")
    with trial.on_host(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given, keywords = on_device(trial, args, options)
        expected = trial.function(*given, **keywords) if made is None else trial.function(*parts, **further)
        if in_call:
            expected = expected if made is None else expected(*given)
            trial.close(output, trial.numpy(expected), dtype="float32")
        else:
            trial.check(type(output) is type(expected), f"expected {expected}, got {output}")

"""Methods of torch.nn.Module in turns: on two modules, with other options, and again."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial


def state_dict_in_turns(trial: Trial) -> None:
    """Each call has the entries of its module and options only, in a new mapping: editing one changes neither the
    module nor the next one."""
    modules = [torch.nn.Linear(3, 2).to(trial.device), torch.nn.BatchNorm1d(2).to(trial.device)]
    entries = [["weight", "bias"], ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]]
    found = []
    trial.repeatable = False
    for number, prefix, keep in ((0, "", False), (1, "b.", True), (0, "a.", False), (1, "", False), (0, "", True)):
        state = trial.call(modules[number], prefix=prefix, keep_vars=keep)
        trial.equal(list(state), [prefix + name for name in entries[number]])
        trial.equal(state[prefix + "weight"].requires_grad, keep)
        trial.check((state[prefix + "weight"] is modules[number].weight) == keep, "wrong kind of entry")
        versions = {key: facts["version"] for key, facts in state._metadata.items()}
        trial.equal(versions, {prefix[:-1]: number + 1})
        found.append(state)
    found[0]["weight"] = found[0].pop("bias")
    found[0]["more"] = 1
    trial.equal(list(trial.call(modules[0])), entries[0])
    trial.equal([list(state) for state in found[1:3]], [["b." + key for key in entries[1]], ["a.weight", "a.bias"]])
    modules[0].load_state_dict({"weight": torch.ones(2, 3), "bias": torch.ones(2)})
    trial.exact(trial.call(modules[0])["weight"], np.ones((2, 3)), "float32")


def state_dict_together(trial: Trial) -> None:
    """Two modules write into one destination, under prefixes and without detaching; other entries stay."""
    first, second = torch.nn.Linear(3, 2).to(trial.device), torch.nn.Linear(2, 4, bias=False).to(trial.device)
    destination = trial.call(first, prefix="a.")
    trial.repeatable = False
    trial.check(
        trial.call(second, destination=destination, prefix="b.", keep_vars=True) is destination, "a new mapping"
    )
    trial.equal(list(destination), ["a.weight", "a.bias", "b.weight"])
    trial.check(destination["b.weight"] is second.weight, "the entry is not the parameter")
    trial.check(not destination["a.weight"].requires_grad, "an earlier entry was replaced")
    net = torch.nn.ModuleDict({"a": first, "b": second})
    trial.equal(list(trial.call(net)), list(destination))
    for key, value in trial.call(net).items():
        trial.exact(value, trial.numpy(destination[key].detach()), "float32")


def zero_grad_in_turns(trial: Trial) -> None:
    """Each call clears the gradients of its own module in its own way; later passes add to zero."""
    layers = [torch.nn.Linear(3, 2).to(trial.device) for _ in range(2)]
    inputs = [trial.random(4, 3, seed=seed) for seed in range(6)]
    sums = [np.zeros(3), np.zeros(3)]
    trial.repeatable = False
    for step, (number, to_none) in enumerate(((0, True), (1, False), (0, False), (1, True), (0, True))):
        for place, layer in enumerate(layers):
            layer(trial.tensor(inputs[step])).sum().backward()
            sums[place] = sums[place] + widened(inputs[step]).sum(0)
        trial.check(trial.call(layers[number], set_to_none=to_none) is None, "expected None to be returned")
        for place, layer in enumerate(layers):
            if place == number:
                sums[place] = np.zeros(3)
            if place == number and to_none:
                trial.equal([layer.weight.grad, layer.bias.grad], [None, None])
            else:
                trial.close(layer.weight.grad, np.tile(sums[place], (2, 1)), dtype="float32")
        trial.equal([layer.weight.requires_grad for layer in layers], [True, True])


def reset_in_turns(trial: Trial) -> None:
    """Each call resets its own layer, each time again; the layers have nothing in common."""
    layers = [torch.nn.BatchNorm2d(3).to(trial.device) for _ in range(2)]
    means = [np.zeros(3), np.zeros(3)]
    counts = [0, 0]
    trial.repeatable = False
    for step, number in enumerate((0, 1, 0, 0, 1)):
        x = trial.random(4, 3, 2, 2, seed=step)
        for place, layer in enumerate(layers):
            layer(trial.tensor(x))
            means[place] = 0.9 * means[place] + 0.1 * widened(x).mean((0, 2, 3))
            counts[place] += 1
        trial.check(trial.call(layers[number]) is None, "expected None to be returned")
        means[number], counts[number] = np.zeros(3), 0
        for layer, mean, count in zip(layers, means, counts):
            trial.close(layer.running_mean, mean, dtype="float32")
            trial.equal(layer.num_batches_tracked, count)
            trial.equal(layer.training, True)
        trial.exact(layers[number].running_var, np.ones(3), "float32")


def members_in_turns(trial: Trial, kind: str) -> None:
    """Two modules have members of the same names side by side; a name is free again after deletion, and comes last.

    ``kind``: "parameter" or "module".
    """
    modules = [torch.nn.Module(), torch.nn.Module()]
    wanted: list[dict[str, Any]] = [{}, {}]

    def member(seed: int) -> Any:
        values = trial.tensor(trial.random(3, seed=seed))
        return torch.nn.Parameter(values) if kind == "parameter" else torch.nn.PReLU(3).to(trial.device)

    trial.repeatable = False
    for step, (number, name) in enumerate(((0, "a"), (1, "b"), (1, "a"), (0, "b"), (0, "c"), (0, "a"), (1, "a"))):
        if step == 5:
            del modules[0].a, wanted[0]["a"]
        made = member(step)
        wanted[number][name] = made
        trial.check(trial.call(modules[number], name, made) is None, "expected None to be returned")
        for module, expected in zip(modules, wanted):
            found = module.named_parameters(recurse=False) if kind == "parameter" else module.named_children()
            found = list(found)
            trial.equal([name for name, _ in found], list(expected))
            trial.check(all(value is expected[name] for name, value in found), "a name has another member")
            trial.equal(len(list(module.parameters())), len(expected))

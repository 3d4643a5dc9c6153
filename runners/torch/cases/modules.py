"""torch.nn.Module.state_dict: the entries of a module's state."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial


class _Net(torch.nn.Module):
    """Nested modules with a shared parameter, a persistent buffer and one that is not persistent."""

    def __init__(self, trial: Trial, dtype: str) -> None:
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.BatchNorm1d(4))
        self.again = self.inner[0]
        self.register_buffer("kept", torch.zeros(2))
        self.register_buffer("passing", torch.zeros(2), persistent=False)
        self.to(trial.device, trial.dtype(dtype))

    def forward(self, x: Any) -> Any:
        return self.inner(self.first(x)) + self.kept.sum()


_SHAPES = {
    "kept": (2,),
    "first.weight": (4, 3),
    "first.bias": (4,),
    "inner.0.weight": (4, 4),
    "inner.1.weight": (4,),
    "inner.1.bias": (4,),
    "inner.1.running_mean": (4,),
    "inner.1.running_var": (4,),
    "inner.1.num_batches_tracked": (),
    "again.weight": (4, 4),
}


def state_dict_entries(trial: Trial, dtype: str, prefix: str = "") -> None:
    """Every parameter and persistent buffer has an entry under its dotted name, in order, with its value and dtype."""
    net, host = _filled(trial, dtype)
    state = trial.call(net, prefix=prefix)
    trial.equal(list(state), [prefix + name for name in _SHAPES])
    for name, values in host.items():
        wanted = "int64" if name.endswith("tracked") else dtype
        trial.close(state[prefix + name], values, dtype=wanted)
        trial.check(not state[prefix + name].requires_grad, f"{name} is not detached")


def state_dict_keep_vars(trial: Trial) -> None:
    """With keep_vars=True the entries are the parameters themselves; a shared one has two entries."""
    net, _ = _filled(trial, "float32")
    state = trial.call(net, keep_vars=True)
    trial.equal(list(state), list(_SHAPES))
    for name, parameter in net.named_parameters():
        trial.check(state[name] is parameter, f"{name} is not the parameter itself")
    trial.check(state["again.weight"] is state["inner.0.weight"], "the shared parameter has two different entries")


def state_dict_destination(trial: Trial) -> None:
    """A given destination gets the entries, keeps its own, and is returned."""
    net, host = _filled(trial, "float32")
    destination = OrderedDict(earlier=torch.ones(1))
    returned = trial.call(net, destination=destination, prefix="net.")
    trial.check(returned is destination, "the returned mapping is not the destination")
    trial.equal(list(destination), ["earlier"] + ["net." + name for name in _SHAPES])
    trial.close(destination["net.first.weight"], host["first.weight"], dtype="float32")


def state_dict_is_live(trial: Trial) -> None:
    """The entries are views: later changes of a parameter are visible in them."""
    net, host = _filled(trial, "float32")
    state = trial.call(net)
    with torch.no_grad():
        net.first.weight.mul_(-3)
    trial.close(state["first.weight"], -3 * host["first.weight"], dtype="float32")


def state_dict_after_training(trial: Trial) -> None:
    """Buffers that a forward pass in training changes appear with their new values."""
    net, host = _filled(trial, "float32")
    net(trial.tensor(trial.random(8, 3, seed=2)))
    state = trial.call(net)
    trial.equal(list(state), list(_SHAPES))
    for name, buffer in net.inner[1].named_buffers():
        trial.equal(state[f"inner.1.{name}"], buffer)
        trial.check((trial.numpy(buffer) != host[f"inner.1.{name}"]).any(), f"training did not change {name}")


def state_dict_round_trip(trial: Trial, dtype: str) -> None:
    """A state that is written to a file and loaded into another module makes it compute the same."""
    net, host = _filled(trial, dtype)
    file = io.BytesIO()
    torch.save(trial.call(net), file)
    file.seek(0)
    other = _Net(trial, dtype)
    other.load_state_dict(torch.load(file))
    loaded = _tensors(other)
    for name, values in host.items():
        trial.close(loaded[name], values)
    x = trial.tensor(trial.random(5, 3, dtype=dtype))
    trial.close(other.eval()(x), trial.numpy(net.eval()(x)), dtype=dtype)


def state_dict_large(trial: Trial, layers: int) -> None:
    """In a deep module every layer's weight and bias has an entry with its own values."""
    net = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(layers))).to(trial.device)
    pattern = np.arange(256.0, dtype="float32").reshape(16, 16)
    with torch.no_grad():
        for number, layer in enumerate(net):
            layer.weight.copy_(trial.tensor(pattern + number))
            layer.bias.copy_(trial.tensor(pattern[0] - number))
    state = trial.call(net)
    trial.equal(list(state), [f"{number}.{part}" for number in range(layers) for part in ("weight", "bias")])
    for number in range(layers):
        trial.exact(state[f"{number}.weight"], pattern + number, dtype="float32")
        trial.exact(state[f"{number}.bias"], pattern[0] - number, dtype="float32")


def _tensors(net: _Net) -> dict[str, Any]:
    return {**dict(net.named_parameters()), **dict(net.named_buffers()), "again.weight": net.again.weight}


def _filled(trial: Trial, dtype: str) -> tuple[_Net, dict[str, Any]]:
    """Create a net whose parameters and buffers have known values; return it and the values on the host by name."""
    net = _Net(trial, dtype)
    tensors = _tensors(net)
    host = {}
    for seed, (name, shape) in enumerate(_SHAPES.items()):
        kind = "int64" if name.endswith("tracked") else dtype
        values = trial.random(*shape, dtype=kind, seed=seed, low=1, high=3)
        if name != "again.weight":
            with torch.no_grad():
                tensors[name].copy_(trial.tensor(values, kind))
            host[name] = trial.numpy(trial.tensor(values, kind))
    host["again.weight"] = host["inner.0.weight"]
    return net, host

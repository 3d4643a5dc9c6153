"""torch.cuda.synchronize: it returns when the work on the device is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.core.testing.trial import Trial
from runners.torch.cases.cuda import matrix_chain, skip_on_cpu


def synchronize_waits(trial: Trial, how: str) -> None:
    """When it returns, all work queued before is done, for every way to name the device."""
    skip_on_cpu(trial)
    args, kwargs = _named(trial, how)
    trial.check(trial.call(*args, **kwargs) is None, "expected None to be returned")
    tensor, step = matrix_chain(trial, 2048)
    event = torch.cuda.Event()

    def body(synchronize: Any) -> Any:
        output, turns = _queued(tensor, step, event)
        waiting = not event.query()
        returned = synchronize(*args, **kwargs)
        return waiting, event.query(), returned, turns, output

    trial.repeatable = False
    waiting, done, returned, turns, output = trial.call_inside(body)
    trial.check(waiting, "the work was done before the wait")
    trial.check(done is True, "it returned before the work was done")
    trial.check(returned is None, f"expected None, got {returned!r}")
    trial.equal(output, np.roll(trial.numpy(tensor), turns, axis=1))


def synchronize_copies(trial: Trial) -> None:
    """When it returns, an asynchronous copy to the host is complete."""
    skip_on_cpu(trial)
    trial.check(trial.call(trial.device) is None, "expected None to be returned")
    tensor, step = matrix_chain(trial, 2048)
    event, host = torch.cuda.Event(), torch.zeros(2048, 2048).pin_memory()

    def body(synchronize: Any) -> Any:
        output, turns = _queued(tensor, step, event)
        host.copy_(output, non_blocking=True)
        returned = synchronize(trial.device)
        return host.numpy().copy(), turns, returned

    trial.repeatable = False
    found, turns, returned = trial.call_inside(body)
    trial.check(returned is None, f"expected None, got {returned!r}")
    trial.equal(found, np.roll(trial.numpy(tensor), turns, axis=1))


def synchronize_all_streams(trial: Trial) -> None:
    """It waits for every stream of the device, not only for the current one."""
    skip_on_cpu(trial)
    trial.check(trial.call() is None, "expected None to be returned")
    tensor, step = matrix_chain(trial, 2048)
    stream, event = torch.cuda.Stream(device=trial.device), torch.cuda.Event()

    def body(synchronize: Any) -> Any:
        stream.wait_stream(torch.cuda.current_stream(trial.device))
        with torch.cuda.stream(stream):
            output, turns = _queued(tensor, step, event)
        returned = synchronize()
        return event.query(), stream.query(), returned, turns, output

    trial.repeatable = False
    done, empty, returned, turns, output = trial.call_inside(body)
    trial.equal([done, empty], [True, True])
    trial.check(returned is None, f"expected None, got {returned!r}")
    trial.equal(output, np.roll(trial.numpy(tensor), turns, axis=1))


def _named(trial: Trial, how: str) -> Any:
    """Ways to name the target's device."""
    number = trial.device.index or 0
    ways: dict[str, Any] = {
        "nothing": ((), {}),
        "none": ((None,), {}),
        "device": ((trial.device,), {}),
        "number": ((number,), {}),
        "keyword": ((), {"device": trial.device}),
    }
    return ways[how]


def _queued(tensor: Any, step: Any, event: Any) -> Any:
    """Queue products until the device is well behind the host, then record the event."""
    output, turns = tensor, 0
    for _ in range(4):
        for _ in range(20):
            output = output @ step
        turns += 20
        event.record()
        if not event.query():
            break
    return output, turns

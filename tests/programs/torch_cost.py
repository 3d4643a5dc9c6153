"""What the recorder costs: the same steps without it and with it, in one process, on user CPU time.

    python -m tests.programs.torch_cost     # in an environment with torch and transformers

Prints for each size of step its milliseconds without the recorder, the ratio with it after the first three steps, the
seconds that these three steps take more, and the memory that the process gained.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import torch
from transformers import BertConfig, BertForSequenceClassification

from tests.paths import ROOT

sys.path.append(str(ROOT / "runners" / "recorder"))

import portbench_recorder

_STEPS = 9
_WARM_STEPS = 3


def training(hidden: int, layers: int, words: int) -> Callable[[], None]:
    """A step of training a BERT of this size."""
    config = BertConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * hidden, vocab_size=99
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters())
    given, labels = torch.randint(0, 99, (4, words)), torch.tensor([0, 1, 0, 1])

    def step() -> None:
        optimizer.zero_grad()
        model(given, attention_mask=torch.ones_like(given), labels=labels).loss.backward()
        optimizer.step()

    return step


def timed(step: Callable[[], None], count: int) -> list[float]:
    """The user CPU seconds of each of ``count`` steps."""
    found = []
    for _ in range(count):
        begin = time.process_time()
        step()
        found.append(time.process_time() - begin)
    return found


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    torch.set_num_threads(1)
    sizes = [(32, 2, 16), (64, 4, 32), (128, 4, 64)]
    steps = [training(*size) for size in sizes]
    plain = [timed(step, _WARM_STEPS + _STEPS)[_WARM_STEPS:] for step in steps]
    before = peak_bytes()
    with tempfile.TemporaryDirectory() as folder:
        portbench_recorder.start(folder)
        # Optimizers are watched that are made now.
        steps = [training(*size) for size in sizes]
        for step, without in zip(steps, plain, strict=True):
            first = sum(timed(step, _WARM_STEPS))
            recorded = statistics.median(timed(step, _STEPS))
            usual = statistics.median(without)
            print(
                f"{1000 * usual:.1f} ms: {recorded / usual:.2f} times; first steps {first - 3 * usual:.2f} s more, "
                f"memory {(peak_bytes() - before) >> 20} MB more"
            )
        portbench_recorder.stop()
    after = [
        statistics.median(timed(step, _STEPS)) / statistics.median(each)
        for step, each in zip(steps, plain, strict=True)
    ]
    print("after the recording:", ", ".join(f"{ratio:.2f}" for ratio in after))


if __name__ == "__main__":
    main()

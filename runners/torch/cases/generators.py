"""Several generators in turns with the default one: each goes on with its own draws."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import torch

from runners.core.public import names
from runners.core.testing.inputs import Builder
from runners.core.testing.trial import Trial


def apart(trial: Trial, args: Sequence[Any], options: Mapping[str, Any] = {}) -> None:
    """Draws with a generator depend on its seed and on its earlier draws only. They do not change what another
    generator and the default one draw next, and a state that is set again repeats them."""
    builder = Builder(trial, names.framework(trial.framework))
    given = [item.device for item in builder.all(args)]
    named = {key: item.device for key, item in builder.named(options).items()}
    first, second = (torch.Generator(device=trial.device) for _ in range(2))
    trial.repeatable = False

    def drawn(generator: Any = None) -> list[Any]:
        chosen = {} if generator is None else {"generator": generator}
        return trial.numpy(trial.call(*given, **named, **chosen)).tolist()  # type: ignore[no-any-return]

    alone = {}
    for generator, seed in ((first, 5), (second, 6)):
        generator.manual_seed(seed)
        alone[seed] = [drawn(generator) for _ in range(3)]
    torch.manual_seed(7)
    plain = [drawn() for _ in range(3)]
    expected = [*alone[5], *alone[6], *plain]
    trial.check(all(draw not in expected[:number] for number, draw in enumerate(expected)), "draws are repeated")
    torch.manual_seed(7)
    first.manual_seed(5)
    second.manual_seed(6)
    state = first.get_state()
    for number in range(3):
        trial.equal(drawn(first), alone[5][number])
        trial.equal(drawn(), plain[number])
        trial.equal(drawn(second), alone[6][number])
    first.set_state(state)
    trial.equal([drawn(first) for _ in range(3)], alone[5])

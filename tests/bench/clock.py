"""Whether the clock is right: our steady median over that of PyTorch's own benchmark timer, in one run.

Run by ``make bench``, which creates the environment of torch-cpu and starts this file again in it. ``--quick`` shows
that it runs; its figures say nothing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from tests.paths import ROOT

ROUNDS = 5
BUDGET_S = 1.0
LOWEST, HIGHEST = 0.95, 1.05


def main() -> None:
    try:
        import torch
    except ImportError:
        restart_in_torch_environment()
        return
    from statistics import median

    from torch.utils.benchmark import Timer

    from runners.core.testing import timing
    from runners.torch import adapter

    rounds, budget_s = (1, 0.05) if "--quick" in sys.argv else (ROUNDS, BUDGET_S)
    adapter.prepare("cpu")
    adapter.open_device("cpu")

    torch.set_num_threads(1)  # as the Timer does
    torch.manual_seed(0)
    print(f"steady median over torch.utils.benchmark.Timer.blocked_autorange's, median of {rounds} rounds")
    for name, function, args in operations(torch):
        statement = Timer("function(*args)", globals={"function": function, "args": args})
        ratios, ours = [], []
        for _ in range(rounds):
            steady = timing.steady(time.perf_counter_ns, function, adapter.wait, args, {}, int(budget_s * 1e9))
            ours.append(median(steady["block_ns"]) / steady["calls_per_block"] / 1e9)
            ratios.append(ours[-1] / statement.blocked_autorange(min_run_time=budget_s).median)
        ratio = median(ratios)
        verdict = "met" if LOWEST <= ratio <= HIGHEST else "MISSED"
        spread, wanted = f"({min(ratios):.3f} to {max(ratios):.3f})", f"wanted {LOWEST} to {HIGHEST}"
        print(f"  {name:18} {median(ours) * 1e6:9.1f} us   ratio {ratio:.3f} {spread}, {wanted}: {verdict}")


def operations(torch: Any) -> Any:
    """Three of about 10 us, 200 us and 10 ms."""
    yield "sort of 700", torch.sort, (torch.randn(700),)
    yield "tanh of 80,000", torch.tanh, (torch.randn(80_000),)
    yield "matmul 640 x 640", torch.matmul, (torch.randn(640, 640), torch.randn(640, 640))


def restart_in_torch_environment() -> None:
    from portbench.targets.catalog import find_targets
    from portbench.targets.environments import create_environment
    from portbench.util.repository import find_checkout

    (target,) = find_targets(["torch-cpu"], find_checkout())
    python = create_environment(target, lambda line: print(line, file=sys.stderr))
    subprocess.run([str(python), "-m", "tests.bench.clock", *sys.argv[1:]], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()

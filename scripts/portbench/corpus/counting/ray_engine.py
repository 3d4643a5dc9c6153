"""Counts parts on a Ray cluster: one task a part, each in the worker processes of one core of its machine.

The corpus must lie at the same place on all machines. Ray is an optional extra: ``pip install portbench[ray]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from portbench.corpus.counting import pool
from portbench.corpus.counting.corpus import Part
from portbench.corpus.counting.function_list import FunctionList
from portbench.corpus.counting.part_counts import CorpusCounts
from portbench.errors import EnvironmentFailed, PortbenchError


def count_parts(
    parts: Sequence[Part], lists: Sequence[FunctionList], column: str
) -> Iterator[tuple[Part, CorpusCounts]]:
    """Yields each part with its counts, as they end.

    The cluster is the one that RAY_ADDRESS names, else one of this machine. Raises what the local pool does, and
    EnvironmentFailed where Ray is not installed or loses a task.
    """
    try:
        import ray
    except ImportError:
        raise EnvironmentFailed("Ray is not installed", "Install it: pip install 'portbench[ray]'.") from None
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, include_dashboard=False)
    try:
        task = ray.remote(num_cpus=1, max_retries=3)(_count)
        shared = ray.put(list(lists))
        pending = {task.remote(part, shared, column): part for part in parts}
        while pending:
            (ready,), _ = ray.wait(list(pending), num_returns=1)
            part = pending.pop(ready)
            answer = _answer(ray, ready)
            yield part, answer
    finally:
        if started:
            ray.shutdown()


def _answer(ray: Any, ready: Any) -> CorpusCounts:
    try:
        answer = ray.get(ready)
    except ray.exceptions.RayError as error:
        raise EnvironmentFailed(f"Ray lost a task: {error}", "Look at the cluster, then go on with --resume.") from None
    if isinstance(answer, PortbenchError):
        raise answer
    return answer  # type: ignore[no-any-return]


def _count(part: Part, lists: list[FunctionList], column: str) -> CorpusCounts | PortbenchError:
    # In a process of its own, so that a file that ends it is left out and not the whole task.
    try:
        return next(counts for _, counts in pool.count_parts([part], lists, column, workers=1))
    except PortbenchError as error:
        return error

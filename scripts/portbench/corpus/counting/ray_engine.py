"""Counts parts on a Ray cluster: one task per part, each in a worker process on one core.

The corpus must have the same path on all machines. Ray is an optional extra: ``pip install portbench[ray]``.
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
    """Yields each part with its counts, as it ends.

    Uses the cluster that RAY_ADDRESS names, or a new one on this machine. Raises what the local pool raises, and
    EnvironmentFailed if Ray is not installed or loses a task.
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
            reply = _reply(ray, ready)
            yield part, reply
    finally:
        if started:
            ray.shutdown()


def _reply(ray: Any, ready: Any) -> CorpusCounts:
    try:
        reply = ray.get(ready)
    except ray.exceptions.RayError as error:
        raise EnvironmentFailed(
            f"Ray lost a task: {error}", "Check the cluster, then continue with --resume."
        ) from None
    if isinstance(reply, PortbenchError):
        raise reply
    return reply  # type: ignore[no-any-return]


def _count(part: Part, lists: list[FunctionList], column: str) -> CorpusCounts | PortbenchError:
    # In a separate process: a file that kills it is left out, and the task continues.
    try:
        return next(counts for _, counts in pool.count_parts([part], lists, column, workers=1))
    except PortbenchError as error:
        return error

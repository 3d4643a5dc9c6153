"""Runs calls of a function in parallel processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from portbench.errors import StorageFailed

Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses garbage collection. Use it while large documents or the results of large studies are made: they hold no
    reference cycles, and searching millions of values for cycles takes longer than making them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def map_processes(function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Calls ``function`` once for each tuple of arguments in ``calls``; returns the results in that order.

    A single call runs in this process. Raises the error of the first call that fails, and StorageFailed where the
    system ended a process, for example because memory ran out.
    """
    if len(calls) <= 1:
        return [function(*arguments) for arguments in calls]
    with processes(function, calls, cores()) as results:
        return results()


@contextmanager
def processes(
    function: Callable[..., Result], calls: Sequence[tuple[Any, ...]], most: int, *, is_shared: bool = False
) -> Iterator[Callable[[], list[Result]]]:
    """Runs the calls in at most ``most`` other processes while the caller goes on. Yields a function that waits for
    the results and returns them as ``map_processes`` does. If the work ``is_shared``, it runs what no process has begun
    in this one. At the end no call runs any more."""
    # spawn, not fork: DuckDB's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, min(most, len(calls))), context, initializer=gc.disable) as pool:
        futures = [pool.submit(function, *arguments) for arguments in calls]

        def results() -> list[Result]:
            # The last ones are begun last.
            places = reversed(range(len(calls))) if is_shared else ()
            own = {place: function(*calls[place]) for place in places if futures[place].cancel()}
            try:
                return [own[place] if place in own else future.result() for place, future in enumerate(futures)]
            except BrokenProcessPool as error:
                raise StorageFailed("the system ended a process", "Free some memory, then try again.") from error

        try:
            yield results
        finally:
            # Waits for running calls: they write to folders that the caller is about to remove.
            pool.shutdown(wait=True, cancel_futures=True)

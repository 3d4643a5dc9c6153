"""Calls a function many times, in several processes."""

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
    """For work on large documents: they hold no cycles, and to look for some in millions of values takes longer than to
    parse them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def map_processes(function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result]:
    """The results in the order of ``calls``, which each are the arguments of one. One call is made in this process.

    Raises what the first call that fails raises; StorageFailed where the system ended a process, as it does for memory.
    """
    if len(calls) <= 1:
        return [function(*arguments) for arguments in calls]
    # Not forked: DuckDB's threads would not be there.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(cores(), len(calls)), context, initializer=gc.disable) as pool:
        futures = [pool.submit(function, *arguments) for arguments in calls]
        try:
            return [future.result() for future in futures]
        except BrokenProcessPool as error:
            raise StorageFailed("a process was ended by the system", "Free some memory, then try again.") from error
        finally:
            # Waits for those under way: they write where the caller is about to clean up.
            pool.shutdown(wait=True, cancel_futures=True)

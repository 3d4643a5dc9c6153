"""One worker at a time from a zygote."""

from __future__ import annotations

import contextlib

from runners.core.errors import StartKilled
from runners.core.process.worker_handle import WorkerHandle
from runners.core.process.zygote_handle import ZygoteHandle

STARTS_AGAIN = 3
"""How often a zygote or worker that is killed while it starts is started again."""

MOST_KEPT_BYTES = 2 << 30
"""What a worker may keep of earlier tests. Frameworks keep what they compile: a thousand tests take JAX almost 1 GB."""


class Stopped(Exception):
    """Another thread has ended this one's work."""


class Workers:
    """Hands out the zygote's worker, and a fresh one after the last was retired or kept too much memory."""

    def __init__(self, zygote: ZygoteHandle) -> None:
        self._zygote = zygote
        self._current: WorkerHandle | None = None
        self._is_stopped = False

    @property
    def idle(self) -> WorkerHandle | None:
        """The present worker, if there is one."""
        return self._current

    def current(self) -> WorkerHandle:
        """The present worker, or a fresh one. One that is killed while it starts is started again.

        A worker that keeps more than MOST_KEPT_BYTES of earlier tests, or half of its limit, is retired: the memory of
        a run does not grow with its tests. Raises DeviceUnavailable, FrameworkFailed, or Stopped after ``stop``.
        """
        if self._current and self._current.kept_bytes() > self._most_kept_bytes(self._current):
            self.retire()
        for _ in range(STARTS_AGAIN):
            with contextlib.suppress(StartKilled):
                return self._started()
        return self._started()

    def retire(self) -> None:
        """Ends the present worker, if there is one."""
        if self._current is not None:
            self._current.dismiss()
            self._current = None

    def stop(self) -> None:
        """Kills zygote and worker from another thread, and lets no other start. Call it until that thread has ended:
        it may be about to start one."""
        self._is_stopped = True
        self._zygote.kill()

    def close(self) -> None:
        """Ends zygote and worker."""
        self._zygote.close()
        self._current = None

    def _started(self) -> WorkerHandle:
        if self._is_stopped:
            raise Stopped
        self._current = self._current or self._zygote.start_worker()
        return self._current

    @staticmethod
    def _most_kept_bytes(worker: WorkerHandle) -> int:
        return min(MOST_KEPT_BYTES, worker.memory_bytes // 2) if worker.memory_bytes else MOST_KEPT_BYTES

"""Finds processes whose parents are gone, by what they were given at birth."""

from __future__ import annotations

import contextlib

import psutil

__all__ = ["end_marked"]

_MOST_SWEEPS = 100


def end_marked(variable: str, value: str) -> None:
    """End every process in whose environment *variable* was *value* when its program started.

    For the rare case that the server itself was killed, and could not do it: a fork has its parent's, and a new
    program inherits it, unless it is started with an environment of its own choice. Several sweeps, since a process
    may fork while it is being killed.
    """
    for _ in range(_MOST_SWEEPS):
        alive = [process for process in psutil.process_iter() if _is_marked(process, variable, value)]
        if not alive:
            return
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=1)


def _is_marked(process: psutil.Process, variable: str, value: str) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(variable) == value
    except (psutil.Error, OSError):
        return False

"""The fork server: imports torch once, then hands out a ready process for each subject in milliseconds.

Its rules, each learned the hard way: it never runs an operator (one parallel operator, and every child hangs in
OpenMP); numpy's OpenBLAS must start no thread at import; modules that torch imports late are imported here, so
that they are nobody's first step; everything is collected and frozen before the first fork; and it takes every
process that a subject leaves behind with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
import weakref

import psutil

from harness.capture import wire
from harness.capture.subject import WIRE_FD, run_job

__all__ = ["main"]

_PRELOADED = ("torch", "torch.optim", "torch.utils.data", "torch.profiler", "torch._dynamo")
_PRELOADED_WHERE_INSTALLED = ("numpy.random",)  # numpy loads it late, and seeding it would cost each subject 20 ms
_OURS = (
    "harness.capture.cutting",
    "harness.capture.gradient_facts",
    "harness.gradients.not_zeroed",
    "harness.capture.graph_census",
    "harness.capture.holder_watch",
    "harness.capture.operator_observer",
    "harness.capture.operator_watch",
    "harness.capture.peak_watch",
    "harness.ledger.native_ledger",
    "harness.ledger.start",
    "harness.scope",
)
"""What subjects of ours import when they need it: 20 to 60 ms each, in which a fork copies what it touches."""

_THAT_TIDY_UP = ("multiprocessing.resource_tracker", "torch_shm_manager")
"""They remove shared memory once all that used it are gone, and then end by themselves. Where they are killed, it stays
in /dev/shm until the machine is started again."""

_TIDYING_S = 5.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(control_fd: int, *, preload: bool) -> None:
    """Serve until the parent closes its end of *control_fd*; then nothing that was started here is left."""
    control = socket.socket(fileno=control_fd)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    error = _import_all() if preload else None
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False  # they are this process's to run, and 30 ms of each subject's end
    gc.collect()
    gc.freeze()
    frozen = gc.get_freeze_count()  # counting them touches each: 30 ms that a fork need not pay again
    _tell(control, wire.ServerReady(error=error))
    if error is None:
        _Server(control, frozen).serve()


def _import_all() -> str | None:
    """Import what subjects will want; the traceback where that fails."""
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        for name in _PRELOADED:
            importlib.import_module(name)
        for name in _PRELOADED_WHERE_INSTALLED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        for name in _OURS:
            with contextlib.suppress(ImportError):  # the native ledger, where its extension was not built
                importlib.import_module(name)
        importlib.import_module("torch").manual_seed(0)  # runs no operator, and imports what seeding needs
    except Exception:
        return traceback.format_exc()
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before
    return None


class _Server:
    """One subject at a time: a second would share its cores, and its figures."""

    def __init__(self, control: socket.socket, frozen: int) -> None:
        self._control = control
        self._frozen = frozen
        self._pid: int | None = None
        self._pidfd = -1

    def serve(self) -> None:
        while True:
            waiting = [self._control.fileno()] + ([self._pidfd] if self._pid is not None else [])
            readable, _, _ = select.select(waiting, [], [])
            if self._pid is not None and self._pidfd in readable:
                self._reap()
            if self._control.fileno() in readable and not self._obey():
                return

    def _obey(self) -> bool:
        """Do what the parent asks; False when the parent has gone."""
        data, fds, _, _ = socket.recv_fds(self._control, 1 << 20, 3)
        if not data:
            _kill_all(spare_status_of=None)
            return False
        for message in wire.FrameReader().feed(data):
            if isinstance(message, wire.Launch):
                self._launch(message, fds)
            elif isinstance(message, wire.Stop) and self._pid is not None:
                _kill_all(spare_status_of=self._pid)
        return True

    def _launch(self, message: wire.Launch, fds: list[int]) -> None:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _become_subject(message, fds, self._control, self._frozen)
        for fd in fds:
            os.close(fd)
        self._pid, self._pidfd = pid, os.pidfd_open(pid)
        _tell(self._control, wire.Launched(pid=pid))

    def _reap(self) -> None:
        assert self._pid is not None
        _, status = os.waitpid(self._pid, 0)
        os.close(self._pidfd)
        _kill_all(spare_status_of=None)
        killed = os.WIFSIGNALED(status)
        gone = wire.SubjectGone(
            pid=self._pid,
            code=None if killed else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if killed else None,
        )
        self._pid = None
        _tell(self._control, gone)


def _become_subject(message: wire.Launch, fds: list[int], control: socket.socket, frozen: int) -> None:
    """Turn this fork into the subject. Never returns."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    sys.dont_write_bytecode = True  # nothing is written beside the user's files
    control.close()
    pipe, out, err = fds
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, WIRE_FD + 1), hard))  # only for the next line
    os.dup2(pipe, WIRE_FD, inheritable=message.fresh_interpreter)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    os.close(pipe)
    _be_killed_first()
    if message.fresh_interpreter:
        if message.job.role == "malloc":
            os.environ["PYTHONMALLOC"] = "malloc"  # then the heap figure sees every object
        os.execv(sys.executable, [sys.executable, "-P", "-B", "-m", "harness.capture.subject"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv = [message.job.path]
    run_job(message.job, frozen=frozen)


def _be_killed_first() -> None:
    """When the machine runs out of memory, the kernel should take the subject and leave the one that reports it."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("900")


def _kill_all(*, spare_status_of: int | None) -> None:
    """End every descendant. As a sub-reaper the server inherits those that detached themselves, so none escapes;
    a process may fork while it is being killed, hence the loop. The exit status of *spare_status_of* is left to be
    waited for."""
    me = psutil.Process()
    until = time.monotonic() + _TIDYING_S
    while alive := [child for child in me.children(recursive=True) if _is_running(child)]:
        for child in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                if time.monotonic() > until or not _tidies_up(child):
                    child.kill()
        time.sleep(0.001)
    for orphan in me.children():
        if orphan.pid != spare_status_of:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan.pid, 0)


def _tidies_up(process: psutil.Process) -> bool:
    return any(name in word for word in process.cmdline() for name in _THAT_TIDY_UP)


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _tell(control: socket.socket, message: wire.Message) -> None:
    with contextlib.suppress(OSError):
        control.sendall(wire.encode(message))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), preload=sys.argv[2] == "preload")
